package rivals

import "github.com/prometheus/prometheus/util/pool"

// Prometheus is the pool of its scrape manager: tiers from 1000 B by factors of
// three up to some 59 MB, found by a linear scan.
//
// Put goes through reflection and boxes the slice twice, which is two
// allocations. It does not clear. It drops what is larger than its largest
// tier. A foreign buffer goes to the smallest tier that is not smaller, so it
// may be lent for more bytes than it has: Prometheus appends to what it gets
// and grows it, but slicing it, as here, panics.
func Prometheus() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "prometheus",
		Module: "github.com/prometheus/prometheus",
		New: func(int) Pool[[]byte] {
			return prometheus{pool.New(1e3, 100e6, 3, func(size int) any { return make([]byte, 0, size) })}
		},
		Bytes:  itself,
		Handle: itself,
	}
}

type prometheus struct{ pool *pool.Pool }

func (p prometheus) Get(length int) []byte { return p.pool.Get(length).([]byte)[:length] }
func (p prometheus) Put(b []byte)          { p.pool.Put(b) }
