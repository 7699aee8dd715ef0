// Package report presents benchmark results: it reads them in the Go benchmark
// format and writes them as Markdown tables and as SVG charts. It measures and
// judges nothing, and the same results always give the same bytes.
package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// reference is the pool that the ratios in brackets compare with.
const reference = "W"

// The units that this package knows, as benchfmt tidies them.
const (
	unitTime    = "sec/op"
	unitRatio   = "×" + reference // measured in turns with the reference
	unitSpeedup = "speedup"

	unitRequests = "req/s"
	unitMisses   = "misses/1000"
	unitLent     = "lent/asked"
	unitHeapMean = "heap-mean-B"
	unitHeapPeak = "heap-peak-B"
	unitIdle     = "idle-B"
	unitCycles   = "GCs"
)

// Results are the samples of one or more runs. Scenarios, columns and pools are
// in the order in which the input first has them.
type Results struct {
	conditions []condition
	scenarios  []*scenario
}

// A condition is a configuration key of the input and the distinct values it had.
type condition struct {
	key    string
	values []string
}

// A scenario is one benchmark: its pools, and the columns it measured them in.
type scenario struct {
	name    string
	columns []*column
	pools   []string
	units   []string
}

// A column is one combination of a scenario's keys other than the pool.
type column struct {
	keys    []string // such as "size=4096", or without "=" if positional
	procs   string   // such as "-2", empty for GOMAXPROCS=1
	label   string
	samples map[sample][]float64
}

type sample struct{ pool, unit string }

// Read parses results in the Go benchmark format. Its errors have the form
// name:line: message. Lines that are no results are skipped, as the format
// wants, but a result that cannot be parsed, names no pool or has an impossible
// value is an error, and so is input without any result.
func Read(r io.Reader, name string) (*Results, error) {
	var res Results
	reader := benchfmt.NewReader(r, name)
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, rec
		case *benchfmt.Result:
			if err := res.add(rec); err != nil {
				file, line := rec.Pos()
				return nil, fmt.Errorf("%s:%d: %w", file, line, err)
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(res.scenarios) == 0 {
		return nil, fmt.Errorf("%s: no benchmark results", name)
	}
	for _, s := range res.scenarios {
		s.label()
	}
	return &res, nil
}

// add adds one line. It keeps nothing of rec, which the reader reuses.
func (r *Results) add(rec *benchfmt.Result) error {
	base, parts := rec.Name.Parts()
	var pool, procs string
	var keys []string
	for _, part := range parts {
		if part[0] == '-' {
			procs = string(part)
			continue
		}
		key := string(part[1:])
		if p, ok := strings.CutPrefix(key, "pool="); ok {
			pool = p
		} else {
			keys = append(keys, key)
		}
	}
	if pool == "" {
		return fmt.Errorf("%s has no pool=", rec.Name)
	}

	s := r.scenario(string(base))
	c := s.column(keys, procs)
	addUnique(&s.pools, pool)
	for _, v := range rec.Values {
		value, unit := v.Value, v.Unit
		if unit == "ns/op" { // benchfmt tidies every value but zero
			unit = unitTime
		}
		if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
			return fmt.Errorf("%v %s is impossible", value, unit)
		}
		if value == 0 && (unit == unitTime || unit == unitRatio) {
			return fmt.Errorf("%s is zero", unit)
		}
		addUnique(&s.units, unit)
		id := sample{pool, unit}
		c.samples[id] = append(c.samples[id], value)
	}

	for _, cfg := range rec.Config {
		r.condition(cfg.Key, string(cfg.Value))
	}
	return nil
}

func (r *Results) condition(key, value string) {
	i := slices.IndexFunc(r.conditions, func(c condition) bool { return c.key == key })
	if i < 0 {
		i = len(r.conditions)
		r.conditions = append(r.conditions, condition{key: key})
	}
	addUnique(&r.conditions[i].values, value)
}

// scenario returns the scenario of that name, a new one if there is none.
func (r *Results) scenario(name string) *scenario {
	if s := r.find(name); s != nil {
		return s
	}
	s := &scenario{name: name}
	r.scenarios = append(r.scenarios, s)
	return s
}

// find returns the scenario of that name, or nil.
func (r *Results) find(name string) *scenario {
	for _, s := range r.scenarios {
		if s.name == name {
			return s
		}
	}
	return nil
}

// column returns the column of the keys, a new one if there is none. The number
// of CPUs tells columns apart, or a run with -cpu=1,2 would mix its samples.
func (s *scenario) column(keys []string, procs string) *column {
	for _, c := range s.columns {
		if c.procs == procs && slices.Equal(c.keys, keys) {
			return c
		}
	}
	c := &column{keys: keys, procs: procs, samples: make(map[sample][]float64)}
	s.columns = append(s.columns, c)
	return c
}

// label names the columns by their keys, and by the number of CPUs only where
// the keys alone do not tell them apart.
func (s *scenario) label() {
	count := make(map[string]int)
	for _, c := range s.columns {
		c.label = strings.Join(c.keys, " ")
		count[c.label]++
	}
	for _, c := range s.columns {
		if count[c.label] > 1 {
			procs := "procs=" + cmp.Or(strings.TrimPrefix(c.procs, "-"), "1")
			c.label = strings.TrimSpace(c.label + " " + procs)
		}
	}
}

// value returns the value of a key of the column.
func (c *column) value(key string) (string, bool) {
	for _, k := range c.keys {
		if v, ok := strings.CutPrefix(k, key+"="); ok {
			return v, true
		}
	}
	return "", false
}

// median returns the median of a pool's samples, if it has any.
func (c *column) median(pool, unit string) (float64, bool) {
	samples := c.samples[sample{pool, unit}]
	if len(samples) == 0 {
		return 0, false
	}
	return median(samples), true
}

// ratio returns how much longer a pool took than the reference. Where the
// samples say so themselves they were taken in turns with the reference's, which
// cancels what the machine did meanwhile, so that they count for more than a
// ratio of medians.
func (c *column) ratio(pool string) (float64, bool) {
	if ratio, ok := c.median(pool, unitRatio); ok {
		return ratio, true
	}
	took, ok := c.median(pool, unitTime)
	base, okBase := c.median(reference, unitTime)
	return took / base, ok && okBase
}

// median returns the middle of the values, the mean of the middle two if their
// number is even. There must be at least one.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}

func addUnique(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}
