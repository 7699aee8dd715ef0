package bufpool

import (
	"math/bits"
	"slices"
	"strconv"
)

// Local is a cache for one goroutine in front of a pool. A buffer put into it is
// lent again without any atomic operation, in less than half the time that a
// sync.Pool takes. It is for a loop that takes and gives the same few sizes, such
// as one that serves a connection.
//
// It belongs to one goroutine at a time: Get, Put and Flush must not run at once.
// A connection that is served by several goroutines needs one for each of them, or
// none. The race detector reports who does otherwise. A buffer that another
// goroutine is to put back is put into the parent, which takes it as well.
//
// What is idle in a Local is lent to no one else, and no garbage collection frees
// it: that is at most the limit, for as long as the Local lives. Call
// [Local.Flush] before a long wait and at the end. Of a Local that is dropped
// without it, the buffers are garbage, which harms nobody. Beside the limit, the
// Local takes 448 bytes, 16 for each tier of its parent, 64 or 128 for each that it
// was used for, and what each idle buffer has beside its bytes: a slice header and
// up to two pointers.
//
// It keeps only capacities that its parent says are its tiers, with a method
// Sizes() []int as all pools of this package have. Over a parent that does not say,
// it keeps nothing. All that it does not keep goes to the parent, which keeps, drops
// and counts as ever. Where the limit is reached, a buffer that is put takes the
// place of buffers of other tiers, which go to the parent; that costs as many Puts
// as it takes. So a limit below what the goroutine uses at a time is slower than
// no Local.
//
// Over a pool of this package it clears as that one does. Over any other it does
// not: what that would have cleared comes with what its last user left in it.
// Wrappers that watch Get and Put, as a checking or a metering one does, go around
// a Local; under it they would not see what it serves.
//
// Build it with [NewLocal]; the zero value panics. It must not be copied.
type Local struct {
	_ noCopy

	// rack is that of the tier used last, and serves Gets of more than above
	// and up to size; none if it has to clear them, or before the first.
	rack        *rack
	above, size int

	parent BufferPool
	limit  int
	free   int     // bytes of the limit for which no rack has a slot
	sizes  []int   // the parent's tiers, ascending
	racks  []*rack // by tier; nil for one that was never used
	inUse  []*rack // those that have slots
	hand   int     // index there of the one that gives way next

	// below[k] is how many tiers have a size with bits.Len(size-1) < k.
	below [bits.UintSize + 1]int32

	clear Clear
	ours  bool // the parent is of this package: it takes nil without harm

	_ [40]byte // up to a size class that is made of cache lines
}

// NewLocal returns a cache in front of parent, in which at most limit bytes are
// idle; a limit of 0 keeps nothing. A nil parent is the process default of this
// moment. NewLocal panics if limit is negative.
func NewLocal(parent BufferPool, limit int) *Local {
	if limit < 0 {
		panic("bufpool: negative limit " + strconv.Itoa(limit))
	}
	if isNil(parent) {
		parent = Default()
	}
	l := &Local{parent: parent, limit: limit, free: limit}
	if p, ok := parent.(interface{ clearing() Clear }); ok {
		l.clear = p.clearing() // also if it embeds one of ours
	}
	_, l.ours = own(parent)
	if p, ok := parent.(interface{ Sizes() []int }); ok {
		l.sizes = slices.DeleteFunc(slices.Clone(p.Sizes()), func(size int) bool { return size < 1 })
		slices.Sort(l.sizes)
		l.sizes = slices.Compact(l.sizes)
	}
	l.racks = make([]*rack, len(l.sizes))
	for _, size := range l.sizes {
		l.below[bits.Len(uint(size-1))+1]++
	}
	for k := range bits.UintSize {
		l.below[k+1] += l.below[k]
	}
	return l
}

// Get returns a buffer of length bytes as [BufferPool] says: one that is idle
// here, or else the parent's.
func (l *Local) Get(length int) *[]byte {
	if length > l.above && length <= l.size {
		r := l.rack
		if b := r.top; b != nil && cap(*b) == r.size {
			r.top = nil
			*b = (*b)[:length]
			return b
		}
		return l.getNext(r, length)
	}
	return l.getOther(length)
}

// Put gives back a buffer as [BufferPool] says: it is kept here, or else goes to
// the parent.
func (l *Local) Put(buf *[]byte) {
	if r := l.rack; r != nil && buf != nil && cap(*buf) == r.keeps {
		if r.top == nil {
			r.top = buf
			return
		}
		l.putNext(r, buf)
		return
	}
	l.putOther(buf)
}

