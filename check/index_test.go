package check

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bufpool/bufpool"
)

// Arrays come, go and come back elsewhere; every address is found in the one it lies
// in, and in no other.
func TestRanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	type extent struct{ low, high uintptr }
	var (
		x    ranges
		in   []*record
		free []extent
		next uintptr = 0x10000000
	)
	for range 20_000 {
		if rnd.IntN(100) < 52 || len(in) == 0 {
			var e extent
			if len(free) > 0 && rnd.IntN(2) == 0 {
				i := rnd.IntN(len(free))
				e = free[i]
				free = slices.Delete(free, i, i+1)
			} else {
				size := uintptr(1) << rnd.IntN(18)
				size += uintptr(rnd.IntN(int(size)))
				next += uintptr(rnd.IntN(3) / 2 * 5000)
				e = extent{next, next + size}
				next += size
			}
			r := &record{low: e.low, high: e.high}
			x.add(r, r.low, r.high)
			in = append(in, r)
		} else {
			i := rnd.IntN(len(in))
			r := in[i]
			in = slices.Delete(in, i, i+1)
			x.remove(r, r.low, r.high)
			free = append(free, extent{r.low, r.high})
		}
		if len(in) > 0 {
			r := in[rnd.IntN(len(in))]
			for at := r.low; at < r.high; at += 8192 {
				if x.find(at, at+1, nil) != r {
					t.Fatalf("%#x of %#x to %#x was not found", at, r.low, r.high)
				}
			}
			if x.find(r.high-1, r.high+50_000, func(f *record) bool { return f == r }) != r || x.find(r.low, r.high, func(*record) bool { return false }) != nil {
				t.Fatalf("%#x to %#x", r.low, r.high)
			}
		}
		if len(free) > 0 {
			e := free[rnd.IntN(len(free))]
			if x.find(e.low, e.high, nil) != nil {
				t.Fatalf("%#x to %#x was found", e.low, e.high)
			}
		}
	}
	if table := len(*x.table.Load()); table < x.nodes || table > 4*x.nodes {
		t.Errorf("%d nodes in a table of %d", x.nodes, table)
	}
	for _, r := range in {
		x.remove(r, r.low, r.high)
	}
	if x.nodes != 0 || x.used.Load() != 0 {
		t.Errorf("%d nodes and granules %b are left", x.nodes, x.used.Load())
	}
}

// Arrays of every size have few nodes.
func TestGranules(t *testing.T) {
	for size := uintptr(1); size <= 1<<29; size *= 2 {
		for _, low := range []uintptr{0x20000000, 0x20000001, 0x20001fff} {
			var x ranges
			r := &record{low: low, high: low + size}
			x.add(r, r.low, r.high)
			if x.nodes > 9 {
				t.Errorf("%d bytes have %d nodes", size, x.nodes)
			}
			for _, at := range []uintptr{low, low + size/3, low + size - 1} {
				if x.find(at, at+1, nil) != r {
					t.Errorf("%#x of %d bytes from %#x was not found", at, size, low)
				}
			}
			if x.find(low-1, low, nil) != nil || x.find(low+size, low+size+1, nil) != nil || x.find(low-1, low+size+1, nil) != r {
				t.Errorf("what lies beside %d bytes from %#x was found", size, low)
			}
		}
	}
}

// What was taken out of an index is not kept alive by what came after it.
func TestAnIndexLetsGo(t *testing.T) {
	var h headers
	a, b := uintptr(0x40000000), uintptr(0x40000040)
	for hash(a, leastTable) != hash(b, leastTable) {
		b += 64
	}
	var live atomic.Int64
	last := &record{header: a}
	h.add(last)
	for i := range 5000 {
		r := &record{header: []uintptr{b, a}[i%2]}
		live.Add(1)
		runtime.AddCleanup(r, func(int) { live.Add(-1) }, 0)
		h.add(r)
		h.remove(last)
		last = r
	}
	for range 1000 {
		if runtime.GC(); live.Load() <= 2 {
			break
		}
		runtime.Gosched()
	}
	if n := live.Load(); n > 2 {
		t.Errorf("%d records are alive, %d are in the index", n, h.nodes)
	}
	runtime.KeepAlive(&h)
}

