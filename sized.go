package bufpool

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// tier is one capacity over one sync.Pool. No other code has a sync.Pool of buffers.
//
// Get of every pool ends in the same few lines: take a buffer, see that its
// header is as it was at Put, set the length. They are written out in each Get
// since a call in between costs a tenth of the whole; and in this order, with the
// rare cases last, since jumps over those cost a twentieth.
type tier struct {
	pool sync.Pool // of *[]byte, each of capacity size when it was put
	size int       // capacity of its buffers

	// lends and keeps are size, too, but -1, no buffer's capacity, in a pool
	// that clears on Get or on Put: then that call leaves the fast path, which
	// therefore need not look at the mode. Switch, whose zero value is ready,
	// does without them.
	lends, keeps int

	// misses is written while other processors read the fields above, which
	// fill a cache line where pointers have 64 bits: it stands on the next.
	misses atomic.Uint64
	_      [56]byte
}

// take returns an idle buffer, as it was put or as it was changed since, or nil
// and false.
func (t *tier) take() (b *[]byte, ok bool) {
	b, ok = t.pool.Get().(*[]byte)
	return b, ok
}

func (t *tier) give(b *[]byte) { t.pool.Put(b) }

// lend is Get off the fast path, for the b that take returned.
func (t *tier) lend(b *[]byte, length int) *[]byte {
	return t.lendSized(b, length, t.size, t.lends < 0)
}

// lendSized is lend for a tier that does not know its own size, nor whether Get
// has to wipe. A header whose capacity is no longer the tier's was changed after
// Put, which is misuse: it is left alone, and the Get is a miss.
//
// It stays out of line: inlined, it costs the fast path beside it a tenth.
//
//go:noinline
func (t *tier) lendSized(b *[]byte, length, size int, wipe bool) *[]byte {
	if b == nil || cap(*b) != size {
		b = newBuffer(length, size)
		t.misses.Add(1)
		return b
	}
	*b = (*b)[:length]
	if wipe {
		clear(*b)
	}
	return b
}

// newBuffer allocates a buffer. Its header is written at every Get; from a page up,
// it gets a cache line of its own, for a hundredth of the memory: two headers on one
// line, used by two processors, make both twice as slow.
func newBuffer(length, size int) *[]byte {
	if size >= 4096 {
		h := new(struct {
			buf []byte
			_   [64 - 3*bits.UintSize/8]byte
		})
		h.buf = make([]byte, length, size)
		return &h.buf
	}
	b := make([]byte, length, size)
	return &b
}

// Sized is a pool of one capacity. Use it where all buffers are about the same
// size: a Get of more than that size is a plain allocation.
//
// Build it with [NewSized]; the zero value panics. It must not be copied, and
// may be used by several goroutines at once.
type Sized struct {
	tier *tier
	shelf
}

// NewSized returns a pool whose buffers have a capacity of size bytes, from 1
// to 1<<46 (1<<30 on 32-bit platforms).
func NewSized(size int, opts ...Option) (*Sized, error) {
	p := new(Sized)
	if err := p.build([]int{size}, opts); err != nil {
		return nil, err
	}
	p.tier = p.tiers[0]
	return p, nil
}

// Get returns a buffer of length bytes as [BufferPool] says.
func (p *Sized) Get(length int) *[]byte {
	if t := p.tier; t != nil && uint(length) <= uint(t.size) {
		b, ok := t.take()
		if ok && cap(*b) == t.lends {
			*b = (*b)[:length]
			return b
		}
		return t.lend(b, length)
	}
	return p.getSlow(length, "Sized")
}

// Put gives back a buffer as [BufferPool] says.
func (p *Sized) Put(buf *[]byte) {
	if t := p.tier; buf != nil && t != nil && cap(*buf) == t.keeps {
		t.give(buf)
		return
	}
	p.putSlow(buf, "Sized")
}

// Sizes returns the capacity of the pool's buffers, in a slice of its own.
func (p *Sized) Sizes() []int { return slices.Clone(p.sizes) }

// Stats returns what the pool counted.
func (p *Sized) Stats() Stats { return p.statistics() }
