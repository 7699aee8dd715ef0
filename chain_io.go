package bufpool

import (
	"fmt"
	"io"
	"net"
)

// Write appends a copy of p, in the last chunk as far as there is room. The error is
// always nil. It panics as the pool's Get does, with what was appended so far in the
// Chain.
func (c *Chain) Write(p []byte) (int, error) {
	s := c.live()
	if data := s.tail(); data != nil && len(p) <= cap(*data)-len(*data) {
		*data = append(*data, p...)
		s.length += len(p)
		return len(p), nil
	}
	return write(s, p), nil
}

// WriteString appends s, as Write does.
func (c *Chain) WriteString(s string) (int, error) { return write(c.live(), s), nil }

// WriteByte appends b, as Write does.
func (c *Chain) WriteByte(b byte) error {
	s := c.live()
	data := s.tail()
	if data == nil || len(*data) == cap(*data) {
		data = s.grow(1)
	}
	*data = append(*data, b)
	s.length++
	return nil
}

func write[T string | []byte](c *chain, p T) int {
	n := len(p)
	data := c.tail()
	for len(p) > 0 {
		if data == nil || len(*data) == cap(*data) {
			data = c.grow(len(p))
		}
		end := len(*data)
		m := copy((*data)[end:cap(*data)], p)
		*data = (*data)[:end+m]
		c.length += m
		p = p[m:]
	}
	return n
}

// grow appends a link of n bytes or as many as there are already, so that a message of
// any size has few chunks and not much more memory than it needs. It returns its data.
func (c *chain) grow(n int) *[]byte {
	c.push(newLink(c.pool, min(max(c.length, n, minChunk), c.most)))
	return c.tail()
}

// SetReadLimit bounds what each ReadFrom reads to n bytes. Without it there is no
// bound. It panics if n is negative.
func (c *Chain) SetReadLimit(n int64) { c.live().limit = newLimit(n) }

// ReadFrom appends what r gives until it ends, and returns how many bytes that were.
// The end is no error, any other error of r is returned; what came before it is in the
// Chain. If r has more than [Chain.SetReadLimit] says, the error wraps [ErrTooLarge], the
// Chain has as much as that, and one byte more was taken from r. A reader that
// returns 0, nil a hundred times in a row is given up with io.ErrNoProgress.
//
// It takes a chunk when the last one is full, of at most as much as there is already:
// a reader that stalls costs twice what it sent, and 1 KiB at least, before rounding to
// tiers. Of an io.LimitedReader it is known how much may come: the first chunk is of
// that, up to 128 KiB.
//
// It panics, with what it read so far in the Chain, if r returns a count that cannot
// be, and as Write does.
func (c *Chain) ReadFrom(r io.Reader) (n int64, err error) {
	s := c.live()
	in := s.limit.of(r)
	least := minChunk
	if l, ok := r.(*io.LimitedReader); ok {
		least = firstStage
		in.left = min(in.left, l.N)
	}
	n, err = s.fill(&in, least)
	if s.limit != 0 && n == int64(s.limit) { // with the byte too many
		s.dropLast()
		return n - 1, s.limit.err()
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadN appends exactly n bytes of r, and returns how many that were. n may be what a
// peer announced: it is not trusted, and a forged one costs a chunk of 128 KiB, however
// large it is. Bound it all the same: a peer that does send what it announced is
// believed.
//
// The errors are those of io.ReadFull: io.EOF if there was no byte at all,
// io.ErrUnexpectedEOF if there were fewer than n, otherwise the reader's, or as
// [Chain.ReadFrom] says; what was read is in the Chain. For n < 0 the error wraps
// [ErrNegativeLength], and nothing is read. No limit applies.
func (c *Chain) ReadN(r io.Reader, n int64) (read int64, err error) {
	s := c.live()
	if n < 0 {
		return 0, fmt.Errorf("%w %d", ErrNegativeLength, n)
	}
	in := source{r: r, left: n}
	read, err = s.fill(&in, firstStage)
	if read == n {
		return n, nil
	}
	if err == io.EOF && read > 0 {
		err = io.ErrUnexpectedEOF
	}
	return read, err
}

// fill appends what in gives. A chunk is asked for of least bytes at least, or what is
// left.
func (c *chain) fill(in *source, least int) (n int64, err error) {
	defer c.trim()
	room := int64(min(minRead, max(1, c.most/2))) // for a Read; less than that is left over
	for err == nil && in.left > 0 {
		data := c.tail()
		if data == nil || int64(cap(*data)-len(*data)) < min(room, in.left) {
			size := min(c.most, max(c.length, least))
			c.push(newLink(c.pool, int(min(int64(size), in.left))))
			data = c.tail()
		}
		end := len(*data)
		var m int
		m, err = in.read((*data)[end:cap(*data)])
		*data = (*data)[:end+m]
		c.length += m
		n += int64(m)
	}
	return n, err
}

// trim gives up a last link that is empty.
func (c *chain) trim() {
	if data := c.tail(); data != nil && len(*data) == 0 {
		c.popLast()
	}
}

// dropLast drops the last byte.
func (c *chain) dropLast() {
	data := c.tail()
	*data = (*data)[:len(*data)-1]
	c.length--
	c.trim()
}

// WriteTo writes all to w: with one writev if w is a *net.TCPConn or *net.UnixConn, else
// with one Write for each chunk. Then all is read, and the chunks go back to the pool.
// With an error the Chain is as it was, so that another w may get the whole; n is what
// this one took.
//
// A short count without an error is io.ErrShortWrite. It panics, with the Chain as it
// was, if w returns a count that cannot be.
func (c *Chain) WriteTo(w io.Writer) (n int64, err error) {
	s := c.live()
	links := s.links[s.first:]
	conn := false
	if len(links) > 1 {
		switch w.(type) {
		// These alone: what embeds one may have a Write of its own, which net.Buffers
		// would not call.
		case *net.TCPConn, *net.UnixConn:
			conn = true
		}
	}
	if conn {
		n, err = s.writev(w)
	} else {
		n, err = writeEach(links, w)
	}
	if err == nil {
		c.live().skip(int(n))
	}
	return n, err
}

func (c *chain) writev(w io.Writer) (n int64, err error) {
	for _, l := range c.links[c.first:] {
		c.vectors = append(c.vectors, l.data)
	}
	c.unsent = c.vectors
	n, err = c.unsent.WriteTo(w)
	clear(c.vectors) // keep no chunk's memory
	c.vectors, c.unsent = c.vectors[:0], nil
	return n, err
}

func writeEach(links []link, w io.Writer) (n int64, err error) {
	for _, l := range links {
		m, err := w.Write(l.data)
		mustBeCount(w, "Write", m, len(l.data))
		n += int64(m)
		if err == nil && m < len(l.data) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
