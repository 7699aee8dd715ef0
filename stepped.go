package bufpool

import (
	"fmt"
	"math"
	"slices"
)

// Stepped is a pool with four or eight tiers for each doubling of the size,
// evenly spaced. A buffer above the smallest tier exceeds what was asked for by
// less than a quarter, or an eighth, of that; one of [BinaryTiered] by less than
// all of it. Get and Put find their tier from the leading bits, so that the number
// of tiers costs nothing.
//
// What closer tiers save in buffers that are lent, they cost in idle ones and in
// misses: with more tiers, there is less often an idle buffer of the one that the
// next Get wants. Use it where many buffers are lent at a time.
//
// Build it with [NewStepped]; the zero value panics. It must not be copied, and
// may be used by several goroutines at once.
type Stepped struct {
	// class[step(n)] is the smallest tier that holds n bytes, or nil.
	class [maxExponent*maxSteps + 1]*tier

	shelf
}

// maxSteps is the finest division of a doubling that step tells apart.
const maxSteps = 8

// NewStepped returns a pool whose tiers are min and, from there up to max, so
// many evenly spaced ones for each doubling: with 4 steps, 4096 is followed by
// 5120, 6144, 7168 and 8192. min and max are powers of two, max at most 1<<46
// (1<<30 on 32-bit platforms), steps is 4 or 8, and min at least steps.
func NewStepped(min, max, steps int, opts ...Option) (*Stepped, error) {
	switch {
	case steps != 4 && steps != maxSteps:
		return nil, fmt.Errorf("bufpool: %d steps per doubling, want 4 or 8", steps)
	case !isPowerOfTwo(min):
		return nil, fmt.Errorf("bufpool: smallest tier %d is not a power of two", min)
	case !isPowerOfTwo(max):
		return nil, fmt.Errorf("bufpool: largest tier %d is not a power of two", max)
	case min < steps:
		return nil, fmt.Errorf("bufpool: smallest tier %d is too small for %d steps to its double", min, steps)
	case min > max:
		return nil, fmt.Errorf("bufpool: smallest tier %d is above the largest, %d", min, max)
	}
	sizes := []int{min}
	for size := min; size < max; size *= 2 {
		for i := 1; i <= steps; i++ {
			sizes = append(sizes, size+size/steps*i)
		}
	}
	p := new(Stepped)
	if err := p.build(sizes, opts); err != nil {
		return nil, err
	}
	i := uint64(0)
	for _, t := range p.tiers {
		for ; i <= step(t.size); i++ {
			p.class[i] = t
		}
	}
	return p, nil
}

func isPowerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// step numbers the lengths from 1 in steps of an eighth of a doubling: all that
// are above one multiple of an eighth, and not above the next, have one number. A
// floating-point number has it ready: the exponent and the first three bits
// behind it, once rounded up. On processors where finding the first bit of an
// integer is microcode, that makes Get+Put a tenth faster than shifting by what
// was found.
//
// A negative length and 0 have numbers beyond any table.
func step(n int) uint64 {
	const (
		low  = 52 - 3 // bits of the fraction that are not looked at
		one  = 1023 << 3
		ceil = 1<<low - 1
	)
	return (math.Float64bits(float64(n))+ceil)>>low - one
}

// tierFor returns the smallest tier of at least n bytes, or nil; also for 0.
func (p *Stepped) tierFor(n int) *tier {
	if i := step(n); i < uint64(len(p.class)) {
		return p.class[i]
	}
	return nil
}

// Get returns a buffer of length bytes as [BufferPool] says.
func (p *Stepped) Get(length int) *[]byte {
	if i := step(length); i < uint64(len(p.class)) {
		if t := p.class[i]; t != nil {
			b, ok := t.take()
			if ok && cap(*b) == t.lends {
				*b = (*b)[:length]
				return b
			}
			return t.lend(b, length)
		}
	}
	return p.getSlow(length, "Stepped")
}

// Put gives back a buffer as [BufferPool] says.
func (p *Stepped) Put(buf *[]byte) {
	if buf != nil {
		if i := step(cap(*buf)); i < uint64(len(p.class)) {
			if t := p.class[i]; t != nil && t.keeps == cap(*buf) {
				t.give(buf)
				return
			}
		}
	}
	p.putSlow(buf, "Stepped")
}

// Sizes returns the tiers, ascending, in a slice of its own.
func (p *Stepped) Sizes() []int { return slices.Clone(p.sizes) }

// Stats returns what the pool counted.
func (p *Stepped) Stats() Stats { return p.statistics() }
