package rivals

import "github.com/panjf2000/gnet/v2/pkg/pool/byteslice"

// Gnet is the pool of gnet: a tier for each power of two, holding nothing but
// the address of the array.
//
// It does not clear, and it keeps anything below 2 GiB. A foreign buffer goes to the
// largest tier that it can serve. Get(0) is nil.
func Gnet() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "gnet",
		Module: "github.com/panjf2000/gnet/v2",
		New:    func(int) Pool[[]byte] { return new(byteslice.Pool) },
		Bytes:  itself,
		Handle: itself,
	}
}