// getNext is Get where the top slot of the rack used last is empty. It is out of
// line, as putNext is, for the sake of where it is not.
//
//go:noinline
func (l *Local) getNext(r *rack, length int) *[]byte {
	if n := r.n - 1; uint(n) < uint(len(r.more)) {
		if b := r.more[n]; cap(*b) == r.size {
			r.more[n] = nil
			r.n = n
			*b = (*b)[:length]
			return b
		}
	}
	return l.getFrom(r, length)
}

//go:noinline
func (l *Local) putNext(r *rack, buf *[]byte) {
	if n := r.n; uint(n) < uint(len(r.more)) {
		r.more[n] = buf
		r.n = n + 1
		return
	}
	l.putOther(buf)
}

// getOther is Get of another tier than the one used last, or of none.
func (l *Local) getOther(length int) *[]byte {
	l.mustBeBuilt()
	mustNotBeNegative(length)
	if len(l.inUse) > 0 {
		if i := l.tierFor(max(length, 1)); i < len(l.racks) && l.racks[i] != nil {
			return l.getFrom(l.turnTo(i), length)
		}
	}
	return l.parent.Get(length)
}

// getFrom is Get from a rack, whatever is in it. A buffer whose header was changed
// after Put, which is misuse, is left alone.
func (l *Local) getFrom(r *rack, length int) *[]byte {
	for b := r.take(); b != nil; b = r.take() {
		if cap(*b) == r.size {
			*b = (*b)[:length]
			if l.clear == ClearOnGet {
				clear(*b)
			}
			return b
		}
	}
	return l.parent.Get(length)
}

// putOther is Put of a buffer of another tier than the one used last, or of none,
// or where its rack has no empty slot.
func (l *Local) putOther(buf *[]byte) {
	l.mustBeBuilt()
	if buf == nil {
		if l.ours { // it counts it
			l.parent.Put(nil)
		}
		return
	}
	if c := cap(*buf); c > 0 && c <= l.limit {
		if i := l.tierFor(c); i < len(l.sizes) && l.sizes[i] == c {
			r := l.turnTo(i)
			if l.fits(r) {
				if l.clear == ClearOnPut {
					clear((*buf)[:c])
				}
				if l.makeSlot(r) {
					r.add(buf)
					return
				}
			}
		}
	}
	l.parent.Put(buf)
}

// turnTo makes the rack of a tier the one used last.
func (l *Local) turnTo(tier int) *rack {
	r := l.racks[tier]
	if r == nil {
		r = &rack{size: l.sizes[tier], keeps: -1}
		l.racks[tier] = r
	}
	l.rack = r
	if l.clear != ClearOnGet {
		l.above, l.size = -1, r.size
		if tier > 0 {
			l.above = l.sizes[tier-1]
		}
	}
	return r
}

// tierFor returns the index of the smallest tier of at least n bytes, n > 0, or
// len(l.sizes). Among the tiers of one doubling it is found by bisection; powers of
// two need none.
func (l *Local) tierFor(n int) int {
	k := bits.Len(uint(n - 1))
	low, high := l.below[k], l.below[k+1]
	for low < high {
		if mid := (low + high) / 2; l.sizes[mid] < n {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return int(low)
}

// Flush gives everything that is idle back to the parent.
func (l *Local) Flush() {
	l.mustBeBuilt()
	for len(l.inUse) > 0 {
		l.giveWay(len(l.inUse) - 1)
	}
}

// Sizes returns the parent's tiers, ascending, in a slice of its own; nil over a
// parent that does not say.
func (l *Local) Sizes() []int { return slices.Clone(l.sizes) }

// Stats returns what the parent counted, if it does: all but what was kept here
// and lent again.
func (l *Local) Stats() Stats {
	if p, ok := l.parent.(interface{ Stats() Stats }); ok {
		return p.Stats()
	}
	return Stats{}
}

func (l *Local) mustBeBuilt() {
	if l.parent == nil {
		panic("bufpool: zero Local; build it with NewLocal")
	}
}

// noCopy makes vet's copylocks find copies of what has it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// clearing is how a pool of this package clears, for a Local in front of it.

func (s *shelf) clearing() Clear  { return s.clear }
func (p *Switch) clearing() Clear { return p.clear }
func (l *Local) clearing() Clear  { return l.clear }

func (l *Local) largest() int { return largestOf(l.sizes) }
