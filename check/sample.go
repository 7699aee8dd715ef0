package check

import (
	"math/rand/v2"
	"sync/atomic"
)

// sampler decides which buffers are tracked. It counts down, in a cell that is
// chosen by where the parent's header lies, since a buffer mostly stays on its
// processor: so several processors seldom write to the same cache line. Drawing a
// random number for each Get costs several times as much; but each count is drawn at
// random, lest one in n be always the same one of a program that takes n in turn.
type sampler struct {
	every atomic.Int32 // one in so many
	cells [cells]struct {
		left atomic.Int32
		_    [60]byte
	}
}

const cells = 16

// cell returns the count of what is passed on before the next buffer is tracked,
// which is when it falls below 0. Headers are 24, 32 or 64 bytes apart.
func (s *sampler) cell(b *[]byte) *atomic.Int32 {
	return &s.cells[headerAt(b)>>6%cells].left
}

// draw begins a new count: of n-1 on average, where one in n is tracked.
func (s *sampler) draw(b *[]byte) {
	for n := int32(0); n != s.every.Load(); { // again if it was changed meanwhile
		n = s.every.Load()
		s.cell(b).Store(rand.Int32N(2*max(n, 1) - 1))
	}
}

func (s *sampler) set(n int) {
	s.every.Store(int32(n))
	for i := range s.cells {
		s.cells[i].left.Store(rand.Int32N(int32(max(n, 1))))
	}
}

// SetSample changes what [WithSample] says, at any time. Buffers that are tracked
// stay so, and those that are not are never taken for foreign: from the first call
// on, the Pool does not report [NotLent] any more. SetSample(0) also flushes.
func (p *Pool) SetSample(n int) error {
	if err := validSample(n); err != nil {
		return err
	}
	if n == 1 && p.strict.Load() {
		return nil // as ever
	}
	p.notStrict()
	p.sampler.set(n)
	if n == 0 {
		p.Flush()
	}
	return nil
}

// notStrict makes the Pool forget what only one that tracks everything may know: from
// now on others may be lent an array that a stale header points to.
func (p *Pool) notStrict() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.strict.Swap(false) {
		return
	}
	p.watch.Add(-always)
	for _, r := range p.headers.all() {
		if r.state == idle {
			p.unindexArray(r)
		}
	}
}
