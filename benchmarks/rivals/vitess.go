package rivals

import "vitess.io/vitess/go/bucketpool"

// Vitess is the pool that Vitess reads MySQL packets into: tiers by factors of
// two from 16 KiB up to the largest packet, one byte less than 16 MiB, found by
// a division.
//
// It does not clear. It drops what is larger than its largest tier. A foreign
// buffer goes to the smallest tier that is not smaller, and makes the Get that
// asks for more bytes than it has panic.
func Vitess() Spec[*[]byte] {
	return Spec[*[]byte]{
		Name:   "vitess",
		Module: "vitess.io/vitess",
		New:    func(int) Pool[*[]byte] { return bucketpool.New(16<<10, 1<<24-1) },
		Bytes:  pointee,
		Handle: pointer,
	}
}
