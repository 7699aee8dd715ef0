package bufpool

import (
	"fmt"
	"io"
)

// Chain is a message in pieces: a queue of bytes that lie in chunks of a pool. It is
// for what should not be one slice: payloads of many megabytes, for which one buffer
// would be oversized or twice what is needed, and messages of which several readers
// get parts. What is written goes to the end, what is read comes from the front, and a
// chunk goes back to the pool when the last of its bytes is read. Nothing is copied to
// cut a Chain in two or to share a part of it.
//
// A Chain is a handle, as a map is: copying it makes no other message. [Chain.Release]
// ends it, once, with all copies. From then on every use of it or of them panics with
// "bufpool: stale Chain", for good: what a handle refers to is recycled, but not the
// generation by which the handle is known. So who uses or releases a Chain once too
// often hears of it, and nobody else does. [Chain.Slice] and [Chain.Split]
// return Chains that are released on their own.
//
// The zero Chain is empty and ready to use, on the process default. One that is dropped
// without Release is garbage, and its memory is missing from the pool.
//
// Slices that Peek and Contiguous return are parts of the chunks, which other Chains
// may share: they are to be read only, and are valid until the bytes are read or
// discarded from this Chain, or it is released or joined further.
//
// A Chain belongs to one goroutine at a time; Chains that share chunks are independent
// of each other. Nothing is allocated once the pools have warmed up, of buffers and of
// what this package keeps for links: up to 56 KiB for a message of a thousand chunks.
type Chain struct {
	chain      *chain
	generation uint64
}

const (
	// minChunk is the least that a Chain asks for, lest many small writes make many
	// small chunks.
	minChunk = 1 << 10

	// defaultChunk is the most that it asks for. Larger chunks move a message through
	// sockets no faster, smaller ones more slowly through Unix sockets (-bench Relay), and
	// the last of a message of 10 MiB is at most a fortieth of it.
	defaultChunk = 256 << 10
)

// NewChain returns an empty Chain on p. Chunks are of chunk bytes at most, or what the
// pool makes of that, and smaller in a message that is smaller. A chunk of 0 is 256 KiB,
// or the largest tier of a pool of this package if that is less; for any other pool let
// it not be more than the largest tier. A nil p is the process default of this moment.
// NewChain panics if chunk is negative.
func NewChain(p BufferPool, chunk int) Chain {
	mustNotBeNegative(chunk)
	if isNil(p) {
		p = Default()
	}
	if chunk == 0 {
		chunk = defaultChunk
		if p, ok := p.(interface{ largest() int }); ok && p.largest() > 0 {
			chunk = min(chunk, p.largest())
		}
	}
	c := chains.Get().(*chain)
	c.home, c.pool, c.most, c.limit = c, p, chunk, 0
	return c.handle()
}

func (c *chain) handle() Chain { return Chain{c, c.generation.Load()} }

// live returns what c refers to, or panics.
func (c *Chain) live() *chain {
	if c.chain == nil || c.chain.generation.Load() != c.generation {
		c.start()
	}
	return c.chain
}

// start makes a zero Chain usable. It stays out of line, for live to be inlined.
//
//go:noinline
func (c *Chain) start() {
	if c.chain != nil {
		panic("bufpool: stale Chain: it was released, or the one of which it is a copy")
	}
	*c = NewChain(nil, 0)
}

// Release ends the Chain: its chunks go back to the pool, but for those that other
// Chains share. It panics if that has happened before; of several goroutines that call
// it at once, all panic but one. A zero Chain need not be released.
func (c *Chain) Release() {
	if c.chain == nil {
		return
	}
	if !c.chain.generation.CompareAndSwap(c.generation, c.generation+1) {
		c.start() // panics
	}
	c.chain.recycle()
}

// Len returns how many bytes there are to be read.
func (c *Chain) Len() int { return c.live().length }

// Read reads up to len(p) bytes, and fewer only if there are no more. The error is
// io.EOF if there are none and p is not empty, otherwise nil.
func (c *Chain) Read(p []byte) (n int, err error) {
	s := c.live()
	if s.length == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	for n < len(p) && s.length > 0 {
		m := copy(p[n:], s.links[s.first].data)
		s.skip(m)
		n += m
	}
	return n, nil
}

// ReadByte reads one byte. The error is io.EOF if there is none.
func (c *Chain) ReadByte() (byte, error) {
	s := c.live()
	if s.length == 0 {
		return 0, io.EOF
	}
	b := s.links[s.first].data[0]
	s.skip(1)
	return b, nil
}

// Peek returns the next n bytes without reading them, and io.EOF with fewer if there
// are not so many. If they lie in several chunks, they are copied into one, once: to
// look at them again, or at the first of them, costs nothing. It panics if n is
// negative.
func (c *Chain) Peek(n int) (data []byte, err error) {
	s := c.live()
	mustNotBeNegative(n)
	if n > s.length {
		n, err = s.length, io.EOF
	}
	if n == 0 {
		return nil, err
	}
	if n > len(s.links[s.first].data) {
		s.join(n)
	}
	return s.links[s.first].data[:n:n], err
}

// Contiguous returns all bytes as one slice without reading them: the chunk itself if
// there is but one, otherwise one into which they are copied, once, and which takes the
// place of the others. The Chain keeps it.
func (c *Chain) Contiguous() []byte {
	data, _ := c.Peek(c.Len())
	return data
}

// Discard reads n bytes that nobody wants, and returns how many there were: fewer with
// io.EOF. It panics if n is negative.
func (c *Chain) Discard(n int) (discarded int, err error) {
	s := c.live()
	if uint(n) < uint(s.length) {
		s.skip(n)
		return n, nil
	}
	mustNotBeNegative(n)
	if n > s.length {
		n, err = s.length, io.EOF
	}
	s.skip(n)
	return n, err
}

// Slice returns a Chain of the bytes from the index from up to the index to, which is
// not included. They are shared, not copied: reading them from one Chain leaves them in
// the other. What is written to one is not in the other. Slice(0, Len()) gives one more
// reader the whole message.
//
// The result has the pool, the chunk size and the limit of c. The caller owns it and must
// release it. Slice panics if there are no such bytes.
func (c *Chain) Slice(from, to int) Chain {
	s := c.live()
	if from < 0 || to < from || to > s.length {
		panic(fmt.Sprintf("bufpool: Slice [%d:%d] of %d bytes", from, to, s.length))
	}
	part := s.part()
	if part.length = to - from; from == to {
		return part.handle()
	}
	l := &s.links[s.first]
	for i := s.first; ; {
		n := len(l.data)
		if from < n {
			part.push(l.share(from, min(to, n)))
			from = n
		}
		if to <= n {
			return part.handle()
		}
		from, to = from-n, to-n
		i++
		l = &s.links[i]
	}
}

// Split takes the first n bytes out of the Chain and returns them as one of their own,
// without copying. The result has the pool, the chunk size and the limit of c. The caller
// owns it and must release it. Split panics if n is negative or there are fewer bytes.
func (c *Chain) Split(n int) Chain {
	s := c.live()
	if n < 0 || n > s.length {
		panic(fmt.Sprintf("bufpool: Split at %d of %d bytes", n, s.length))
	}
	part := s.part()
	part.length = n
	for n > 0 {
		l := &s.links[s.first]
		if n < len(l.data) {
			part.push(l.share(0, n))
			l.data = l.data[n:]
			s.length -= n
			break
		}
		n -= len(l.data)
		part.push(s.take())
	}
	return part.handle()
}
