package bufpooltest_test

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/bufpooltest"
)

var tiers = []int{1000, 4096, 65536}

// simple keeps to the contract in the plainest way: a locked stack a tier. The
// wrong pools below each change one thing in it.
type simple struct {
	mu    sync.Mutex
	free  map[int][]*[]byte
	stats bufpool.Stats
}

func newSimple() *simple {
	s := &simple{free: map[int][]*[]byte{}}
	for _, t := range tiers {
		s.stats.Tiers = append(s.stats.Tiers, bufpool.TierStats{Size: t})
	}
	return s
}

func (s *simple) Get(n int) *[]byte {
	if n < 0 {
		panic(fmt.Sprint("bufpool: negative length ", n))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearch(tiers, n)
	if i == len(tiers) {
		b := make([]byte, n)
		s.stats.OversizedGets++
		return &b
	}
	b := s.pop(tiers[i])
	if b == nil || cap(*b) != tiers[i] {
		fresh := make([]byte, tiers[i])
		b = &fresh
		s.stats.Tiers[i].Misses++
	}
	*b = (*b)[:n]
	return b
}

func (s *simple) pop(tier int) *[]byte {
	f := s.free[tier]
	if len(f) == 0 {
		return nil
	}
	s.free[tier] = f[:len(f)-1]
	return f[len(f)-1]
}

func (s *simple) keep(tier int, b *[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[tier] = append(s.free[tier], b)
}

func (s *simple) Put(b *[]byte) {
	if b == nil || cap(*b) == 0 {
		s.count(&s.stats.Dropped.Empty)
		return
	}
	c := cap(*b)
	switch i, found := slices.BinarySearch(tiers, c); {
	case found:
		s.keep(c, b)
	case i == 0:
		s.count(&s.stats.Dropped.Undersized)
	case i == len(tiers):
		s.count(&s.stats.Dropped.Oversized)
	default:
		s.count(&s.stats.Dropped.Between)
	}
}

func (s *simple) count(n *uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

func (s *simple) Sizes() []int { return slices.Clone(tiers) }

func (s *simple) Stats() bufpool.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Tiers = slices.Clone(st.Tiers)
	return st
}

// plain hides the optional methods.
type plain struct{ bufpool.BufferPool }

// wrong is a pool with its own way for one or both methods.
type wrong struct {
	get func(n int) *[]byte
	put func(b *[]byte)
}

func (w wrong) Get(n int) *[]byte { return w.get(n) }
func (w wrong) Put(b *[]byte)     { w.put(b) }

// next returns the first tier of at least c, or the largest.
func next(c int) int {
	i, _ := slices.BinarySearch(tiers, c)
	return tiers[min(i, len(tiers)-1)]
}

// oneSlot hands out what is in its slot, but looks and takes in two steps. Every
// step is atomic, so that it is not the race detector that finds it.
type oneSlot struct {
	slot atomic.Pointer[[4096]byte]
	simple
}

func (o *oneSlot) Get(n int) *[]byte {
	if n > 1000 && n <= 4096 {
		array := o.slot.Load()
		runtime.Gosched()
		if array != nil {
			o.slot.Store(nil)
			b := array[:n]
			return &b
		}
	}
	return o.simple.Get(n)
}

func (o *oneSlot) Put(b *[]byte) {
	if b != nil && cap(*b) == 4096 {
		o.slot.Store((*[4096]byte)((*b)[:4096]))
		return
	}
	o.simple.Put(b)
}

type wrongSizes struct{ *simple }

func (wrongSizes) Sizes() []int { return []int{4096, 65536} }

type sharedSizes struct{ *simple }

func (sharedSizes) Sizes() []int { return tiers2 }

var tiers2 = slices.Clone(tiers)

type forgetsMisses struct{ *simple }

func (f forgetsMisses) Stats() bufpool.Stats {
	s := f.simple.Stats()
	s.Tiers[1].Misses = 0
	return s
}

type countsHits struct{ *simple }

func (c countsHits) Get(n int) *[]byte {
	before := c.Stats()
	b := c.simple.Get(n)
	for i, tier := range c.Stats().Tiers {
		if cap(*b) == tier.Size && tier.Misses == before.Tiers[i].Misses {
			c.count(&c.simple.stats.Tiers[i].Misses)
		}
	}
	return b
}

type countsEarly struct{ *simple }

func (c countsEarly) Get(n int) *[]byte {
	if n > 65536 {
		c.count(&c.stats.OversizedGets)
		c.mu.Lock()
		defer c.mu.Unlock()
		b := make([]byte, n)
		return &b
	}
	return c.simple.Get(n)
}

// The faults, each with the rule it breaks. Most were seen in the field.
var faults = []struct {
	name string
	rule bufpooltest.Rule
	new  func() bufpool.BufferPool
}{
	{"returns nil for 0", bufpooltest.NotNil, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			if n == 0 {
				return nil
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"forgets to re-slice", bufpooltest.Length, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			s.mu.Lock()
			b := s.pop(next(n))
			s.mu.Unlock()
			if b != nil && n <= 65536 {
				return b
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"rounds up on Put and hands out too few bytes", bufpooltest.Length, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			s.mu.Lock()
			b := s.pop(next(n))
			s.mu.Unlock()
			if b != nil && n >= 0 && n <= 65536 {
				*b = (*b)[:min(n, cap(*b))]
				return b
			}
			return s.Get(n)
		}, func(b *[]byte) {
			if b != nil && cap(*b) > 0 {
				s.keep(next(cap(*b)), b)
			}
		}}
	}},
	{"rounds up to a page", bufpooltest.Capacity, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			if n > 65536 {
				b := make([]byte, n, (n+4095)&^4095)
				return &b
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"routes by length", bufpooltest.Capacity, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			s.mu.Lock()
			b := s.pop(next(n))
			s.mu.Unlock()
			if b != nil && n >= 0 && n <= cap(*b) {
				*b = (*b)[:n]
				return b
			}
			return s.Get(n)
		}, func(b *[]byte) {
			if b != nil && cap(*b) > 0 {
				s.keep(next(len(*b)), b)
			}
		}}
	}},
	{"keeps oversize", bufpooltest.Oversize, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			if n > 65536 {
				s.mu.Lock()
				defer s.mu.Unlock()
				if b := s.pop(0); b != nil && cap(*b) >= n {
					*b = (*b)[:n]
					return b
				}
				b := make([]byte, n)
				return &b
			}
			return s.Get(n)
		}, func(b *[]byte) {
			if b != nil && cap(*b) > 65536 {
				s.keep(0, b)
				return
			}
			s.Put(b)
		}}
	}},
	{"hoards oversize", bufpooltest.Oversize, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{s.Get, func(b *[]byte) {
			if b != nil && cap(*b) > 65536 {
				s.keep(0, b) // and no Get ever looks there
			}
			s.Put(b)
		}}
	}},
	{"hoards what it drops", bufpooltest.Drops, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{s.Get, func(b *[]byte) {
			if b != nil && cap(*b) < 1000 && cap(*b) > 0 {
				s.keep(0, b)
			}
			s.Put(b)
		}}
	}},
	{"says makeslice for a negative length", bufpooltest.NegativeLength, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			if n < 0 {
				_ = make([]byte, n)
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"takes a negative length for 0", bufpooltest.NegativeLength, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte { return s.Get(max(n, 0)) }, s.Put}
	}},
	{"counts before it panics", bufpooltest.HugeLength, func() bufpool.BufferPool { return countsEarly{newSimple()} }},
	{"clamps a huge length", bufpooltest.HugeLength, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte { return s.Get(min(n, 1<<20)) }, s.Put}
	}},
	{"keeps what it lends", bufpooltest.Distinct, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			b := s.Get(n)
			if cap(*b) == 4096 {
				s.Put(b)
				alias := (*b)[:n]
				return &alias
			}
			return b
		}, s.Put}
	}},
	{"keeps one tier never", bufpooltest.Keeps, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{s.Get, func(b *[]byte) {
			if b == nil || cap(*b) != 65536 {
				s.Put(b)
			}
		}}
	}},
	{"looks at the length", bufpooltest.Keeps, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{s.Get, func(b *[]byte) {
			if b != nil && len(*b) > 0 {
				s.Put(b)
			}
		}}
	}},
	{"keeps a little too much", bufpooltest.Drops, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			if n > 1000 && n <= 4096 {
				if b := s.pop(4097); b != nil {
					*b = (*b)[:n:4096]
					return b
				}
			}
			return s.unlocked(n)
		}, func(b *[]byte) {
			if b != nil && cap(*b) == 4097 {
				s.keep(4097, b)
				return
			}
			s.Put(b)
		}}
	}},
	{"keeps nil", bufpooltest.Empty, func() bufpool.BufferPool {
		s := newSimple()
		var nils atomic.Int64
		return wrong{func(n int) *[]byte {
			if n >= 0 && n <= 1000 && nils.Swap(0) > 0 {
				var b *[]byte
				*b = (*b)[:n]
			}
			return s.Get(n)
		}, func(b *[]byte) {
			if b == nil {
				nils.Add(1)
				return
			}
			s.Put(b)
		}}
	}},
	{"panics on an empty slice", bufpooltest.Empty, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{s.Get, func(b *[]byte) {
			_ = (*b)[:1]
			s.Put(b)
		}}
	}},
	{"panics on a header changed after Put", bufpooltest.ChangedHeader, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			if i, _ := slices.BinarySearch(tiers, n); n >= 0 && i < len(tiers) {
				if b := s.pop(tiers[i]); b != nil {
					*b = (*b)[:n]
					return b
				}
			}
			return s.unlocked(n)
		}, s.Put}
	}},
	{"says the wrong sizes", bufpooltest.Sizes, func() bufpool.BufferPool { return wrongSizes{newSimple()} }},
	{"hands out its own sizes", bufpooltest.Sizes, func() bufpool.BufferPool {
		copy(tiers2, tiers)
		return sharedSizes{newSimple()}
	}},
	{"forgets to count", bufpooltest.Counts, func() bufpool.BufferPool { return forgetsMisses{newSimple()} }},
	{"counts hits as misses", bufpooltest.Counts, func() bufpool.BufferPool { return countsHits{newSimple()} }},
	{"has a hole between its tiers", bufpooltest.Capacity, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			if n > 16384 && n <= 32768 {
				b := make([]byte, n)
				return &b
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"keeps each capacity apart", bufpooltest.Drops, func() bufpool.BufferPool {
		s := newSimple()
		return wrong{func(n int) *[]byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			if b := s.pop(n); b != nil && cap(*b) == n {
				*b = (*b)[:n]
				return b
			}
			return s.unlocked(n)
		}, func(b *[]byte) {
			if b != nil && cap(*b) > 0 && cap(*b) < 65536 {
				s.keep(cap(*b), b)
				return
			}
			s.Put(b)
		}}
	}},
	{"lends buffers that overlap at the end", bufpooltest.Distinct, func() bufpool.BufferPool {
		s := newSimple()
		var slab []byte
		return wrong{func(n int) *[]byte {
			if n > 4096 && n <= 65536 {
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(slab) < 65536 {
					slab = make([]byte, 16*65536)
				}
				b := slab[:n:65536]
				slab = slab[61440:]
				return &b
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"lends overlapping buffers", bufpooltest.Distinct, func() bufpool.BufferPool {
		s := newSimple()
		var slab []byte
		return wrong{func(n int) *[]byte {
			if n > 1000 && n <= 4096 {
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(slab) < 4096 {
					slab = make([]byte, 64*4096)
				}
				b := slab[:n:4096]
				slab = slab[4096-7:]
				return &b
			}
			return s.Get(n)
		}, s.Put}
	}},
	{"is not safe for goroutines", bufpooltest.Goroutines, func() bufpool.BufferPool {
		return plain{&oneSlot{simple: simple{free: map[int][]*[]byte{}, stats: newSimple().stats}}}
	}},
}

// unlocked is Get for who holds the lock.
func (s *simple) unlocked(n int) *[]byte {
	s.mu.Unlock()
	defer s.mu.Lock()
	return s.Get(n)
}

func TestFaultsAreNamed(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if f.rule == bufpooltest.HugeLength && bits.UintSize < 64 {
				t.Skip("on 32 bits no length is beyond allocation for certain")
			}
			// A pool that breaks another rule may well race when several
			// goroutines use it, and the race detector would fail this test.
			check := bufpooltest.CheckSequential
			if f.rule == bufpooltest.Goroutines {
				check = bufpooltest.Check
			}
			err := check(f.new, tiers)
			if !errors.Is(err, f.rule) {
				t.Fatalf("broke %q, got: %v", f.rule, err)
			}
			var v *bufpooltest.Violation
			if !errors.As(err, &v) || v.Detail == "" {
				t.Errorf("no details in %v", err)
			}
			t.Log(err)
		})
	}
}

