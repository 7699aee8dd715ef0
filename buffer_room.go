package bufpool

import "math"

// grow makes room for n more bytes at the end. It returns the buffer that the contents
// were moved from, if they had to be, for the caller to put back.
func (b *Buffer) grow(n int) (old *[]byte) {
	if b.slide(n) {
		return nil
	}
	return b.moveTo(b.larger(b.headroom, n), b.headroom)
}

// slide makes room for n more bytes at the end by moving the contents to the front, if
// they and the n bytes take half of the room at most: then more bytes were written since
// the last time than it moves.
func (b *Buffer) slide(n int) bool {
	base, have := b.base.Load(), b.Len()
	if base == nil {
		return false
	}
	room := cap(b.buf) - b.headroom
	if have > 0 && n > room/2-have || n > room {
		return false
	}
	b.moveTo(base, b.headroom)
	return true
}

// growFront makes room for n bytes in front of the contents, and as much in front of
// those as it leaves behind the contents, so that neither end moves them again soon. A
// buffer more than four fifths full is not worth that.
func (b *Buffer) growFront(n int) {
	if b.base.Load() == nil {
		b.grow(0)
	}
	if n <= b.off {
		return
	}
	base, have := b.base.Load(), b.Len()
	if n > cap(b.buf)-have-have/4 {
		base = b.larger(0, n)
	}
	b.putBack(b.moveTo(base, n+(cap(*base)-n-have)/2))
}

// larger returns a buffer with room for front bytes, the contents, and n bytes. It has
// at least a quarter more than the present one: where that is a tier's, this is the
// next in all but the finest pools, and where there are no tiers, bytes are copied four
// times at most on average.
func (b *Buffer) larger(front, n int) *[]byte {
	have := b.Len()
	if n > math.MaxInt-have-front {
		panic(ErrTooLarge)
	}
	if b.pool == nil {
		b.pool = Default()
	}
	return b.pool.Get(max(front+have+n, cap(b.buf)+cap(b.buf)/4, minBuffer))
}

// moveTo moves the contents to offset off of base, which may be the present buffer, and
// returns that if not.
func (b *Buffer) moveTo(base *[]byte, off int) (old *[]byte) {
	whole, end := (*base)[:cap(*base)], len(b.buf)
	b.buf = whole[:off+copy(whole[off:], b.buf[b.off:])]
	b.off = off
	if old = b.base.Load(); old == base {
		b.high = max(b.high, end)
		return nil
	}
	b.base.Store(base)
	b.high = 0
	return old
}

// rewind gives an empty Buffer all of its room again.
func (b *Buffer) rewind() {
	if b.base.Load() != nil {
		b.high = max(b.high, len(b.buf))
		b.buf, b.off = b.buf[:b.headroom], b.headroom
	}
}

func (b *Buffer) putBack(base *[]byte) {
	if base != nil {
		*base = (*base)[:0] // what was written is not what the pool was told
		b.pool.Put(base)
	}
}
