package frame

import (
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
// two Reads where they come in full (header and payload), or three with options.
// Give it a bufio.Reader for many small frames over a real connection. What it
// writes to must not hold on to the slice after Write returns, as io.Writer
// demands.
type Conn struct {
	rw    io.ReadWriter
	pool  bufpool.BufferPool
	limit int64

	receiveErr error // of what left the stream inside a frame

	send struct {
		sync.Mutex
		err  error
		both [2][]byte // for net.Buffers, so that they need not be allocated
		bufs net.Buffers
	}
}

// NewConn returns a Conn over rw.
func NewConn(rw io.ReadWriter, opts ...Option) *Conn {
	c := newConfig(opts)
	return &Conn{rw: rw, pool: c.pool, limit: c.limit}
}

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
	if c.send.err != nil {
		return c.send.err
	}
	var n int
	var err error
	size := f.headerLen() + len(f.payload)
	if f.buf != nil || len(f.payload) == 0 {
		n, err = write(c.rw, f.wire())
	} else {
		n, err = c.sendBoth(f.head[:f.headerLen()], f.payload)
	}
	if err != nil && n != 0 && n != size {
		c.send.err = fmt.Errorf("frame: an earlier Send failed inside a frame: %w", err)
	}
	return err
}

// sendBoth writes two slices, which stay as they are.
func (c *Conn) sendBoth(header, payload []byte) (int, error) {
	if _, ok := c.rw.(net.Conn); !ok {
		n, err := write(c.rw, header)
		if err != nil {
			return n, err
		}
		m, err := write(c.rw, payload)
		return n + m, err
	}
	s := &c.send
	s.both = [2][]byte{header, payload}
	s.bufs = s.both[:]
	n, err := s.bufs.WriteTo(c.rw)
	s.both, s.bufs = [2][]byte{}, nil
	if err == nil && n < int64(len(header)+len(payload)) {
		err = io.ErrShortWrite
	}
	return int(n), err
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
// touched. With an error f is empty and holds no buffer.
//
// A length that the peer announces is not trusted: above the limit
// ([WithMaxPayload]) the error wraps [ErrPayloadTooLarge] and no buffer is taken,
// below it memory is taken as bytes arrive (see [bufpool.ReadN]).
//
// The end of the stream between two frames is io.EOF, inside one
// io.ErrUnexpectedEOF. After an error that left the stream inside a frame, every
// later Receive returns an error that wraps it.
func (c *Conn) Receive(f *Frame) error {
	f.Reset()
	if c.receiveErr != nil {
		return c.receiveErr
	}
	if n, err := readFull(c.rw, f.head[:minHeader]); err != nil {
		if n == 0 {
			return err // between two frames
		}
		return c.broken(f, err)
	}
	header, n, err := check(&f.head)
	if err != nil {
		return c.broken(f, err)
	}
	if n > c.limit || n > math.MaxInt-Headroom {
		return c.broken(f, fmt.Errorf("%w: %d bytes announced, the limit is %d",
			ErrPayloadTooLarge, n, min(c.limit, math.MaxInt-Headroom)))
	}
	if header > minHeader {
		if _, err := readFull(c.rw, f.head[minHeader:header]); err != nil {
			return c.broken(f, err)
		}
	}
	if n == 0 {
		return nil
	}
	if f.fits(int(n)) {
		if _, err := readFull(c.rw, f.view(int(n))); err != nil {
			return c.broken(f, err)
		}
		return nil
	}
	f.putBack()
	b, err := bufpool.ReadN(c.pool, c.rw, n, Headroom)
	if err != nil {
		return c.broken(f, err)
	}
	f.adopt(c.pool, b)
	return nil
}

// broken ends the receiving: err left the stream inside a frame.
func (c *Conn) broken(f *Frame, err error) error {
	f.Reset()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	c.receiveErr = fmt.Errorf("frame: an earlier Receive failed inside a frame: %w", err)
	return err
}

// readFull is io.ReadFull, quicker where one Read has it all.
func readFull(r io.Reader, b []byte) (int, error) {
	n, err := r.Read(b)
	if n == len(b) {
		return n, nil
	}
	if n < 0 || n > len(b) {
		return -1, fmt.Errorf("frame: %T returned an invalid count %d from Read", r, n)
	}
	if err == nil {
		var m int
		m, err = io.ReadFull(r, b[n:])
		n += m
	}
	if err == io.EOF && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close closes the stream, if it can be closed. A Send or Receive in progress
// fails as the stream says.
func (c *Conn) Close() error {
	if closer, ok := c.rw.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
