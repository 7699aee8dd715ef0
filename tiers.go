package bufpool

import (
	"math"
	"slices"
)

// Tiered is a pool with tiers of any sizes, found by a linear scan. Use it for
// a few sizes, up to about seven, that were chosen for the traffic they serve;
// with more, or without such figures, [BinaryTiered] is faster.
//
// Build it with [NewTiered]; the zero value panics. It must not be copied, and
// may be used by several goroutines at once.
type Tiered struct {
	quads []quad
	shelf
}

// quad is four neighbouring tiers, for a scan that loops once for all four. The
// last one is filled up with sizes that are no buffer's capacity and no tier.
type quad [4]struct {
	size uint
	tier *tier
}

// NewTiered returns a pool with a tier for each of sizes, in bytes, each from 1
// to 1<<46 (1<<30 on 32-bit platforms). Order and duplicates do not matter, and
// sizes is not changed. A buffer is at most as many times too large as the
// widest step between neighbouring sizes.
func NewTiered(sizes []int, opts ...Option) (*Tiered, error) {
	p := new(Tiered)
	if err := p.build(sizes, opts); err != nil {
		return nil, err
	}
	p.quads = make([]quad, (len(p.tiers)+3)/4)
	for i := range 4 * len(p.quads) {
		e := &p.quads[i/4][i%4]
		if i < len(p.tiers) {
			e.size, e.tier = uint(p.sizes[i]), p.tiers[i]
		} else {
			e.size = math.MaxInt
		}
	}
	return p, nil
}

// Get returns a buffer of length bytes as [BufferPool] says. It costs one
// comparison for each tier up to the one that serves it.
func (p *Tiered) Get(length int) *[]byte {
	if t := p.smallest(uint(length)); t != nil {
		b, ok := t.take()
		if ok && cap(*b) == t.lends {
			*b = (*b)[:length]
			return b
		}
		return t.lend(b, length)
	}
	return p.getSlow(length, "Tiered")
}

// Put gives back a buffer as [BufferPool] says.
func (p *Tiered) Put(buf *[]byte) {
	if buf != nil {
		if t := p.exactly(uint(cap(*buf))); t != nil && t.keeps == cap(*buf) {
			t.give(buf)
			return
		}
	}
	p.putSlow(buf, "Tiered")
}

// smallest returns the smallest tier of at least n bytes, or nil. A negative
// length is more than any size.
func (p *Tiered) smallest(n uint) *tier {
	for i := range p.quads {
		q := &p.quads[i]
		switch {
		case n <= q[0].size:
			return q[0].tier
		case n <= q[1].size:
			return q[1].tier
		case n <= q[2].size:
			return q[2].tier
		case n <= q[3].size:
			return q[3].tier
		}
	}
	return nil
}

// exactly returns the tier of exactly c bytes, or nil.
func (p *Tiered) exactly(c uint) *tier {
	for i := range p.quads {
		q := &p.quads[i]
		switch c {
		case q[0].size:
			return q[0].tier
		case q[1].size:
			return q[1].tier
		case q[2].size:
			return q[2].tier
		case q[3].size:
			return q[3].tier
		}
	}
	return nil
}

// Sizes returns the tiers, ascending, in a slice of its own.
func (p *Tiered) Sizes() []int { return slices.Clone(p.sizes) }

// Stats returns what the pool counted.
func (p *Tiered) Stats() Stats { return p.statistics() }
