package grpc_test

import (
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// watched is a pool that knows which of its buffers are lent.
type watched struct {
	bufpool.BufferPool
	lent map[*byte]bool
}

func newWatched() *watched {
	return &watched{bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 1<<20))), map[*byte]bool{}}
}

func (w *watched) Get(n int) *[]byte {
	b := w.BufferPool.Get(n)
	w.lent[&(*b)[:1][0]] = true
	return b
}

func (w *watched) Put(b *[]byte) {
	w.lent[&(*b)[:1][0]] = false
	w.BufferPool.Put(b)
}

const messageSize = 4096 // gRPC counts no references below its threshold

func message(fill byte) []byte {
	b := make([]byte, messageSize)
	for i := range b {
		b[i] = fill
	}
	return b
}

// A stale case misuses a handle that was released, while a victim owns another. The
// victim is made in between, so that it gets what the stale handle referred to.
//
// grpc is what gRPC's mem.Buffer makes of it: it returns the victim, whose data must
// have gone back to the pool, or be cut, although its owner has it. chain does the same
// with Chains, and must panic.
type staleCase struct {
	name  string
	grpc  func(p *watched) (victim mem.Buffer)
	chain func(p *watched, stale func(func())) (victim bufpool.Chain)
}

func buffer(p *watched, fill byte) mem.Buffer { return mem.Copy(message(fill), p) }

func chain(p *watched, fill byte) bufpool.Chain {
	c := bufpool.NewChain(p, 0)
	c.Write(message(fill))
	return c
}

