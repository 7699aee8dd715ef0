// Package frame is a codec for length-prefixed frames whose payload is a pooled
// buffer. It shows what package bufpool is for, and is small enough to copy.
//
// A payload starts [Headroom] bytes into its buffer, and the header is written
// into that room when the frame is sent: so a frame leaves as one slice in one
// Write, without a copy of the payload or a buffer for the header. A received
// payload lies the same way, and can be sent on as it is.
//
// # Wire format
//
// That of goridge v4, little-endian:
//
//	byte 0       version (high 4 bits), length of the header in words of 4 bytes (low 4 bits), 3 to 13
//	byte 1       flags
//	bytes 2–5    length of the payload, without the header
//	bytes 6–9    CRC-32 (IEEE) of bytes 0–5
//	bytes 10–11  stream bits
//	then         up to 10 options of 4 bytes
//	then         the payload
//
// The payload has no checksum.
//
// # Ownership
//
// A [Frame] owns its payload's buffer and gives it back to the pool that lent
// it; what [Frame.Payload], [Frame.AllocPayload] and [Frame.Wire] return is on
// loan until the frame's next write, Receive, Reset or Release. [Conn.Send]
// borrows the frame until it returns, [Conn.Receive] fills it. [Frame.Detach]
// hands the buffer to the caller. Memory that the caller brought, by [From] or
// [Parse], is borrowed by the frame and never enters a pool.
package frame

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/bufpool/bufpool"
)

// Frame is a header and a payload. It belongs to one goroutine at a time; only
// Release may be called by several at once. The zero Frame is empty and uses the
// default pool; [New] takes options. It must not be copied.
type Frame struct {
	// head is the header as it was received or set, of headerLen bytes. Its
	// length, checksum and number of words are completed by seal.
	head    [maxHeader]byte
	payload []byte

	// buf, if not nil, holds the payload after Headroom, or is kept for the
	// next one of the same lender, which gets it back.
	buf    *[]byte
	lender *lender

	own     lender // without a pool in the zero Frame
	limit   int64  // of Wire
	keep    int
	options [maxOptions]uint32 // what Options returns

	releasing sync.Mutex
}

// lender is a pool as one frame or connection was given it. Its address tells
// who lent a buffer, as the pool itself could not: it need not be comparable.
type lender struct{ pool bufpool.BufferPool }

// New returns an empty frame.
func New(opts ...Option) *Frame {
	c := newConfig(opts)
	return &Frame{own: lender{c.pool}, limit: c.limit, keep: c.keep}
}

// From returns a frame of a header and a payload that the caller brings. The
// header is copied. The payload is borrowed and must stay as it is until the
// frame is Reset or Released. Neither slice is ever written to, nor given to a
// pool.
//
// The header must have 12 to 52 bytes, as many as its first byte says, or the
// error wraps [ErrHeader]. Its length of payload and its checksum are not looked
// at: they are made anew when the frame is sent.
func From(header, payload []byte) (*Frame, error) {
	if n := len(header); n < minHeader || n > maxHeader || n != int(header[0]&wordsMask)*4 {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrHeader, n)
	}
	f := &Frame{own: lender{bufpool.Default()}, limit: math.MaxUint32, payload: payload}
	copy(f.head[:], header)
	return f, nil
}

// Parse returns the frame that data is, borrowing its payload as [From] does.
// data must be exactly one frame: with too few bytes the error wraps both
// [ErrHeader] and io.ErrUnexpectedEOF, with too many [ErrHeader].
func Parse(data []byte) (*Frame, error) {
	header, payload, err := split(data)
	if err != nil {
		return nil, err
	}
	return From(header, payload)
}

// AllocPayload replaces the payload by n bytes, and returns them to be filled in
// place. Their contents are arbitrary, unless the frame's pool clears and
// [WithKeep] does not bypass it. An empty payload takes no buffer.
//
// It panics if n is negative, and as the pool's Get does if n is beyond any
// allocation; no buffer is lost.
func (f *Frame) AllocPayload(n int) []byte {
	mustBeLength(n)
	f.init()
	if f.fits(n, &f.own) {
		return f.view(n)
	}
	f.putBack()
	if n > 0 {
		f.adopt(&f.own, f.own.pool.Get(Headroom+n))
	}
	return f.payload
}

