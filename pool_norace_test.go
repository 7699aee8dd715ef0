//go:build !race

// These tests need every Put to be kept, which the race detector prevents on
// purpose: it makes sync.Pool drop one in four.

package bufpool_test

import (
	"bytes"
	"fmt"
	"io"
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

// zeroReader and writerOnly have no fast paths.
type zeroReader struct{ n, left int }

func (z *zeroReader) Read(p []byte) (int, error) {
	if z.left == 0 {
		z.left = z.n
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	z.left -= n
	return n, nil
}

type countingWriter struct{ n int }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += len(p)
	return len(p), nil
}

func TestBufferDoesNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	for _, size := range []int{1, 200, 4096, 33_000, 1 << 20} {
		p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
		b := bufpool.NewBuffer(p, 52)
		data := make([]byte, size)
		text := string(data[:1])
		r, w := &zeroReader{size, size}, new(countingWriter)
		times := min(1000, 50_000_000/size)
		for what, f := range map[string]func(){
			"Write":    func() { b.Write(data) },
			"in steps": func() { writeInSteps(b, data) },
			"all": func() {
				b.WriteString(text)
				b.WriteByte(1)
				b.WriteRune('…')
				b.ReadByte()
				b.Next(1)
				b.Peek(1)
			},
			"ReadFrom":  func() { b.ReadFrom(r) },
			"WriteTo":   func() { b.Write(data); b.WriteTo(w) },
			"Read":      func() { b.Write(data); b.Read(data) },
			"Prepend":   func() { b.Write(data); b.Prepend(52); b.Prepend(52) },
			"Available": func() { b.Grow(size); b.Write(append(b.AvailableBuffer(), data...)) },
			"Detach":    func() { b.Write(data); p.Put(b.Detach()) },
			"Reset":     func() { b.Write(data); b.Reset() },
		} {
			if per := pooltest.Allocs(func() {
				for range times {
					f()
					b.Release()
				}
			}); per != 0 {
				t.Errorf("%s, %d bytes: %.0f allocations in %d calls", what, size, per, times)
			}
		}
	}
}

func writeInSteps(b io.Writer, data []byte) {
	for step := 1; len(data) > 0; step = step*7%1000 + 1 {
		n := min(step, len(data))
		b.Write(data[:n])
		data = data[n:]
	}
}

func TestChainDoesNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	for _, size := range []int{1, 200, 4096, 33_000, 1 << 20} {
		p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
		data := make([]byte, size)
		text := string(data)
		r, w := &zeroReader{size, size}, new(countingWriter)
		limited := &io.LimitedReader{}
		for what, f := range map[string]func(c *bufpool.Chain){
			"Write":      func(c *bufpool.Chain) { c.Write(data); c.WriteString(text); c.WriteByte(1) },
			"in steps":   func(c *bufpool.Chain) { writeInSteps(c, data) },
			"ReadFrom":   func(c *bufpool.Chain) { c.ReadFrom(r) },
			"limited":    func(c *bufpool.Chain) { limited.R, limited.N = r, 1<<40; c.ReadFrom(limited) },
			"ReadN":      func(c *bufpool.Chain) { r.left = size; c.ReadN(r, int64(size)) },
			"Read":       func(c *bufpool.Chain) { c.Write(data); c.ReadByte(); c.Read(data) },
			"Peek":       func(c *bufpool.Chain) { c.Write(data); c.Peek(size); c.Peek(1) },
			"Contiguous": func(c *bufpool.Chain) { c.Write(data); c.Contiguous() },
			"Discard":    func(c *bufpool.Chain) { c.Write(data); c.Discard(size / 2); c.Discard(size) },
			"WriteTo":    func(c *bufpool.Chain) { c.Write(data); c.WriteTo(w) },
			"Slice":      func(c *bufpool.Chain) { c.Write(data); s := c.Slice(size/2, size); s.Release() },
			"two Slices": func(c *bufpool.Chain) {
				c.Write(data)
				s, u := c.Slice(0, 1), c.Slice(0, size)
				s.Release()
				u.Release()
			},
			"Split":       func(c *bufpool.Chain) { c.Write(data); s := c.Split(size / 2); s.Release() },
			"Split twice": func(c *bufpool.Chain) { c.Write(data); s := c.Split(size); u := s.Split(0); s.Release(); u.Release() },
		} {
			times := min(1000, 50_000_000/size)
			var c bufpool.Chain
			if per := pooltest.Allocs(func() {
				for range times {
					c = bufpool.NewChain(p, 0)
					f(&c)
					c.Release()
				}
			}); per != 0 {
				t.Errorf("%s, %d bytes: %.0f allocations in %d calls", what, size, per, times)
			}
		}
	}
}

// A message of 10 MiB through sockets.
func TestRelayDoesNotAllocate(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		pooltest.Exactly(t)
		const size = 10 << 20
		r := newRelay(t, network, size)
		c := bufpool.NewChain(bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))), 0)
		if per := pooltest.Allocs(func() {
			for range 5 {
				r.next <- true
				if n, err := c.ReadN(r.in, size); n != size || err != nil {
					t.Error(n, err)
				}
				if n, err := c.WriteTo(r.out); n != size || err != nil {
					t.Error(n, err)
				}
				<-r.drained
			}
		}); per != 0 {
			t.Errorf("%s: %.0f allocations in 5 messages", network, per)
		}
		c.Release()
	}
}

func TestCopyDoesNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	var p bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	r, w := &zeroReader{1000, 1000}, new(countingWriter)
	mustNotAllocate(t, "Copy", func() { bufpool.Copy(w, r, p) })
}

func TestSlicesDoNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	binary := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	for name, p := range map[string]bufpool.BufferPool{"own": binary, "any": struct{ bufpool.BufferPool }{binary}} {
		for _, size := range []int{1, 4096, 32 << 10} {
			s := bufpool.NewSlices(p, size)
			mustNotAllocate(t, name, func() {
				a, b := s.Get(), s.Get()
				s.Put(a)
				s.Put(b)
			})
		}
	}
}
