package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// traffic is the scenario that is shown by distribution, with what a service
// notices of a pool; all others are shown by time.
const traffic = "Traffic"

// captions say what the scenarios do. A scenario without one is shown as well.
var captions = map[string]string{
	"GetPut":     "Get and Put of one buffer, on one goroutine.",
	"Mixed":      "The same, of another length each time, evenly drawn by its logarithm.",
	"Hold":       "So many Gets, then as many Puts, on one goroutine; the time is for one of each.",
	"Handoff":    "Gets on one goroutine and Puts on another, in batches of 64.",
	"CPUs":       "Throughput of two goroutines on two processors by that of one on one. The control does arithmetic: the machine gives no more.",
	"AfterGC":    "16 Gets and Puts, four times, right after a garbage collection.",
	"Oversize":   "Get and Put of more bytes than any pool's largest tier, of those that have one. Ours allocate each time; who is faster keeps any size, or does not clear.",
	"Foreign":    "Put of buffers that the pool did not lend, and of a capacity that is no tier's.",
	"Miss":       "Get without Put, so that each allocates; what the collector has to do then is not counted.",
	"SharedLine": "Get and Put on two processors at once, each of one buffer; the two were allocated one after the other.",
	"Held":       "10 000 buffers lent at once, of lengths that follow a distribution: their bytes, and what the heap grew by, for each byte asked.",
	traffic: "64 goroutines, each of which gets a buffer, fills it, lets the others run, reads it and puts it back; each request allocates 256 B beside it. " +
		"What is idle at the end is after one collection.",
}

// missing stands for what was not measured.
const missing = "–"

