package rivals

import (
	"slices"

	"github.com/valyala/bytebufferpool"
)

// ByteBufferPool is valyala's pool: one sync.Pool of buffers that are grown by
// those who use them, so a length may meet a buffer that is too small, or one
// far too large.
//
// It does not clear. It keeps anything until it has seen some 42000 buffers of
// one size class put back; from then on it drops those whose capacity is above
// the 95th percentile of the lengths seen.
func ByteBufferPool() Spec[*bytebufferpool.ByteBuffer] {
	return Spec[*bytebufferpool.ByteBuffer]{
		Name:   "bytebufferpool",
		Module: "github.com/valyala/bytebufferpool",
		New:    func(int) Pool[*bytebufferpool.ByteBuffer] { return new(byteBuffers) },
		Bytes:  (*bytebufferpool.ByteBuffer).Bytes,
		Handle: func(b []byte) *bytebufferpool.ByteBuffer { return &bytebufferpool.ByteBuffer{B: b} },

		// It grows a buffer by copying what was in it.
		Disguises: true,
	}
}

type byteBuffers struct{ bytebufferpool.Pool }

// Get lends an empty buffer extended to length, as one does to read into it.
func (p *byteBuffers) Get(length int) *bytebufferpool.ByteBuffer {
	b := p.Pool.Get()
	b.B = slices.Grow(b.B, length)[:length]
	return b
}