var staleCases = []staleCase{
	{"released twice", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		b.Free()
		victim := buffer(p, 'v')
		b.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		c.Release()
		victim := chain(p, 'v')
		stale(c.Release)
		return victim
	}},
	{"released through a copy of the handle", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		copied := b
		b.Free()
		victim := buffer(p, 'v')
		copied.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		copied := c
		c.Release()
		victim := chain(p, 'v')
		stale(copied.Release)
		return victim
	}},
	{"released once more than it was shared", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		b.Ref()
		b.Free()
		b.Free()
		victim := buffer(p, 'v')
		b.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		shared := c.Slice(0, c.Len())
		c.Release()
		shared.Release()
		victim := chain(p, 'v')
		stale(c.Release)
		return victim
	}},
	{"shared, and released twice by one of the two", func(p *watched) mem.Buffer {
		victim := buffer(p, 'v')
		victim.Ref() // for another owner
		shared := victim
		shared.Free()
		shared.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		victim := chain(p, 'v')
		shared := victim.Slice(0, victim.Len())
		shared.Release()
		stale(shared.Release)
		return victim
	}},
	{"a slice released twice", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		s := b.Slice(10, 20)
		s.Free()
		victim := buffer(p, 'v')
		s.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		s := c.Slice(10, 20)
		s.Release()
		victim := chain(p, 'v')
		stale(s.Release)
		return victim
	}},
	{"a slice of the whole released twice", func(p *watched) mem.Buffer {
		victim := buffer(p, 'v')
		s := victim.Slice(0, messageSize)
		s.Free()
		s.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		victim := chain(p, 'v')
		s := victim.Slice(0, messageSize)
		s.Release()
		stale(s.Release)
		return victim
	}},
	{"the right half released twice", func(p *watched) mem.Buffer {
		_, right := mem.SplitUnsafe(buffer(p, 'b'), 100)
		right.Free()
		victim := buffer(p, 'v')
		right.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		right := chain(p, 'b')
		left := right.Split(100)
		right.Release()
		victim := chain(p, 'v')
		stale(right.Release)
		_ = left
		return victim
	}},
	{"the left half released twice", func(p *watched) mem.Buffer {
		left, right := mem.SplitUnsafe(buffer(p, 'b'), 100)
		right.Free()
		left.Free()
		buffer(p, 'c') // gets what the right half was
		victim := buffer(p, 'v')
		left.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		right := chain(p, 'b')
		left := right.Split(100)
		right.Release()
		left.Release()
		victim := chain(p, 'v')
		stale(left.Release)
		return victim
	}},
	{"a message released twice", func(p *watched) mem.Buffer {
		m := mem.BufferSlice{buffer(p, 'b')}
		copied := append(mem.BufferSlice(nil), m...)
		m.Free()
		victim := buffer(p, 'v')
		copied.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		m := bufpool.NewChain(p, messageSize)
		m.Write(message('a'))
		m.Write(message('b'))
		m.Release()
		victim := chain(p, 'v')
		stale(m.Release)
		return victim
	}},
	{"released after it was read to its end", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		mem.ReadUnsafe(make([]byte, messageSize), b) // releases it
		victim := buffer(p, 'v')
		b.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		copied := c
		c.Read(make([]byte, messageSize))
		c.Release()
		victim := chain(p, 'v')
		stale(copied.Release)
		return victim
	}},
	{"a reader closed, and a copy of it", func(p *watched) mem.Buffer {
		m := mem.BufferSlice{buffer(p, 'b')}
		r := m.Reader()
		copied := *r
		r.Close()
		m.Free()
		victim := buffer(p, 'v')
		copied.Close()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		m := chain(p, 'b')
		r := m.Slice(0, m.Len())
		copied := r
		r.Release()
		m.Release()
		victim := chain(p, 'v')
		stale(copied.Release)
		return victim
	}},
	{"made contiguous, and that released twice", func(p *watched) mem.Buffer {
		victim := buffer(p, 'v')
		one := mem.BufferSlice{victim}.MaterializeToBuffer(p)
		one.Free()
		one.Free()
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		victim := chain(p, 'v')
		one := victim.Slice(0, victim.Len())
		one.Contiguous()
		one.Release()
		stale(one.Release)
		return victim
	}},
	{"released by another goroutine, too", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		b.Free()
		victim := buffer(p, 'v')
		done := make(chan bool)
		go func() {
			defer close(done)
			b.Free()
		}()
		<-done
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		c.Release()
		victim := chain(p, 'v')
		done := make(chan bool)
		go func() {
			defer close(done)
			stale(c.Release)
		}()
		<-done
		return victim
	}},
	{"cut after it was released", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		b.Free()
		victim := buffer(p, 'v')
		mem.SplitUnsafe(b, 100)
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		c.Release()
		victim := chain(p, 'v')
		stale(func() { c.Split(100) })
		return victim
	}},
	{"read after it was released", func(p *watched) mem.Buffer {
		b := buffer(p, 'b')
		b.Free()
		victim := buffer(p, 'v')
		mem.ReadUnsafe(make([]byte, messageSize), b) // and so released
		return victim
	}, func(p *watched, stale func(func())) bufpool.Chain {
		c := chain(p, 'b')
		c.Release()
		victim := chain(p, 'v')
		stale(func() { c.Read(make([]byte, messageSize)) })
		return victim
	}},
}

// Where a stale handle of gRPC's releases another owner's data, or cuts it, a Chain's
// panics, and the data stays whole.
func TestStaleHandles(t *testing.T) {
	for _, c := range staleCases {
		t.Run(c.name, func(t *testing.T) {
			pooltest.Exactly(t)
			if !raceEnabled { // which makes sync.Pool recycle at random
				p := newWatched()
				victim := c.grpc(p)
				data, intact := dataOf(victim)
				if intact && len(data) == messageSize && p.lent[&data[0]] {
					t.Error("gRPC's victim is intact: this is no case")
				}
			}
			p := newWatched()
			noticed := 0
			victim := c.chain(p, func(misuse func()) {
				noticed++
				pooltest.MustPanic(t, "bufpool: stale Chain", misuse)
			})
			data := victim.Contiguous()
			if noticed != 1 || string(data) != string(message('v')) || !p.lent[&data[0]] {
				t.Errorf("noticed %d times; the victim has %d bytes, lent: %v", noticed, len(data), p.lent[&data[0]])
			}
			victim.Release()
			if p.lent[&data[0]] {
				t.Error("the victim's chunk is not back")
			}
		})
	}
}

// dataOf returns a buffer's data, unless gRPC says that it was freed.
func dataOf(b mem.Buffer) (data []byte, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return b.ReadOnlyData(), true
}
