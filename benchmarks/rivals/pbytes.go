package rivals

import "github.com/gobwas/pool/pbytes"

// PBytes is gobwas's pool: a tier for each power of two, found in a map. Its
// default pool ends at 64 KiB and would make everything above anew; this one
// goes on to the largest length asked for.
//
// Put boxes the slice, which is an allocation. It does not clear. It keeps a
// buffer only if its capacity is a power of two within the range.
func PBytes() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "pbytes",
		Module: "github.com/gobwas/pool",
		New: func(size int) Pool[[]byte] {
			// Below twice the size is the power of two that holds it.
			return pbytesPool{pbytes.New(128, max(64<<10, 2*size-1))}
		},
		Bytes:  itself,
		Handle: itself,
	}
}

type pbytesPool struct{ *pbytes.Pool }

func (p pbytesPool) Get(length int) []byte { return p.GetLen(length) }
