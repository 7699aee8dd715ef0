package bufpool

import (
	"sync"
	"weak"
)

// Slices lends the buffers of a pool as plain slices, all of one length, to code that
// wants those. It is what net/http/httputil.ReverseProxy takes as its BufferPool:
//
//	proxy.BufferPool = bufpool.NewSlices(nil, 0)
//
// The slice itself is the ownership token here: from Put on, neither it nor any part
// of it may be used, or put again. A slice that is never put is garbage, as any other.
//
// Build it with [NewSlices]. It may be used by several goroutines at once, if its pool
// may, and must not be copied. Get and Put do not allocate once the pool has warmed up,
// and nothing but the pool keeps a buffer.
type Slices struct {
	pool BufferPool
	size int

	// A pool of this package takes a buffer under any header. So a header is free
	// for another buffer while its own is lent, and waits here, empty.
	anyHeader bool
	headers   sync.Pool

	// Any other may know what it lent by the pointer that it returned, as a
	// checker does: it gets just that back.
	tokens tokens
}

// NewSlices returns slices of size bytes that are p's. A size below 1 is 32 KiB, which
// is what ReverseProxy and io.Copy allocate without a pool, and a nil p the process
// default of this moment.
func NewSlices(p BufferPool, size int) *Slices {
	if isNil(p) {
		p = Default()
	}
	if size < 1 {
		size = copySize
	}
	return &Slices{pool: p, size: size, anyHeader: takesAnyHeader(p)}
}

// takesAnyHeader reports whether p, and what stands behind it, is of this package.
func takesAnyHeader(p BufferPool) bool {
	if l, ok := p.(*Local); ok {
		return takesAnyHeader(l.parent)
	}
	_, isOwn := own(p)
	return isOwn
}

// Get returns a slice of the size that NewSlices was given: its length is that, its
// capacity the tier's, and its contents are arbitrary unless the pool clears. The
// caller owns it until Put.
func (s *Slices) Get() []byte {
	b := s.pool.Get(s.size)
	lent := *b
	if s.anyHeader {
		*b = nil
		s.headers.Put(b)
	} else {
		s.tokens.keep(b)
	}
	return lent
}

// Put gives back a slice that Get returned, of whatever length, but from its first
// byte on: as with [BufferPool], what has not exactly a tier's capacity is dropped.
// It takes ownership.
func (s *Slices) Put(lent []byte) {
	var b *[]byte
	if s.anyHeader {
		b, _ = s.headers.Get().(*[]byte)
	} else {
		b = s.tokens.find(lent)
	}
	if b == nil {
		b = new([]byte)
	}
	*b = lent
	s.pool.Put(b)
}

// tokens finds the pointer that a pool returned by the memory that it lent. It holds
// no such memory: the slice behind the pointer is nil while it is here, and what it
// is found by is weak.
type tokens struct {
	mu    sync.Mutex
	of    map[weak.Pointer[byte]]*[]byte
	sweep int // how many make it worth while to look for dead ones
}

// keep takes *b, which is not empty, and sets it to nil.
func (t *tokens) keep(b *[]byte) {
	key := weak.Make(&(*b)[0])
	*b = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.of) >= t.sweep {
		t.forgetDead()
	}
	t.of[key] = b
}

// find returns what was kept for lent, and forgets it, or nil.
func (t *tokens) find(lent []byte) *[]byte {
	if cap(lent) == 0 {
		return nil
	}
	key := weak.Make(&lent[:1][0])
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.of[key]
	delete(t.of, key)
	return b
}

// forgetDead forgets the tokens of slices that were never put and are gone. As many as
// are left are added before it is called again: that is once for each, on average.
func (t *tokens) forgetDead() {
	living := map[weak.Pointer[byte]]*[]byte{} // a map never becomes smaller
	for key, b := range t.of {
		if key.Value() != nil {
			living[key] = b
		}
	}
	t.of, t.sweep = living, max(64, 2*len(living))
}
