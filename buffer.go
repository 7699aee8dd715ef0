package bufpool

import (
	"fmt"
	"io"
	"sync/atomic"
	"unicode/utf8"
)

// Buffer is a bytes.Buffer whose memory is lent by a pool: it grows from tier to
// tier, and each buffer that became too small goes back at once. It can leave room in
// front of the contents, for a header that is known only when the rest is written.
//
// The zero value is ready to use: it takes its pool, the process default, when it
// first needs memory, and stays with it. Call [Buffer.Release] in the end; until then
// the Buffer owns what the pool lent. A Buffer that is dropped without it is garbage,
// and its memory is missing from the pool. After Release the Buffer is empty and may
// be used again.
//
// The methods that bytes.Buffer has as well do what they do there, with the same results
// and errors, and panic where those do; what differs is said with each. UnreadByte and
// UnreadRune are missing, since what was read is free to be written to, and so are
// ReadRune, ReadBytes and ReadString: a bufio.Reader has them all.
//
// Slices that a Buffer returns are parts of its memory. They are valid until the next
// call of a method that writes, reads, grows, resets or releases: from then on they
// may show another user's bytes, for the memory may have gone back to the pool.
// [Buffer.Clone] and [Buffer.Detach] are for what is to stay.
//
// A Buffer belongs to one goroutine at a time, but for Release, which several may call:
// one of them gives the memory back. It must not be copied. Writes within the capacity
// cost what they cost in a bytes.Buffer, and nothing is allocated once the pool has
// warmed up.
type Buffer struct {
	pool     BufferPool             // of base; nil if there was none yet
	base     atomic.Pointer[[]byte] // what pool lent, or nil
	buf      []byte                 // (*base)[:end]; the contents end with it
	off      int                    // and start here
	high     int                    // and ended here at most, before they became shorter
	headroom int                    // and started here
	limit    limit                  // of ReadFrom
}

// maxKept is the most that Reset keeps. A page is less than an idle connection costs
// in any case, and larger buffers are worth more to others than the 30 ns of a Put and
// Get are to this one.
const maxKept = 4 << 10

// minBuffer is the least that a Buffer asks for, as a bytes.Buffer does, lest it grow
// byte by byte over a pool without tiers.
const minBuffer = 64

// NewBuffer returns an empty Buffer on p, with room for headroom bytes in front of the
// contents. A nil p is the process default of this moment. It panics if headroom is
// negative.
func NewBuffer(p BufferPool, headroom int) *Buffer {
	mustNotBeNegative(headroom)
	if isNil(p) {
		p = Default()
	}
	return &Buffer{pool: p, headroom: headroom}
}

// Bytes returns the contents: what was written and not yet read. The slice ends where
// they end; use [Buffer.AvailableBuffer] to append in place.
func (b *Buffer) Bytes() []byte { return b.buf[b.off:len(b.buf):len(b.buf)] }

// String returns a copy of the contents, and "<nil>" for a nil Buffer.
func (b *Buffer) String() string {
	if b == nil {
		return "<nil>"
	}
	return string(b.buf[b.off:])
}

// Clone returns a copy of the contents that is the caller's and of no pool. Return it
// where returning Bytes would return memory that Release gives to others.
func (b *Buffer) Clone() []byte { return append([]byte{}, b.buf[b.off:]...) }

// Len returns the length of the contents.
func (b *Buffer) Len() int { return len(b.buf) - b.off }

// Cap returns the capacity of the buffer that the pool lent, headroom included.
func (b *Buffer) Cap() int { return cap(b.buf) }

// Available returns how many bytes can be written without growing: what is behind the
// contents. Neither the headroom nor what was read is in it.
func (b *Buffer) Available() int { return cap(b.buf) - len(b.buf) }

// AvailableBuffer returns an empty slice of capacity Available, to append to and pass
// to an immediately following Write, which then copies nothing.
func (b *Buffer) AvailableBuffer() []byte { return b.buf[len(b.buf):] }

// Write appends p. The error is always nil. It panics if there is no memory, as Grow
// does.
func (b *Buffer) Write(p []byte) (int, error) {
	end := len(b.buf)
	if len(p) > cap(b.buf)-end {
		b.writeMore(p)
		return len(p), nil
	}
	b.buf = b.buf[:end+len(p)]
	return copy(b.buf[end:], p), nil
}

// writeMore is Write where there is no room. What had no room goes back last: p may be
// a part of it.
func (b *Buffer) writeMore(p []byte) {
	old := b.grow(len(p))
	b.buf = append(b.buf, p...)
	b.putBack(old)
}

// WriteString appends s, as Write does.
func (b *Buffer) WriteString(s string) (int, error) {
	if len(s) > cap(b.buf)-len(b.buf) {
		b.Grow(len(s))
	}
	b.buf = append(b.buf, s...)
	return len(s), nil
}

// WriteByte appends c, as Write does.
func (b *Buffer) WriteByte(c byte) error {
	if len(b.buf) == cap(b.buf) {
		b.Grow(1)
	}
	b.buf = append(b.buf, c)
	return nil
}

