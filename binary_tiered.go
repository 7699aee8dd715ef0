package bufpool

import (
	"fmt"
	"math/bits"
	"slices"
)

// BinaryTiered is a pool whose tiers are powers of two. Get and Put find theirs
// by one look-up in a table, so that the number of tiers costs nothing. With a
// tier for each power of two, a buffer above the smallest tier is less than twice
// what was asked for; [Stepped] stays closer.
//
// Build it with [NewBinaryTiered]; the zero value panics. It must not be
// copied, and may be used by several goroutines at once.
type BinaryTiered struct {
	// class[k] is the smallest tier that holds 1<<k bytes, or nil.
	class [bits.UintSize + 1]*tier

	// exact[i] is the tier whose size has powerIndex i, or nil.
	exact [64]*tier

	shelf
}

// NewBinaryTiered returns a pool with a tier of 1<<e bytes for each of
// exponents, each from 0 to 46 (30 on 32-bit platforms). Order and duplicates do
// not matter, and exponents is not changed. [Exponents] makes the list.
func NewBinaryTiered(exponents []uint8, opts ...Option) (*BinaryTiered, error) {
	sizes := make([]int, len(exponents))
	for i, e := range exponents {
		if e > maxExponent {
			return nil, fmt.Errorf("bufpool: tier exponent %d is above %d", e, maxExponent)
		}
		sizes[i] = 1 << e
	}
	p := new(BinaryTiered)
	if err := p.build(sizes, opts); err != nil {
		return nil, err
	}
	k := 0
	for _, t := range p.tiers {
		for ; k < bits.Len(uint(t.size)); k++ {
			p.class[k] = t
		}
		p.exact[powerIndex(t.size)] = t
	}
	return p, nil
}

// Exponents lists the exponents of the powers of two from min to max bytes,
// both included, for [NewBinaryTiered]. The list is empty if there are none.
func Exponents(min, max int) []uint8 {
	var e []uint8
	for k := 0; k < bits.UintSize-1 && 1<<k <= max; k++ {
		if 1<<k >= min {
			e = append(e, uint8(k))
		}
	}
	return e
}

// tierFor returns the smallest tier of at least n bytes, or nil. It finds none
// for n == 0: n-1 wraps around there as it does for a negative n.
func (p *BinaryTiered) tierFor(n int) *tier {
	return p.class[bits.Len(uint(n-1))]
}

// powerIndex numbers the powers of two. That of any other c is as good as random,
// and the size found there is then another. The six highest bits of the constant
// (a de Bruijn sequence) are different ones after each shift, and multiplying is
// several times faster than finding a bit, where that is microcode.
func powerIndex(c int) int {
	return int(uint64(c) * 0x03f79d71b4ca8b09 >> 58)
}

// Get returns a buffer of length bytes as [BufferPool] says.
func (p *BinaryTiered) Get(length int) *[]byte {
	if t := p.tierFor(length); t != nil {
		b, ok := t.take()
		if ok && cap(*b) == t.lends {
			*b = (*b)[:length]
			return b
		}
		return t.lend(b, length)
	}
	return p.getSlow(length, "BinaryTiered")
}

// Put gives back a buffer as [BufferPool] says.
func (p *BinaryTiered) Put(buf *[]byte) {
	if buf != nil {
		c := cap(*buf)
		if t := p.exact[powerIndex(c)]; t != nil && t.keeps == c {
			t.give(buf)
			return
		}
	}
	p.putSlow(buf, "BinaryTiered")
}

// Sizes returns the tiers, ascending, in a slice of its own.
func (p *BinaryTiered) Sizes() []int { return slices.Clone(p.sizes) }

// Stats returns what the pool counted.
func (p *BinaryTiered) Stats() Stats { return p.statistics() }
