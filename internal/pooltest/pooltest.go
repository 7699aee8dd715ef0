// Package pooltest has what the tests of several packages share.
package pooltest

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/bufpool/bufpool/internal/balance"
)

// Exactly makes reuse exact until the test ends: one processor, no collection, no
// checker. Under the race detector it does not help: there sync.Pool drops one Put
// in four on purpose.
func Exactly(t testing.TB) {
	bareDefault(t)
	procs, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
		runtime.GC()
	})
}

// Allocs returns how many allocations one call of run makes: the least of five,
// for the runtime now and then allocates something of its own beside it.
func Allocs(run func()) float64 {
	run()
	least := math.Inf(1)
	for range 5 {
		least = min(least, testing.AllocsPerRun(1, run))
	}
	return least
}

// Heap returns the bytes in use after two collections, which empty every
// sync.Pool.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	return HeapNow()
}

// HeapNow returns the bytes in use, garbage included.
func HeapNow() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// MustPanic fails t unless f panics with something that says want.
func MustPanic(t testing.TB, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got == nil || !strings.Contains(fmt.Sprint(got), want) {
			t.Errorf("panic %v, want one with %q", got, want)
		}
	}()
	f()
}

// MustBalance fails t unless all that the pools lent came back once.
func MustBalance(t testing.TB, pools ...*balance.Pool) {
	t.Helper()
	for _, p := range pools {
		if err := p.Err(); err != nil {
			t.Error(err)
		}
		if c := p.Counts(); c.Gets != c.Puts {
			t.Errorf("%d gets, %d puts", c.Gets, c.Puts)
		}
	}
}

// EverySecondEmpty reads from R, but returns 0, nil every other time.
type EverySecondEmpty struct {
	R     io.Reader
	empty bool
}

// Read reads.
func (e *EverySecondEmpty) Read(p []byte) (int, error) {
	if e.empty = !e.empty; e.empty {
		return 0, nil
	}
	return e.R.Read(p)
}