// WritePayload replaces the payload by a copy of p. That may be a part of the
// payload that there is.
func (f *Frame) WritePayload(p []byte) {
	f.init()
	if f.fits(len(p), &f.own) {
		copy(f.view(len(p)), p)
		return
	}
	old, from := f.buf, f.lender
	f.buf, f.lender, f.payload = nil, nil, nil
	if old != nil {
		defer from.pool.Put(old) // not before p is copied
	}
	copy(f.AllocPayload(len(p)), p)
}

// Payload returns the payload, on loan until the next write, Receive, Reset or
// Release of the frame.
func (f *Frame) Payload() []byte { return f.payload }

// Wire completes the header and returns the whole frame as one slice, on loan as
// [Frame.Payload] is; never put it. The payload is not copied, unless it is the
// caller's own, by From or Parse: that is copied into a pooled buffer first,
// once.
//
// A payload above the limit of the frame is an error that wraps
// [ErrPayloadTooLarge]. The limit is what [WithMaxPayload] says to New, 64 MiB
// by default and in the zero Frame, and what the format can say for a frame by
// From or Parse.
func (f *Frame) Wire() ([]byte, error) {
	f.init()
	if err := f.seal(f.limit); err != nil {
		return nil, err
	}
	if f.buf == nil && len(f.payload) > 0 {
		f.WritePayload(f.payload)
	}
	return f.wire(), nil
}

// wire returns a sealed frame whose payload, if it has any, is pooled.
func (f *Frame) wire() []byte {
	h := f.headerLen()
	if len(f.payload) == 0 {
		return f.head[:h:h]
	}
	w := (*f.buf)[Headroom-h:]
	copy(w, f.head[:h])
	return w
}

// Reset makes the frame empty, header and payload. The buffer goes back to the
// pool that lent it, unless [WithKeep] lets the frame keep it. Repeating it is
// harmless.
func (f *Frame) Reset() {
	f.head = [maxHeader]byte{}
	if f.buf != nil && cap(*f.buf) <= f.keep {
		f.payload = nil
		return
	}
	f.putBack()
}

// Release is the last Reset: it keeps nothing. Repeating it is harmless, and so
// is calling it from several goroutines at once, as two that close a connection
// may. A frame can be used again after it.
func (f *Frame) Release() {
	f.releasing.Lock()
	defer f.releasing.Unlock()
	f.head = [maxHeader]byte{}
	f.putBack()
}

// Detach hands the payload's buffer to the caller, with a length of Headroom and
// the payload, and leaves the frame without payload. It returns nil if there is
// none, or if it is not pooled. The caller may give the buffer back to the pool
// that lent it: the connection's for a received payload, otherwise the frame's.
func (f *Frame) Detach() *[]byte {
	if len(f.payload) == 0 {
		return nil // and if there is a buffer, it is a kept one
	}
	b := f.buf
	f.buf, f.lender, f.payload = nil, nil, nil
	return b
}

// fits reports whether a payload of n bytes goes into a buffer that the frame
// may keep, and that is from the right lender.
func (f *Frame) fits(n int, from *lender) bool {
	return f.buf != nil && f.lender == from && cap(*f.buf) <= f.keep && n <= cap(*f.buf)-Headroom
}

// view makes the payload the n bytes after the headroom of buf.
func (f *Frame) view(n int) []byte {
	*f.buf = (*f.buf)[:Headroom+n]
	f.payload = (*f.buf)[Headroom:]
	return f.payload
}

// adopt takes over b, which from lent.
func (f *Frame) adopt(from *lender, b *[]byte) {
	f.buf, f.lender = b, from
	f.payload = (*b)[Headroom:]
}

// putBack leaves the frame without payload and buffer.
func (f *Frame) putBack() {
	b, from := f.buf, f.lender
	f.buf, f.lender, f.payload = nil, nil, nil
	if b != nil {
		if f.keep > 0 {
			*b = (*b)[:0] // it was longer for a frame before, for all that its length says
		}
		from.pool.Put(b) // the handle that Get returned, never the view
	}
}

// init gives the zero Frame what New gives.
func (f *Frame) init() {
	if f.own.pool == nil {
		f.own.pool, f.limit = bufpool.Default(), defaultMaxPayload
	}
}

func mustBeLength(n int) {
	if n < 0 {
		panic("frame: negative length " + strconv.Itoa(n))
	}
	if n > math.MaxInt-Headroom {
		panic("frame: length " + strconv.Itoa(n) + " is too large")
	}
}