func TestChanged(t *testing.T) {
	for _, at := range []int{0, 1, 4095, 4096, 8191, 8192, 9999} {
		s := make([]byte, 10_000)
		fill(s)
		if got := changed(s, Poison); got != -1 {
			t.Fatal(got)
		}
		s[at]++
		if got := changed(s, Poison); got != at {
			t.Errorf("byte %d changed, found %d", at, got)
		}
	}
}

// nobody is a test that ends when it is told.
type nobody struct{ end func() }

func (*nobody) Helper()               {}
func (n *nobody) Cleanup(f func())    { n.end = f }
func (*nobody) Errorf(string, ...any) {}

// What a test was told at its end is no leak later.
func TestForTestTellsOnce(t *testing.T) {
	var tb nobody
	p := ForTest(&tb, bufpool.Nop{})
	b := p.Get(100)
	tb.end()
	p.config.report = func(v Violation) { t.Errorf("told again: %v", v) }
	forget(p.lent.first) // as when b is collected
	runtime.KeepAlive(b)
}

// Of an idle buffer the parent may have cleared the head, or all.
func TestChangedInIdle(t *testing.T) {
	for _, test := range []struct{ cleared, at, want int }{
		{0, -1, -1}, {40, -1, -1}, {100, -1, -1}, {0, 0, 0}, {0, 70, 70}, {40, 70, 70}, {40, 40, 40}, {40, 99, 99}, {39, 70, 0},
	} {
		s := make([]byte, 100)
		fill(s)
		clear(s[:test.cleared])
		if test.at >= 0 {
			s[test.at] = 1
		}
		if got := changedInIdle(s, 40); got != test.want {
			t.Errorf("%d cleared, byte %d written: found %d, want %d", test.cleared, test.at, got, test.want)
		}
	}
}

// When all is collected, put back and forgotten, a Put need not look any more.
func TestWatchReturnsToZero(t *testing.T) {
	p, err := New(bufpool.Nop{}, WithQuarantine(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	func() { p.Put(p.Get(100)) }()
	for _, n := range []int{2, 3} {
		if err := p.SetSample(n); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.headers.nodes
	}
	for range 1000 {
		if runtime.GC(); count() == 0 {
			break
		}
		runtime.Gosched()
	}
	if p.watch.Load() != 1 {
		t.Errorf("with a buffer in quarantine, watch is %d, want 1", p.watch.Load())
	}
	p.Flush()
	if w := p.watch.Load(); w != 0 || p.arrays.nodes != 0 {
		t.Errorf("watch is %d, %d arrays are indexed, want none", w, p.arrays.nodes)
	}
}

// First in, first out, and what is said to be held is.
func TestQuarantineCounts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	var q quarantine
	var model []*record
	bytes := func() (n int64) {
		for _, r := range model {
			n += r.weight()
		}
		return n
	}
	for range 20_000 {
		switch rnd.IntN(10) {
		default:
			r := &record{low: 0x1000, high: 0x1000 + uintptr(rnd.IntN(10_000))}
			q.push(r)
			model = append(model, r)
		case 0, 1, 2, 3:
			limit := int64(rnd.IntN(300_000)) - 1
			for bytes() > limit {
				if got := q.pop(limit); len(model) == 0 || got != model[0] {
					if got == nil && len(model) == 0 {
						break
					}
					t.Fatal("not the oldest")
				}
				model = model[1:]
				if len(model) == 0 {
					break
				}
			}
			if bytes() <= limit && q.pop(limit) != nil {
				t.Fatal("more than needed")
			}
		case 4:
			bad := func(r *record) bool { return r.high%7 == 0 }
			q.remove(bad)
			model = slices.DeleteFunc(model, bad)
		}
		if spare := q.held[len(q.held):cap(q.held)]; slices.ContainsFunc(spare, func(r *record) bool { return r != nil }) {
			t.Fatal("it keeps what it does not hold")
		}
		if q.bytes != bytes() || len(q.held)-q.first != len(model) {
			t.Fatalf("%d of %d bytes, want %d of %d", len(q.held)-q.first, q.bytes, len(model), bytes())
		}
	}
}
