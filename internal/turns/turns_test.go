package turns_test

import (
	"maps"
	"testing"
	"time"

	"github.com/bufpool/bufpool/internal/turns"
)

func TestRun(t *testing.T) {
	var order []int
	took := turns.Run(2, 20, func(times int) { order = append(order, times) }, func(times int) { order = append(order, -times) })
	if len(took) != 2 || len(order) != 6 || order[0] != 2 || order[2] != 20 || order[3] != -20 || order[5] != -20 {
		t.Errorf("%v, %v", took, order)
	}
}

func TestPerOp(t *testing.T) {
	calls := [2]int{}
	spin := func(i int, d time.Duration) func(int) {
		return func(times int) {
			calls[i]++
			for start := time.Now(); time.Since(start) < time.Duration(times)*d; {
			}
		}
	}
	ns := turns.PerOp(3, 100*time.Microsecond, spin(0, time.Microsecond), spin(1, time.Millisecond))
	if len(ns) != 2 || ns[0] < 1e3 || ns[1] < 1e6 {
		t.Errorf("%v ns, want 1000 and 1000000 at least", ns)
	}
	if calls[0] < 4 || calls[1] != 4 { // once to calibrate, then the turns
		t.Errorf("%v calls", calls)
	}
}

func TestRatios(t *testing.T) {
	r := turns.Ratios{}
	for _, d := range []time.Duration{30, 10, 20} {
		r.Add("x", d, 10)
	}
	got := map[string]float64{}
	r.Report(func(n float64, unit string) { got[unit] = n })
	if want := map[string]float64{"x": 2, "ns/op": 0}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
