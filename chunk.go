package bufpool

import (
	"sync"
	"sync/atomic"
)

// chunk is a buffer of a pool to which the links of several Chains may refer.
type chunk struct {
	refs atomic.Int32
	buf  *[]byte
	pool BufferPool
}

// link is a Chain's part of a chunk. Its capacity says how far it may write behind its
// data: to the end of the chunk in the one link that has the last of the data, and
// nowhere in any other.
type link struct {
	chunk *chunk
	data  []byte
}

// chunks recycles them. Nothing but links refers to one, and no link outlives its
// Chain, so that no generation is needed here.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// newLink returns an empty link with room for n bytes at least.
func newLink(p BufferPool, n int) link {
	buf := p.Get(n)
	k := chunks.Get().(*chunk)
	if k.refs.Load() == 0 {
		k.refs.Store(1)
	}
	k.buf, k.pool = buf, p
	return link{k, (*buf)[:0]}
}

// share returns a link to a part of l that ends where its data ends, at most, and that
// may write nowhere.
func (l *link) share(from, to int) link {
	l.chunk.refs.Add(1)
	return link{l.chunk, l.data[from:to:to]}
}

// release gives up one link's reference. Who has the only one needs no atomic addition:
// there is nobody else to make another.
func (k *chunk) release() {
	if k.refs.Load() == 1 || k.refs.Add(-1) == 0 {
		k.free()
	}
}

func (k *chunk) free() {
	buf, pool := k.buf, k.pool
	k.buf, k.pool = nil, nil
	chunks.Put(k)
	*buf = (*buf)[:0] // what was written is not what the pool was told
	pool.Put(buf)
}
