package bufpool

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// shelf is what the pools have in common: their tiers and everything off the
// fast path. What sets them apart is how they find a tier.
type shelf struct {
	sizes []int   // ascending
	tiers []*tier // tiers[i].size == sizes[i]
	clear Clear
	counters
}

// build makes a tier for each of sizes, which it copies, sorts and rids of
// duplicates.
func (s *shelf) build(sizes []int, opts []Option) error {
	c, err := newConfig(opts)
	if err != nil {
		return err
	}
	if len(sizes) == 0 {
		return errors.New("bufpool: no tiers")
	}
	sizes = slices.Clone(sizes)
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	if least := sizes[0]; least < 1 {
		return fmt.Errorf("bufpool: tier size %d is below 1", least)
	}
	if most := sizes[len(sizes)-1]; most > maxSize {
		return fmt.Errorf("bufpool: tier size %d is above %d", most, maxSize)
	}
	s.sizes, s.clear = sizes, c.clear
	s.tiers = make([]*tier, len(sizes))
	for i, size := range sizes {
		t := &tier{size: size, lends: size, keeps: size}
		switch c.clear {
		case ClearOnGet:
			t.lends = -1
		case ClearOnPut:
			t.keeps = -1
		}
		s.tiers[i] = t
	}
	return nil
}

// maxExponent bounds the tiers: 64 TiB, beyond any machine and still far from
// where the arithmetic of a length would overflow; 1 GiB where an int has 32
// bits, for 1<<31 is no int there.
const (
	maxExponent = 46 - 16*(1-bits.UintSize>>6)
	maxSize     = 1 << maxExponent
)

// getSlow is Get where the search found no tier for length. name is that of the
// pool's type, for the panic of its zero value.
func (s *shelf) getSlow(length int, name string) *[]byte {
	s.mustBeBuilt(name)
	if length == 0 { // BinaryTiered's search finds no tier for 0
		t := s.tiers[0]
		b, _ := t.take()
		return t.lend(b, 0)
	}
	return s.oversize(length)
}

// putSlow is Put where the fast path did not keep buf: in a clearing pool, or
// because no tier has its capacity.
func (s *shelf) putSlow(buf *[]byte, name string) {
	s.mustBeBuilt(name)
	if i := place(buf, s.sizes, s.clear, &s.counters); i >= 0 {
		s.tiers[i].give(buf)
	}
}

// place clears buf if mode says so and returns the index in sizes of the tier
// that keeps it, or counts why none does and returns -1.
func place(buf *[]byte, sizes []int, mode Clear, c *counters) int {
	capacity := 0
	if buf != nil {
		capacity = cap(*buf)
		if mode == ClearOnPut {
			clear((*buf)[:capacity])
		}
	}
	i, found := slices.BinarySearch(sizes, capacity)
	if !found {
		c.drop(capacity, i, len(sizes))
		return -1
	}
	return i
}

func (s *shelf) mustBeBuilt(name string) {
	if len(s.tiers) == 0 {
		panic("bufpool: zero " + name + "; build it with New" + name)
	}
}

// largest returns the largest tier, 0 if there is none.
func (s *shelf) largest() int { return largestOf(s.sizes) }

func largestOf(sizes []int) int {
	if len(sizes) == 0 {
		return 0
	}
	return sizes[len(sizes)-1]
}

func (s *shelf) statistics() Stats {
	st := s.counters.stats()
	for _, t := range s.tiers {
		st.Tiers = append(st.Tiers, TierStats{Size: t.size, Misses: t.misses.Load()})
	}
	return st
}