func TestEachRuleHasAFault(t *testing.T) {
	broken := map[bufpooltest.Rule]bool{}
	for _, f := range faults {
		broken[f.rule] = true
	}
	for _, r := range bufpooltest.Rules() {
		if !broken[r] {
			t.Errorf("no wrong pool breaks %q", r)
		}
	}
}

func TestRightPoolPasses(t *testing.T) {
	bufpooltest.Test(t, func() bufpool.BufferPool { return newSimple() }, tiers)
	bufpooltest.Test(t, func() bufpool.BufferPool { return plain{newSimple()} }, []int{65536, 1000, 4096, 1000})
}

// fifo hands out what was put longest ago, and not before eight are there.
type fifo struct{ *simple }

func (f fifo) Get(n int) *[]byte {
	i, _ := slices.BinarySearch(tiers, n)
	if n >= 0 && i < len(tiers) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if q := f.free[tiers[i]]; len(q) > 8 {
			b := q[0]
			f.free[tiers[i]] = q[1:]
			if cap(*b) == tiers[i] {
				*b = (*b)[:n]
				return b
			}
		}
		b := make([]byte, n, tiers[i])
		f.stats.Tiers[i].Misses++
		return &b
	}
	return f.simple.Get(n)
}

func TestAPoolThatReusesLaterPasses(t *testing.T) {
	bufpooltest.Test(t, func() bufpool.BufferPool { return fifo{newSimple()} }, tiers)
}

