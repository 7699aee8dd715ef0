package bufpool

import "slices"

// Switch is a pool of seven fixed tiers, 4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB,
// 5 MiB and 10 MiB, found by comparisons with constants. Its buffers are up to
// five times what was asked for, and more below 820 B: prefer [BinaryTiered]
// unless these sizes are your traffic's.
//
// The zero value is ready to use and never clears. A Switch must not be copied,
// and may be used by several goroutines at once.
type Switch struct {
	tiers [len(switchSizes)]tier
	clear Clear
	counters
}

// switchSizes are the tiers of goridge's pool, which served 1, 5 and 10 MiB,
// with four more below them in steps of four: with 1 MiB as the smallest, 256
// workers held 269 MB for payloads of 200 bytes.
var switchSizes = [...]int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 5 << 20, 10 << 20}

// NewSwitch returns a Switch with options. Without any, the zero Switch is the
// same.
func NewSwitch(opts ...Option) (*Switch, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Switch{clear: c.clear}, nil
}

// Get returns a buffer of length bytes as [BufferPool] says.
func (p *Switch) Get(length int) *[]byte {
	// A branch, unlike a computed index, is not waited for. Nested this way
	// around, those that lead to the larger tiers are not even taken, which
	// keeps seven tiers nearly as cheap as one.
	n := uint(length) // a negative one is above all tiers
	t, size := &p.tiers[0], 4<<10
	if n > 4<<10 {
		t, size = &p.tiers[1], 16<<10
		if n > 16<<10 {
			t, size = &p.tiers[2], 64<<10
			if n > 64<<10 {
				t, size = &p.tiers[3], 256<<10
				if n > 256<<10 {
					t, size = &p.tiers[4], 1<<20
					if n > 1<<20 {
						t, size = &p.tiers[5], 5<<20
						if n > 5<<20 {
							t, size = &p.tiers[6], 10<<20
							if n > 10<<20 {
								return p.oversize(length)
							}
						}
					}
				}
			}
		}
	}
	b, ok := t.take()
	if ok && cap(*b) == size && p.clear != ClearOnGet {
		*b = (*b)[:length]
		return b
	}
	return t.lendSized(b, length, size, p.clear == ClearOnGet)
}

// Put gives back a buffer as [BufferPool] says.
func (p *Switch) Put(buf *[]byte) {
	if buf != nil && p.clear != ClearOnPut {
		// Each tier gives by itself: what it has in common with the others
		// would be an index to wait for.
		switch cap(*buf) {
		case 4 << 10:
			p.tiers[0].give(buf)
			return
		case 16 << 10:
			p.tiers[1].give(buf)
			return
		case 64 << 10:
			p.tiers[2].give(buf)
			return
		case 256 << 10:
			p.tiers[3].give(buf)
			return
		case 1 << 20:
			p.tiers[4].give(buf)
			return
		case 5 << 20:
			p.tiers[5].give(buf)
			return
		case 10 << 20:
			p.tiers[6].give(buf)
			return
		}
	}
	if i := place(buf, switchSizes[:], p.clear, &p.counters); i >= 0 {
		p.tiers[i].give(buf)
	}
}

// Sizes returns the tiers, ascending, in a slice of its own.
func (p *Switch) Sizes() []int { return slices.Clone(switchSizes[:]) }

// Stats returns what the pool counted.
func (p *Switch) Stats() Stats {
	s := p.counters.stats()
	for i := range p.tiers {
		s.Tiers = append(s.Tiers, TierStats{Size: switchSizes[i], Misses: p.tiers[i].misses.Load()})
	}
	return s
}
