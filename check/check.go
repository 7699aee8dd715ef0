package check

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/bufpool/bufpool"
)

// Pool finds misuse of the pool it wraps. Build it with [New]; the zero value
// panics. It must not be copied, and may be used by several goroutines at once if
// its parent may.
type Pool struct {
	parent bufpool.BufferPool
	sampler

	// watch is not 0 if any Put may have to do with a buffer that is tracked: the
	// number of records whose loan is not collected or that are held, plus always
	// for a strict Pool.
	watch atomic.Int64

	// strict says that this Pool has tracked every buffer since it was built, and
	// so knows what it did not lend.
	strict atomic.Bool

	headers headers // of loans, until they are collected
	arrays  ranges  // of those that are lent or in quarantine; in a strict Pool, of all loans in headers

	clear clearances

	config config

	mu         sync.Mutex // guards what follows, the changes of the above, and each record
	lent       list
	quarantine quarantine
	collecting bool // violations, instead of reporting them
	collected  []Violation
}

const always = 1 << 40

// New returns a Pool that checks what is done with the buffers of parent. It
// tracks all of them, and panics where it detects a violation, unless the options
// say otherwise.
//
// A Pool goes around all else, a [bufpool.Local] too: it sees what is done with
// what it lends, and nothing of what goes on below. Let it be in place before the
// first Get: what was lent past it and is put into it is a violation, [NotLent].
func New(parent bufpool.BufferPool, opts ...Option) (*Pool, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(parent); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("check: nil parent")
	}
	p := &Pool{parent: parent, config: c}
	p.quarantine.limit = c.quarantine
	p.sampler.set(c.sample)
	if c.sample == 1 {
		p.strict.Store(true)
		p.watch.Store(always)
	}
	return p, nil
}

// Get returns the parent's buffer, under a header of its own if the buffer is
// tracked. It panics as the parent does.
func (p *Pool) Get(length int) *[]byte {
	b := p.parent.Get(length)
	if p.every.Load() == 0 || p.cell(b).Add(-1) >= 0 {
		return b
	}
	return p.track(b, length)
}

// Put gives back a buffer. Of one that is tracked, the contents are overwritten at
// once, up to the capacity.
func (p *Pool) Put(buf *[]byte) {
	if p.watch.Load() == 0 || buf == nil || p.clear.has(headerAt(buf), arrayAt(*buf)) {
		p.parent.Put(buf)
		return
	}
	p.put(buf)
}

// Sizes returns the parent's, if it has any.
func (p *Pool) Sizes() []int {
	if s, ok := p.parent.(interface{ Sizes() []int }); ok {
		return s.Sizes()
	}
	return nil
}

// Stats returns the parent's, if it has any.
func (p *Pool) Stats() bufpool.Stats {
	if s, ok := p.parent.(interface{ Stats() bufpool.Stats }); ok {
		return s.Stats()
	}
	return bufpool.Stats{}
}