func TestTheCallersTiersStayAsTheyAre(t *testing.T) {
	mine := []int{65536, 1000, 4096}
	bufpooltest.Test(t, func() bufpool.BufferPool { return newSimple() }, mine)
	if !slices.Equal(mine, []int{65536, 1000, 4096}) {
		t.Error(mine)
	}
}

func TestSequentialLeavesGoroutinesOut(t *testing.T) {
	for _, f := range faults {
		if f.rule != bufpooltest.Goroutines {
			continue
		}
		if err := bufpooltest.CheckSequential(f.new, tiers); err != nil {
			t.Error(err)
		}
	}
}

func TestNopAgainstTiersIsWrong(t *testing.T) {
	err := bufpooltest.Check(func() bufpool.BufferPool { return bufpool.Nop{} }, tiers)
	for _, r := range []bufpooltest.Rule{bufpooltest.Capacity, bufpooltest.Keeps, bufpooltest.Sizes} {
		if !errors.Is(err, r) {
			t.Errorf("Nop with tiers does not break %q: %v", r, err)
		}
	}
}

type recorder struct{ text string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.text += fmt.Sprintf(format, args...)
}

func TestUnservedIsSaidOnce(t *testing.T) {
	for _, f := range faults[:2] { // nil for 0, and a length not set
		err := bufpooltest.CheckSequential(f.new, tiers)
		if n := strings.Count(err.Error(), "broken rule"); n != 1 {
			t.Errorf("%s: %d rules broken, want the one:\n%v", f.name, n, err)
		}
	}
}

func TestTestFails(t *testing.T) {
	var r recorder
	bufpooltest.Test(&r, func() bufpool.BufferPool { return wrongSizes{newSimple()} }, tiers)
	if !strings.Contains(r.text, string(bufpooltest.Sizes)) {
		t.Errorf("Test reported %q", r.text)
	}
}
