package rivals

import "github.com/bytedance/gopkg/lang/mcache"

// MCache is ByteDance's allocator: a tier for each power of two, holding
// nothing but the address of the array. It has no instances, so all runs in a
// process share one.
//
// It does not clear, not even what it allocates anew. It keeps whatever has a
// power of two for a capacity, of any size, and drops the rest.
func MCache() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "mcache",
		Module: "github.com/bytedance/gopkg",
		New:    func(int) Pool[[]byte] { return mcaches{} },
		Bytes:  itself,
		Handle: itself,

		Disguises: true,
	}
}

type mcaches struct{}

func (mcaches) Get(length int) []byte { return mcache.Malloc(length) }
func (mcaches) Put(b []byte)          { mcache.Free(b) }