// Tables writes all tables as Markdown, each under a heading.
func (r *Results) Tables(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.scenarios {
		if s.name == traffic {
			for _, c := range s.columns {
				name := s.name
				if label := c.title(); label != "" {
					name += ", " + label
				}
				section(&b, name, captions[s.name])
				s.trafficTable(&b, c)
			}
			continue
		}
		section(&b, s.name, captions[s.name])
		s.timeTable(&b)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// Conditions writes what the input says about how it was measured, its
// configuration lines, as one Markdown table.
func (r *Results) Conditions(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	for _, c := range r.conditions {
		row(&b, escape(c.key), escape(strings.Join(c.values, ", ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title is the label of the column, shortened to the distribution where that is
// all there is to it.
func (c *column) title() string {
	return strings.TrimPrefix(c.label, "dist=")
}

// timeTable writes the scenario with a row for each pool, the fastest first.
func (s *scenario) timeTable(b *strings.Builder) {
	type measure struct {
		column *column
		unit   string
	}
	var measures []measure
	for _, unit := range s.measured() {
		for _, c := range s.columns {
			if c.has(unit) {
				measures = append(measures, measure{c, unit})
			}
		}
	}

	head := []string{"pool"}
	for _, m := range measures {
		label := m.column.label
		if m.unit != unitTime {
			label = strings.TrimPrefix(label+", "+m.unit, ", ")
		}
		head = append(head, escape(cmp.Or(label, "time")))
	}
	header(b, head)
	for _, pool := range s.ranked() {
		cells := []string{poolName(pool)}
		for _, m := range measures {
			cells = append(cells, m.column.cell(pool, m.unit))
		}
		row(b, cells...)
	}
	b.WriteString("\n")
}

// measured returns the units that the scenario is shown by: time and speedup, or
// whatever there is in one that has neither.
func (s *scenario) measured() []string {
	var units []string
	for _, unit := range []string{unitTime, unitSpeedup} {
		if slices.Contains(s.units, unit) {
			units = append(units, unit)
		}
	}
	if units == nil {
		units = slices.DeleteFunc(slices.Clone(s.units), func(u string) bool { return u == unitRatio })
	}
	return units
}

// has reports whether any pool has samples of the unit.
func (c *column) has(unit string) bool {
	for id := range c.samples {
		if id.unit == unit {
			return true
		}
	}
	return false
}

func (c *column) cell(pool, unit string) string {
	v, ok := c.median(pool, unit)
	if !ok {
		return missing
	}
	if unit != unitTime {
		return digits3(v)
	}
	cell := scaled(v, seconds)
	if ratio, ok := c.ratio(pool); ok {
		cell += " (" + ratioText(ratio) + ")"
	}
	return cell
}

// ratioText has two decimals as long as they mean something.
func ratioText(ratio float64) string {
	if ratio >= 10 {
		return digits3(ratio)
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64)
}

// ranked returns the pools by the geometric mean of their ratios across the
// columns, the best first. Those that lack columns cannot be compared with the
// others, so they come after, those that lack fewer before those that lack more.
// Without times the speedups count, and without either the order stays.
func (s *scenario) ranked() []string {
	type rank struct {
		pool string
		has  int
		sum  float64 // of the logarithms
	}
	unit, sign := unitTime, 1.0
	if !slices.Contains(s.units, unitTime) {
		unit, sign = unitSpeedup, -1
	}
	var ranks []rank
	for _, pool := range s.pools {
		r := rank{pool: pool}
		for _, c := range s.columns {
			v, ok := c.median(pool, unit)
			if !ok {
				continue
			}
			// In a column without ratios the times do, since only the
			// differences between the rows of a column matter.
			if ratio, ok := c.ratio(pool); ok && unit == unitTime {
				v = ratio
			}
			r.has++
			r.sum += sign * math.Log(v)
		}
		ranks = append(ranks, r)
	}
	slices.SortStableFunc(ranks, func(a, b rank) int {
		if a.has != b.has || a.has == 0 {
			return cmp.Compare(b.has, a.has)
		}
		return cmp.Compare(a.sum/float64(a.has), b.sum/float64(b.has))
	})
	pools := make([]string, len(ranks))
	for i, r := range ranks {
		pools[i] = r.pool
	}
	return pools
}

// trafficTable writes one distribution, the pool with the most requests first.
func (s *scenario) trafficTable(b *strings.Builder, c *column) {
	header(b, []string{
		"pool", "requests/s", "misses per 1000", "bytes lent per byte asked",
		"heap, mean", "heap, peak", "idle at the end", "GC cycles",
	})
	show := func(pool, unit string, format func(float64) string) string {
		v, ok := c.median(pool, unit)
		if !ok {
			return missing
		}
		return format(v)
	}
	size := func(v float64) string { return scaled(v, byteSizes) }
	count := func(v float64) string { return scaled(v, counts) }
	for _, pool := range c.sorted(s.pools, unitRequests, true) {
		row(b, poolName(pool),
			show(pool, unitRequests, count),
			show(pool, unitMisses, digits3),
			show(pool, unitLent, digits3),
			show(pool, unitHeapMean, size),
			show(pool, unitHeapPeak, size),
			show(pool, unitIdle, size),
			show(pool, unitCycles, plain))
	}
	b.WriteString("\n")
}

// sorted returns those of the pools that the column has samples of, by the median
// of the unit, ascending or descending; pools without it come last.
func (c *column) sorted(pools []string, unit string, descending bool) []string {
	pools = slices.DeleteFunc(slices.Clone(pools), func(p string) bool { return !c.hasPool(p) })
	key := func(pool string) float64 {
		v, ok := c.median(pool, unit)
		switch {
		case !ok:
			return math.Inf(1)
		case descending:
			return -v
		}
		return v
	}
	slices.SortStableFunc(pools, func(a, b string) int { return cmp.Compare(key(a), key(b)) })
	return pools
}

func (c *column) hasPool(pool string) bool {
	for id := range c.samples {
		if id.pool == pool {
			return true
		}
	}
	return false
}

func section(b *strings.Builder, name, caption string) {
	fmt.Fprintf(b, "### %s\n\n", escape(name))
	if caption != "" {
		fmt.Fprintf(b, "%s\n\n", caption)
	}
}

// header writes the first two lines of a table, with all columns but the first
// aligned to the right.
func header(b *strings.Builder, cells []string) {
	row(b, cells...)
	b.WriteString("|---|" + strings.Repeat("---:|", len(cells)-1) + "\n")
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// poolName returns the name for a table, in bold for our own.
func poolName(pool string) string {
	if isOurs(pool) {
		return "**" + escape(pool) + "**"
	}
	return escape(pool)
}

// escape keeps text from being taken for Markdown.
var escape = strings.NewReplacer(`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, `<`, `&lt;`).Replace
