package bufpool

import (
	"net"
	"sync"
	"sync/atomic"
)

// chain is what a Chain refers to. It is recycled, with its arrays; what makes that
// safe is the generation, which ends with the Chain.
type chain struct {
	generation atomic.Uint64

	links  []link // from first on; none is empty, but the last during a read
	first  int
	length int
	pool   BufferPool
	most   int // bytes asked for at a time
	limit  limit

	// last is the spare that became a part of this one last, and probably is free again.
	// spares are for the parts of this one and the parts of those, of which there are
	// often a few at a time: one costs half of what a sync.Pool takes. They stay with
	// this one, which is their home; taken tells whether a Chain has one.
	last    atomic.Pointer[chain]
	home    *chain
	spares  [4]atomic.Pointer[chain]
	isSpare bool
	taken   atomic.Bool

	vectors, unsent net.Buffers // for writev; unsent is what is left of vectors
}

var chains = sync.Pool{New: func() any { return new(chain) }}

// maxLinks is how many links a chain keeps room for when it is recycled: as many as one
// writev takes on Linux (IOV_MAX), 56 KiB with the vectors.
const maxLinks = 1024

// part returns an empty chain like c.
func (c *chain) part() *chain {
	p := c.last.Load()
	if p == nil || !p.taken.CompareAndSwap(false, true) {
		p = c.anotherPart()
	}
	p.pool, p.most, p.limit = c.pool, c.most, c.limit
	return p
}

// anotherPart returns a spare or, if all are taken, one from the pool. That is a spare
// from now on if there is a place and it is not the home of some.
func (c *chain) anotherPart() *chain {
	for i := range c.home.spares {
		place := &c.home.spares[i]
		p := place.Load()
		if p == nil {
			p = chains.Get().(*chain)
			if p.home = c.home; p.spares[0].Load() != nil {
				return p
			}
			p.taken.Store(true)
			if p.isSpare = place.CompareAndSwap(nil, p); p.isSpare {
				c.last.Store(p)
			}
			return p
		}
		if !p.taken.Load() && p.taken.CompareAndSwap(false, true) {
			c.last.Store(p)
			return p
		}
	}
	p := chains.Get().(*chain)
	p.home = c.home
	return p
}

// recycle is for a chain whose generation has ended.
func (c *chain) recycle() {
	for i := c.first; i < len(c.links); i++ {
		l := &c.links[i]
		k := l.chunk
		l.chunk, l.data = nil, nil
		k.release()
	}
	c.links, c.first, c.length, c.pool = c.links[:0], 0, 0, nil
	if cap(c.links) > maxLinks || cap(c.vectors) > maxLinks {
		c.links, c.vectors = nil, nil
	}
	if c.isSpare {
		c.taken.Store(false)
		return
	}
	c.home = nil
	chains.Put(c)
}

// push appends a link. Where half of the array is free at the front, it is used again.
func (c *chain) push(l link) {
	if len(c.links) == cap(c.links) && c.first > len(c.links)/2 {
		n := copy(c.links, c.links[c.first:])
		clear(c.links[n:])
		c.links, c.first = c.links[:n], 0
	}
	c.links = append(c.links, l)
}

// popLast gives up the last link.
func (c *chain) popLast() {
	last := len(c.links) - 1
	k := c.links[last].chunk
	c.links[last] = link{}
	if c.links = c.links[:last]; c.first == last {
		c.links, c.first = c.links[:0], 0
	}
	k.release()
}

// skip gives up the first n bytes.
func (c *chain) skip(n int) {
	for n > 0 {
		l := &c.links[c.first]
		if n < len(l.data) {
			l.data = l.data[n:]
			c.length -= n
			return
		}
		n -= len(l.data)
		c.take().chunk.release()
	}
}

// tail returns the last link's data, for more to be appended within its capacity; nil
// if there is none.
func (c *chain) tail() *[]byte {
	if len(c.links) == 0 {
		return nil
	}
	return &c.links[len(c.links)-1].data
}

// take moves the first link out.
func (c *chain) take() link {
	l := c.links[c.first]
	c.links[c.first] = link{}
	if c.first++; c.first == len(c.links) {
		c.links, c.first = c.links[:0], 0
	}
	c.length -= len(l.data)
	return l
}

// join makes the first link hold n bytes of the chain's, which are more than it does.
// If its chunk has no room for them they move to another.
func (c *chain) join(n int) {
	var head link
	if cap(c.links[c.first].data) >= n {
		head = c.take()
	} else {
		// Some more than n, lest all be copied each time that somebody looks a little
		// further.
		head = newLink(c.pool, min(c.length, n+n/4))
	}
	for len(head.data) < n {
		end := len(head.data)
		m := copy(head.data[end:n], c.links[c.first].data)
		head.data = head.data[:end+m]
		c.skip(m)
	}
	c.length += n
	if c.first == 0 { // nothing is left: what was there first is taken or moved
		c.push(head)
		return
	}
	c.first--
	c.links[c.first] = head
}