// WriteRune appends the UTF-8 encoding of r, as Write does, and returns its length.
func (b *Buffer) WriteRune(r rune) (int, error) {
	if cap(b.buf)-len(b.buf) < utf8.UTFMax {
		b.Grow(utf8.UTFMax)
	}
	end := len(b.buf)
	b.buf = utf8.AppendRune(b.buf, r)
	return len(b.buf) - end, nil
}

// Read reads up to len(p) bytes. The error is io.EOF if there are none and p is not
// empty, otherwise nil.
func (b *Buffer) Read(p []byte) (int, error) {
	if b.Len() == 0 {
		b.rewind()
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, b.buf[b.off:])
	b.off += n
	return n, nil
}

// ReadByte reads one byte. The error is io.EOF if there is none.
func (b *Buffer) ReadByte() (byte, error) {
	if b.Len() == 0 {
		b.rewind()
		return 0, io.EOF
	}
	c := b.buf[b.off]
	b.off++
	return c, nil
}

// Next reads n bytes, or all if there are fewer, and returns them in place. It panics if
// n is negative.
func (b *Buffer) Next(n int) []byte {
	mustNotBeNegative(n)
	start := b.off
	b.off += min(n, b.Len())
	return b.buf[start:b.off:b.off]
}

// Peek returns the next n bytes in place without reading them, and io.EOF with fewer
// if there are not so many. It panics if n is negative.
func (b *Buffer) Peek(n int) ([]byte, error) {
	mustNotBeNegative(n)
	if n > b.Len() {
		return b.Bytes(), io.EOF
	}
	return b.buf[b.off : b.off+n : b.off+n], nil
}

// WriteTo writes the contents to w with one Write, and reads what w took.
// A short count without an error is io.ErrShortWrite. It panics, with the contents
// as they were, if w says that it took more than it got, or fewer than no bytes.
func (b *Buffer) WriteTo(w io.Writer) (int64, error) {
	n := b.Len()
	if n > 0 {
		m, err := w.Write(b.Bytes())
		mustBeCount(w, "Write", m, n)
		b.off += m
		if err == nil && m < n {
			err = io.ErrShortWrite
		}
		if err != nil {
			return int64(m), err
		}
	}
	b.rewind()
	return int64(n), nil
}

// Truncate discards all but the first n bytes of the contents. It panics if there are
// fewer, or if n is negative.
func (b *Buffer) Truncate(n int) {
	if n < 0 || n > b.Len() {
		panic(fmt.Sprintf("bufpool: Truncate of %d bytes to %d", b.Len(), n))
	}
	if n == 0 {
		b.rewind()
		return
	}
	b.high = max(b.high, len(b.buf))
	b.buf = b.buf[:b.off+n]
}

// Reset empties the Buffer. It keeps the memory if that is at most 4 KiB, headroom
// included, for what is written next, with the old bytes in it, and gives back more
// than that: one large message does not make a large Buffer for ever.
func (b *Buffer) Reset() {
	if cap(b.buf) > maxKept {
		b.Release()
		return
	}
	b.rewind()
}

// Release gives the memory back to the pool and leaves the Buffer empty. Slices that
// the Buffer returned are no longer valid. Another Release does nothing.
func (b *Buffer) Release() {
	base := b.base.Load()
	if base == nil || !b.base.CompareAndSwap(base, nil) {
		return
	}
	b.buf, b.off, b.high = nil, 0, 0
	b.putBack(base)
}

// Detach hands the memory to the caller, who owns it from here on, and leaves the
// Buffer empty: put it into the pool of the Buffer when it is no longer needed. The
// contents are the last Len bytes of the slice, which starts with the headroom,
// less what was prepended. It returns nil if the Buffer has no memory.
//
// The contents are moved if some of what was in front of them was read. If they were
// longer once, and had not to be moved since, they are copied to another buffer of the
// pool: in a checked one, old bytes behind the length would be an overrun.
func (b *Buffer) Detach() *[]byte {
	if b.base.Load() == nil {
		return nil
	}
	if b.off > b.headroom {
		b.moveTo(b.base.Load(), b.headroom)
	}
	if b.high > len(b.buf) {
		b.putBack(b.moveTo(b.pool.Get(len(b.buf)), b.off))
	}
	base := b.base.Swap(nil)
	*base = b.buf
	b.buf, b.off, b.high = nil, 0, 0
	return base
}

// Prepend puts n bytes in front of the contents and returns them, to be filled in:
// until then they are arbitrary. As long as there is room, headroom or what was read,
// nothing is moved; otherwise the contents are.
//
// It panics if n is negative, or as Grow does.
func (b *Buffer) Prepend(n int) []byte {
	mustNotBeNegative(n)
	if n > b.off {
		b.growFront(n)
	}
	b.off -= n
	return b.buf[b.off : b.off+n : b.off+n]
}

// Grow makes room for n more bytes to be written. It panics if n is negative; with
// [ErrTooLarge] if so many cannot be counted, and as Get does if they cannot be
// allocated. The Buffer is then as it was.
func (b *Buffer) Grow(n int) {
	mustNotBeNegative(n)
	if n > cap(b.buf)-len(b.buf) {
		b.putBack(b.grow(n))
	}
}
