package rivals

import "github.com/oxtoacart/bpool"

// bpoolCapacity is the number of idle buffers kept, which the user has to
// choose. It is enough for as many goroutines with one buffer each; with more,
// the rest allocate.
const bpoolCapacity = 64

// BPool is a channel of buffers of one size. What is idle there stays: no
// garbage collection frees it.
//
// It does not clear. It keeps anything that is not too small, so a much larger
// foreign buffer stays whole behind a short slice.
func BPool() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "bpool",
		Module: "github.com/oxtoacart/bpool",
		New:    func(size int) Pool[[]byte] { return bytePool{bpool.NewBytePool(bpoolCapacity, size)} },
		Bytes:  itself,
		Handle: itself,

		OneSize: true,
	}
}

type bytePool struct{ *bpool.BytePool }

// Get makes a buffer if the pool's are too small, as its user must.
func (p bytePool) Get(length int) []byte {
	if length > p.Width() {
		return make([]byte, length)
	}
	return p.BytePool.Get()[:length]
}
