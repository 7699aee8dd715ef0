package rivals

import "github.com/lesismal/nbio/mempool"

// NBIO is the allocator that nbio uses unless it is given another, built anew:
// one sync.Pool for all lengths, whose buffers start at 1 KiB and are grown
// when they are too small, so a length may meet one far too large.
//
// Get allocates a slice header even when it returns a pooled one. It does not
// clear, and it keeps anything up to 1 GiB.
func NBIO() Spec[*[]byte] {
	return Spec[*[]byte]{
		Name:   "nbio",
		Module: "github.com/lesismal/nbio",
		New:    func(int) Pool[*[]byte] { return nbio{mempool.New(1<<10, 1<<30)} },
		Bytes:  pointee,
		Handle: pointer,
	}
}

// nbio holds an interface because that is all the constructor returns.
type nbio struct{ mempool.Allocator }

func (p nbio) Get(length int) *[]byte { return p.Malloc(length) }
func (p nbio) Put(b *[]byte)          { p.Free(b) }
