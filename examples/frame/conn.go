package frame

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

	"github.com/bufpool/bufpool"
)

// Conn sends and receives frames over a stream. Send may be called by several
// goroutines at once, Receive by one at a time; they do not hinder each other.
//
// It has no buffer of its own: Receive reads exactly the bytes of a frame, in
// one Read for each of header, options and payload where they come in full, and
// in a few more for a payload above 128 KiB. Give it a bufio.Reader for many
// small frames over a real connection. What it writes to must not hold on to the
// slice after Write returns, as io.Writer demands.
type Conn struct {
	rw    io.ReadWriter
	own   *lender // not a part of Conn, which a frame must not keep alive
	limit int64

	receive broken
	send    struct {
		sync.Mutex
		broken
		both [2][]byte // for net.Buffers, so that they need not be allocated
		bufs net.Buffers
	}
}

// NewConn returns a Conn over rw.
func NewConn(rw io.ReadWriter, opts ...Option) *Conn {
	c := newConfig(opts)
	return &Conn{rw: rw, own: &lender{c.pool}, limit: c.limit}
}

// broken says of one direction whether it was left inside a frame, and is over.
type broken struct {
	inside bool  // true all through a call, so that a panic leaves it true
	err    error // of later calls; nil after a panic
}

// fail leaves the direction inside a frame, and returns err.
func (b *broken) fail(err error) error {
	b.err = fmt.Errorf("frame: an earlier call failed inside a frame: %w", err)
	return err
}

// last is the error of every call after the one that broke it.
func (b *broken) last() error {
	if b.err == nil {
		return errPanicked
	}
	return b.err
}

var errPanicked = errors.New("frame: an earlier call panicked inside a frame")

// Send writes f as one Write, or, if its payload is the caller's own memory (by
// From or Parse), as net.Buffers: one writev on a TCP or Unix connection, a Write
// of the header and one of the payload elsewhere. It borrows f until it returns;
// the payload stays f's.
//
// Above the limit ([WithMaxPayload]) the error wraps [ErrPayloadTooLarge], and
// nothing is written. After an error that left the stream inside a frame, every
// later Send returns an error that wraps it. A writer that takes less than it was
// given without saying why is io.ErrShortWrite.
func (c *Conn) Send(f *Frame) error {
	if err := f.seal(c.limit); err != nil {
		return err
	}
	c.send.Lock()
	defer c.send.Unlock()
	if c.send.inside {
		return c.send.last()
	}
	c.send.inside = true
	n, err := c.write(f)
	if err != nil && n != 0 && n != f.headerLen()+len(f.payload) {
		return c.send.fail(err)
	}
	c.send.inside = false
	return err
}

// write writes a sealed frame. The count is -1 if the writer's made no sense.
func (c *Conn) write(f *Frame) (int, error) {
	if f.buf != nil || len(f.payload) == 0 {
		return write(c.rw, f.wire())
	}
	header := f.head[:f.headerLen()]
	switch c.rw.(type) {
	case *net.TCPConn, *net.UnixConn: // which take both at once, and all of it
		s := &c.send
		s.both = [2][]byte{header, f.payload}
		s.bufs = s.both[:]
		n, err := s.bufs.WriteTo(c.rw)
		s.both, s.bufs = [2][]byte{}, nil
		return int(n), err
	}
	n, err := write(c.rw, header)
	if err != nil {
		return n, err
	}
	m, err := write(c.rw, f.payload)
	if m < 0 {
		return m, err
	}
	return n + m, err
}

