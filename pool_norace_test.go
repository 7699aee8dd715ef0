//go:build !race

// These tests need every Put to be kept, which the race detector prevents on
// purpose: it makes sync.Pool drop one in four.

package bufpool_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// mustNotAllocate calls f 1000 times a run, so that one allocation in a hundred
// calls shows.
func mustNotAllocate(t *testing.T, what string, f func()) {
	t.Helper()
	if per := pooltest.Allocs(func() {
		for range 1000 {
			f()
		}
	}); per != 0 {
		t.Errorf("%s: %.0f allocations in 1000 calls, want 0", what, per)
	}
}

func TestGetAndPutDoNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	for _, k := range kinds() {
		for _, mode := range []bufpool.Clear{bufpool.ClearNever, bufpool.ClearOnGet, bufpool.ClearOnPut} {
			p := k.new(bufpool.WithClear(mode))
			for _, size := range append(p.Sizes(), 0) {
				if mode != bufpool.ClearNever && size > 64<<10 {
					continue // the time goes into clearing
				}
				mustNotAllocate(t, fmt.Sprintf("%s, %v, Get(%d)", k.name, mode, size), func() {
					p.Put(p.Get(size))
				})
			}
			b := make([]byte, 10, 11)
			mustNotAllocate(t, k.name+": Puts that are dropped", func() {
				p.Put(&b)
				p.Put(nil)
			})
		}
	}
	mustNotAllocate(t, "default", func() { bufpool.Put(bufpool.Get(1000)) })
}

func TestTheSameBufferComesBack(t *testing.T) {
	pooltest.Exactly(t)
	for _, k := range kinds() {
		p := k.new()
		below := 0
		for i, size := range p.Sizes() {
			for _, n := range []int{below + 1, size} {
				for _, length := range []int{0, 1, size / 2, size} {
					b := p.Get(n)
					header, at := b, &whole(b)[0]
					*b = (*b)[:length]
					p.Put(b)
					b = p.Get(n)
					if &whole(b)[0] != at {
						t.Fatalf("%s: Get(%d), put with length %d, did not come back", k.name, n, length)
					}
					if b != header {
						t.Fatalf("%s: the header was not recycled with the array", k.name)
					}
					if len(*b) != n || cap(*b) != size {
						t.Fatalf("%s: Get(%d) has length %d, capacity %d", k.name, n, len(*b), cap(*b))
					}
					p.Put(b)
				}
			}
			if got := p.Stats().Tiers[i].Misses; got != 1 {
				t.Errorf("%s: %d misses in tier %d, want the first", k.name, got, size)
			}
			below = size
		}
	}
}

// Puts that are not kept, whatever they are, cost a tier none of its hits.
func TestDroppedPutsLeaveTheHitsAlone(t *testing.T) {
	pooltest.Exactly(t)
	p := bufpool.Must(bufpool.NewTiered([]int{1000, 5000, 70000}))
	for _, size := range p.Sizes() {
		p.Put(p.Get(size))
	}
	for range 1000 {
		for _, size := range p.Sizes() {
			b := p.Get(size)
			grown := append(*b, 0)
			p.Put(&grown)
			p.Put(b)
			strange := make([]byte, size-1)
			p.Put(&strange)
			p.Put(nil)
		}
	}
	for _, tier := range p.Stats().Tiers {
		if tier.Misses != 1 {
			t.Errorf("tier %d: %d misses, want the first", tier.Size, tier.Misses)
		}
	}
}

// golang/go#22950: one collection moves idle buffers aside, the second frees
// them.
func TestBuffersSurviveOneCollection(t *testing.T) {
	pooltest.Exactly(t)
	p := bufpool.Must(bufpool.NewSized(4096))
	var held []*[]byte
	for range 100 {
		held = append(held, p.Get(4096))
	}
	for _, b := range held {
		p.Put(b)
	}
	clear(held)
	before := p.Stats().Tiers[0].Misses
	runtime.GC()
	for range 100 {
		p.Get(4096)
	}
	if missed := p.Stats().Tiers[0].Misses - before; missed > 10 {
		t.Errorf("%d misses of 100 after one collection", missed)
	}
}

func TestGrowAndReadNDoNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	var p bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	mustNotAllocate(t, "Grow", func() {
		b := p.Get(100)
		for n := 200; n <= 8<<20; n *= 4 {
			b = bufpool.Grow(p, b, n)
		}
		p.Put(b)
	})
	for _, n := range []int{0, 1, 200, 128 << 10, 128<<10 + 1, 1 << 20, 8<<20 - 52} {
		data := make([]byte, n)
		r := bytes.NewReader(data)
		times := min(1000, (64<<20)/(n+1))
		if per := pooltest.Allocs(func() {
			for range times {
				r.Reset(data)
				b, err := bufpool.ReadN(p, r, int64(n), 52)
				if err != nil {
					t.Fatal(err)
				}
				p.Put(b)
			}
		}); per != 0 {
			t.Errorf("ReadN(%d): %.0f allocations in %d calls, want 0", n, per, times)
		}
	}
}
