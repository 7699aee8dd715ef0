package bufpool

import "sync/atomic"

// Stats is what a pool counted since it was built. Only slow paths count, so
// that a hit costs nothing for it, and only calls that succeeded are counted.
// The counters are read one after the other, not all at one instant.
type Stats struct {
	// Tiers has one entry for each tier, ascending by Size.
	Tiers []TierStats

	// OversizedGets is how many Gets asked for more than the largest tier.
	OversizedGets uint64

	// Dropped is how many Puts the pool did not keep, by reason.
	Dropped struct {
		Empty      uint64 // nil, or without capacity
		Undersized uint64 // capacity below the smallest tier
		Between    uint64 // capacity between two tiers
		Oversized  uint64 // capacity above the largest tier
	}
}

// TierStats is what one tier counted.
type TierStats struct {
	Size   int    // capacity of its buffers, in bytes
	Misses uint64 // Gets that had to allocate
}

// counters are a pool's own, beside those of its tiers. Hits touch none, and
// the padding keeps those who do off the cache lines that hits read.
type counters struct {
	_                                     [64]byte
	oversizedGets                         atomic.Uint64
	empty, undersized, between, oversized atomic.Uint64
}

// oversize is Get for a length that no tier holds, or a negative one.
func (c *counters) oversize(length int) *[]byte {
	mustNotBeNegative(length)
	b := make([]byte, length)
	c.oversizedGets.Add(1)
	return &b
}

// drop counts a buffer that no tier keeps. next is the smallest tier above its
// capacity, among n tiers counted from 0; n if there is none.
func (c *counters) drop(capacity, next, n int) {
	switch {
	case capacity == 0:
		c.empty.Add(1)
	case next == 0:
		c.undersized.Add(1)
	case next < n:
		c.between.Add(1)
	default:
		c.oversized.Add(1)
	}
}

func (c *counters) stats() (s Stats) {
	s.OversizedGets = c.oversizedGets.Load()
	s.Dropped.Empty = c.empty.Load()
	s.Dropped.Undersized = c.undersized.Load()
	s.Dropped.Between = c.between.Load()
	s.Dropped.Oversized = c.oversized.Load()
	return s
}
