package rivals

import pool "github.com/libp2p/go-buffer-pool"

// Libp2p is the pool of libp2p: a tier for each power of two, of slices in
// boxes, and one more sync.Pool for the empty boxes, so each Get and each Put
// pays for two.
//
// It does not clear, and it keeps anything below 2 GiB. A foreign buffer goes to the
// largest tier that it can serve. Get(0) is nil.
func Libp2p() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "libp2p",
		Module: "github.com/libp2p/go-buffer-pool",
		New:    func(int) Pool[[]byte] { return new(pool.BufferPool) },
		Bytes:  itself,
		Handle: itself,
	}
}