// write is w.Write with a count and an error that go together.
func write(w io.Writer, b []byte) (int, error) {
	n, err := w.Write(b)
	if n < 0 || n > len(b) {
		return -1, fmt.Errorf("frame: %T returned an invalid count %d from Write", w, n)
	}
	if n < len(b) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

// Receive makes f the next frame from the stream. It resets f first, before it
// waits, so that an idle connection holds no buffer. The payload is borrowed from
// the connection's pool and is f's until its Reset or Release; f's own pool is not
// touched. With an error f is empty and holds no buffer, but one that [WithKeep]
// lets it keep; after a panic of the reader, Reset it, and the Conn receives no
// more. A reader that returns 0, nil a hundred times in a row is given up with
// io.ErrNoProgress.
//
// A length that the peer announces is not trusted: above the limit
// ([WithMaxPayload]) the error wraps [ErrPayloadTooLarge] and no buffer is taken,
// below it memory is taken as bytes arrive (see [bufpool.ReadN]), 128 KiB at the
// most before the first.
//
// The end of the stream between two frames is io.EOF, inside one
// io.ErrUnexpectedEOF. After an error that left the stream inside a frame, every
// later Receive returns an error that wraps it.
func (c *Conn) Receive(f *Frame) error {
	f.Reset()
	if c.receive.inside {
		return c.receive.last()
	}
	c.receive.inside = true
	if n, err := readFull(c.rw, f.head[:minHeader]); err != nil {
		if n != 0 {
			return c.failReceive(f, err)
		}
		c.receive.inside = false // between two frames
		f.Reset()                // the reader may have used the header for scratch
		return err
	}
	header, n, err := check(&f.head)
	if err != nil {
		return c.failReceive(f, err)
	}
	if n > c.limit || n > math.MaxInt-Headroom {
		return c.failReceive(f, fmt.Errorf("%w: %d bytes announced, the limit is %d",
			ErrPayloadTooLarge, n, min(c.limit, math.MaxInt-Headroom)))
	}
	if header > minHeader {
		if _, err := readFull(c.rw, f.head[minHeader:header]); err != nil {
			return c.failReceive(f, err)
		}
	}
	switch {
	case n == 0:
	case n <= trusted:
		if !f.fits(int(n), c.own) {
			f.putBack()
			f.adopt(c.own, c.own.pool.Get(Headroom+int(n)))
		}
		if _, err := readFull(c.rw, f.view(int(n))); err != nil {
			return c.failReceive(f, err)
		}
	default:
		f.putBack()
		b, err := bufpool.ReadN(c.own.pool, c.rw, n, Headroom)
		if err != nil {
			return c.failReceive(f, err)
		}
		f.adopt(c.own, b)
	}
	c.receive.inside = false
	return nil
}

// failReceive ends the receiving with err, which left the stream inside a frame.
func (c *Conn) failReceive(f *Frame, err error) error {
	f.Reset()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return c.receive.fail(err)
}

// trusted is how long a payload may be to take its buffer on the peer's word
// alone: what bufpool.ReadN would take. Not to call it for these saves a tenth
// of a Receive of 1 KiB.
const trusted = 128<<10 - Headroom

// maxEmptyReads is how often a reader may return 0, nil in a row.
const maxEmptyReads = 100

// readFull is io.ReadFull for readers that are not trusted: a count that makes
// no sense is an error, and -1, and a reader that brings nothing is given up with
// io.ErrNoProgress. What an io.EOF means is left to the caller.
func readFull(r io.Reader, b []byte) (int, error) {
	n, err := r.Read(b)
	if n == len(b) {
		return n, nil // nearly always
	}
	return readRest(r, b, n, err)
}

// readRest goes on after a Read that returned m and err.
func readRest(r io.Reader, b []byte, m int, err error) (n int, _ error) {
	for empty := 0; ; m, err = r.Read(b[n:]) {
		if m < 0 || m > len(b)-n {
			return -1, fmt.Errorf("frame: %T returned an invalid count %d from Read", r, m)
		}
		if n += m; n == len(b) {
			return n, nil
		}
		if m > 0 {
			empty = 0
		} else if empty++; empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
		if err != nil {
			return n, err
		}
	}
}

// Close closes the stream, if it can be closed. A Send or Receive in progress
// fails as the stream says.
func (c *Conn) Close() error {
	if closer, ok := c.rw.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
