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
// small frames over a real connection. What it
// writes to must not hold on to the slice after Write returns, as io.Writer
// demands.
type Conn struct {
	rw    io.ReadWriter
	own   *lender // not a part of Conn, which a frame must not keep alive
	limit int64

	receive struct {
		err  error // of what left the stream inside a frame
		head [maxHeader]byte
	}
	send struct {
		sync.Mutex
		err  error     // likewise
		both [2][]byte // for net.Buffers, so that they need not be allocated
		bufs net.Buffers
	}
}

// NewConn returns a Conn over rw.
func NewConn(rw io.ReadWriter, opts ...Option) *Conn {
	c := newConfig(opts)
	return &Conn{rw: rw, own: &lender{c.pool}, limit: c.limit}
}

// Errors of what did not return.
var (
	errReceivePanicked = errors.New("frame: an earlier Receive panicked inside a frame")
	errSendPanicked    = errors.New("frame: an earlier Send panicked inside a frame")
)

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
	c.send.err = errSendPanicked // unless what follows returns
	n, err := c.write(f)
	c.send.err = nil
	if err != nil && n != 0 && n != f.headerLen()+len(f.payload) {
		c.send.err = fmt.Errorf("frame: an earlier Send failed inside a frame: %w", err)
	}
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
// lets it keep.
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
	if c.receive.err != nil {
		return c.receive.err
	}
	c.receive.err = errReceivePanicked // unless what follows returns
	n, err := c.receiveInto(f)
	c.receive.err = nil
	if err != nil && n != 0 {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		c.receive.err = fmt.Errorf("frame: an earlier Receive failed inside a frame: %w", err)
	}
	return err
}

// receiveInto makes f, which is empty, the next frame, once all of it is there.
// The count is 0 if there was an error and not one byte was read.
func (c *Conn) receiveInto(f *Frame) (int, error) {
	head := &c.receive.head
	if n, err := readFull(c.rw, head[:minHeader]); err != nil {
		return n, err
	}
	header, n, err := check(head)
	if err != nil {
		return minHeader, err
	}
	if n > c.limit || n > math.MaxInt-Headroom {
		return minHeader, fmt.Errorf("%w: %d bytes announced, the limit is %d",
			ErrPayloadTooLarge, n, min(c.limit, math.MaxInt-Headroom))
	}
	if header > minHeader {
		if _, err := readFull(c.rw, head[minHeader:header]); err != nil {
			return minHeader, err
		}
	}
	switch {
	case n == 0:
	case f.fits(int(n), c.own):
		if _, err := readFull(c.rw, (*f.buf)[:cap(*f.buf)][Headroom:Headroom+int(n)]); err != nil {
			return header, err
		}
		f.view(int(n))
	default:
		f.putBack()
		b, err := bufpool.ReadN(c.own.pool, c.rw, n, Headroom)
		if err != nil {
			return header, err
		}
		f.adopt(c.own, b)
	}
	copy(f.head[:], head[:header])
	return header, nil
}

// maxEmptyReads is how often a reader may return 0, nil in a row.
const maxEmptyReads = 100

// readFull is io.ReadFull for readers that are not trusted: a count that makes
// no sense is an error, and -1, and a reader that brings nothing is given up with
// io.ErrNoProgress.
func readFull(r io.Reader, b []byte) (int, error) {
	for n, empty := 0, 0; ; {
		m, err := r.Read(b[n:])
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
		if err == io.EOF && n > 0 {
			err = io.ErrUnexpectedEOF
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
