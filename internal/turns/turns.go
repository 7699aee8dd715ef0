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

// PerOp is Run for functions of which some take a thousand times as long as
// others: each gets as many operations a turn as take it about so long. It returns
// the time of one operation in nanoseconds, the median of the turns: a turn that
// another process interrupts takes many times as long.
func PerOp(turns int, slice time.Duration, fs ...func(times int)) []float64 {
	times := make([]int, len(fs))
	for i, f := range fs {
		times[i] = calibrate(slice, f)
	}
	ns := make([][]float64, len(fs))
	for range turns {
		for i, f := range fs {
			start := time.Now()
			f(times[i])
			ns[i] = append(ns[i], float64(time.Since(start))/float64(times[i]))
		}
	}
	medians := make([]float64, len(fs))
	for i := range ns {
		medians[i] = Median(ns[i])
	}
	return medians
}

// Median returns the median of samples, which it sorts.
func Median(samples []float64) float64 {
	slices.Sort(samples)
	return samples[len(samples)/2]
}

// calibrate returns how often f can do its operation within slice, once at least.
func calibrate(slice time.Duration, f func(times int)) int {
	for times := 1; ; times *= 2 {
		start := time.Now()
		f(times)
		if took := time.Since(start); took >= slice/2 {
			return max(1, int(float64(times)*float64(slice)/float64(took)))
		}
	}
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
		metric(Median(samples), name)
	}
	metric(0, "ns/op") // of all that was compared together: says nothing
}
