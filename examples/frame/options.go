package frame

import (
	"strconv"

	"github.com/bufpool/bufpool"
)

// defaultMaxPayload bounds what a peer can announce. 64 MiB is more than any
// message that one slice is a good idea for.
const defaultMaxPayload = 64 << 20

// Option configures a Frame or a Conn. A nil one makes New and NewConn panic.
type Option func(*config)

type config struct {
	pool  bufpool.BufferPool
	limit int64
	keep  int
}

func newConfig(opts []Option) config {
	c := config{limit: defaultMaxPayload}
	for _, o := range opts {
		if o == nil {
			panic("frame: nil Option")
		}
		o(&c)
	}
	if c.pool == nil {
		c.pool = bufpool.Default()
	}
	return c
}

// WithBufferPool sets the pool that payloads are borrowed from: by Receive, for
// a Conn, and by AllocPayload, WritePayload and Wire, for a Frame. nil, and no
// WithBufferPool, is the pool that is the default when New or NewConn is called.
func WithBufferPool(p bufpool.BufferPool) Option {
	return func(c *config) { c.pool = p }
}

// WithMaxPayload sets the largest payload, in bytes and not counting the header,
// that a Conn receives or sends, and that a Frame's Wire writes. The default is
// 64 MiB; the format has no more than 4 GiB - 1. It panics if n is negative.
func WithMaxPayload(n int64) Option {
	if n < 0 {
		panic("frame: negative limit " + strconv.FormatInt(n, 10))
	}
	return func(c *config) { c.limit = n }
}

// WithKeep lets a Frame keep a buffer of up to so many bytes (of capacity,
// headroom included) over Reset and Receive, for connections that are known to
// be busy: a payload that fits, of up to 128 KiB, and is borrowed through the
// same Conn, or again by the frame itself, then costs no Get and Put. The pool
// does not clear the buffer in between, even if it clears what it lends or gets
// back. The default is 0: an idle connection holds no buffer. A Conn does not
// look at it. It panics if bytes is negative.
func WithKeep(bytes int) Option {
	if bytes < 0 {
		panic("frame: negative keep " + strconv.Itoa(bytes))
	}
	return func(c *config) { c.keep = bytes }
}
