// Package turns times functions that take turns, so that what slows the machine
// down for a while slows all of them down, and their ratios hold.
package turns

import (
	"slices"
	"time"
)

// Run calls the functions one after the other, and that so many turns, each time
// with times operations to do. It returns how long each took in all.
func Run(turns, times int, fs ...func(times int)) []time.Duration {
	took := make([]time.Duration, len(fs))
	for _, f := range fs {
		f(max(1, times/10)) // warm up
	}
	for range turns {
		for i, f := range fs {
			start := time.Now()
			f(times)
			took[i] += time.Since(start)
		}
	}
	return took
}

// Ratios are samples of times divided by times, by name.
type Ratios map[string][]float64

// Add adds a sample of a/b.
func (r Ratios) Add(name string, a, b time.Duration) {
	r[name] = append(r[name], float64(a)/float64(b))
}

// Report calls metric, as testing.B.ReportMetric, with the median of each.
func (r Ratios) Report(metric func(n float64, unit string)) {
	for name, samples := range r {
		slices.Sort(samples)
		metric(samples[len(samples)/2], name)
	}
	metric(0, "ns/op") // of all that was compared together: says nothing
}
