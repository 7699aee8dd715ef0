// Package balance wraps a pool to tell whether all that it lent came back.
package balance

import (
	"errors"
	"fmt"
	"sync"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// Pool passes every call on to its parent and keeps account of it, under a lock:
// it is for tests and reports, not for speed. It may be used by several
// goroutines.
type Pool struct {
	parent bufpool.BufferPool

	mu     sync.Mutex
	lent   map[*[]byte]int // length asked for, by the pointer that Get returned
	counts Counts
	wrong  error // the first Put of what is not lent
}

// Counts is what a Pool saw.
type Counts struct {
	Gets, Puts int

	// The bytes now lent, that is, the capacities, and those asked for; and the
	// most of each at any one time.
	Lent, Asked         int64
	PeakLent, PeakAsked int64
	LargestGet          int
}

// New returns a Pool around parent.
func New(parent bufpool.BufferPool) *Pool {
	return &Pool{parent: parent, lent: map[*[]byte]int{}}
}

// Get is parent's.
func (p *Pool) Get(length int) *[]byte {
	b := p.parent.Get(length)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.counts
	c.Gets++
	c.Lent += int64(cap(*b))
	c.Asked += int64(length)
	c.PeakLent = max(c.PeakLent, c.Lent)
	c.PeakAsked = max(c.PeakAsked, c.Asked)
	c.LargestGet = max(c.LargestGet, length)
	p.lent[b] = length
	return b
}

// Put is parent's, unless buf is not lent: then it is noted as an error and goes
// no further, but to a checker, which has more to say about it.
func (p *Pool) Put(buf *[]byte) {
	_, checks := p.parent.(*check.Pool)
	if p.takeBack(buf) || checks {
		p.parent.Put(buf)
	}
}

func (p *Pool) takeBack(buf *[]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Puts++
	asked, ok := p.lent[buf]
	if !ok {
		if p.wrong == nil {
			p.wrong = fmt.Errorf("balance: Put of %p, which is not lent", buf)
		}
		return false
	}
	delete(p.lent, buf)
	p.counts.Lent -= int64(cap(*buf))
	p.counts.Asked -= int64(asked)
	return true
}

// Counts returns what was seen so far.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Err is nil if every buffer came back once and nothing else did.
func (p *Pool) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var outstanding error
	if n := len(p.lent); n > 0 {
		outstanding = fmt.Errorf("balance: %d of %d buffers (%d bytes) were not put back", n, p.counts.Gets, p.counts.Lent)
	}
	return errors.Join(p.wrong, outstanding)
}

// Stats returns the parent's, if it has any.
func (p *Pool) Stats() bufpool.Stats {
	if s, ok := p.parent.(interface{ Stats() bufpool.Stats }); ok {
		return s.Stats()
	}
	return bufpool.Stats{}
}

// Sizes returns the parent's, if it has any.
func (p *Pool) Sizes() []int {
	if s, ok := p.parent.(interface{ Sizes() []int }); ok {
		return s.Sizes()
	}
	return nil
}
