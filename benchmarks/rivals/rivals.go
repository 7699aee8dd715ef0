// Package rivals has the pools that bufpool is compared with, each behind an
// adapter as thin as can be, and bufpool's own.
package rivals

import "github.com/valyala/bytebufferpool"

// Pool lends handles of one kind. For bufpool's pools, and all that share their
// method set, B is *[]byte and there is no adapter at all; for the others it is
// what they lend themselves, so that nobody pays for a conversion that their
// users would not pay for.
//
// Unless the rival says otherwise, its pool can be used by several goroutines
// at once, and takes any length from 0 up.
type Pool[B any] interface {
	// Get returns a handle of a buffer of length bytes.
	Get(length int) B
	// Put gives it back.
	Put(B)
}

// Spec is a rival: how to build one, and how to look at what it lends.
type Spec[B any] struct {
	// Name is short, without spaces, and lower case but for "W".
	Name string

	// Module is the path of the module it comes from, "" for the standard
	// library and bufpool itself. Its version goes into the results.
	Module string

	// New returns a new pool, in the configuration its users get unless they
	// choose one; size is the length that is going to be asked for where the
	// pool serves only one, and the largest length otherwise.
	New func(size int) Pool[B]

	// Bytes returns the buffer of a handle, of the length asked for. Handle
	// makes a handle of a buffer that is not the pool's.
	Bytes  func(B) []byte
	Handle func([]byte) B

	// Front, if there is one, returns what one goroutine uses in front of a
	// pool, with so many bytes idle in it at most.
	Front func(parent Pool[B], limit int) Pool[B]

	// OneSize is for pools that serve one size only.
	OneSize bool

	// Disguises is for pools that lend used buffers cleared, or new ones
	// uncleared: zeros do not tell there what was just allocated.
	Disguises bool
}

// Pointers returns all that lend a *[]byte, bufpool's own first.
func Pointers() []Spec[*[]byte] {
	return []Spec[*[]byte]{
		Binary(), Default(), Stepped(), Tiered(), Switch(), LocalBinary(), LocalStepped(),
		W(), Make(),
		GRPCDefault(), GRPCTiered(), GRPCBinary(), NBIO(), Vitess(),
	}
}

// Slices returns all that lend a []byte.
func Slices() []Spec[[]byte] {
	return []Spec[[]byte]{
		MakeSlice(),
		BPool(), Gnet(), Libp2p(), MCache(), PBytes(), Prometheus(),
	}
}

// ByteBuffers returns all that lend a *bytebufferpool.ByteBuffer.
func ByteBuffers() []Spec[*bytebufferpool.ByteBuffer] {
	return []Spec[*bytebufferpool.ByteBuffer]{ByteBufferPool()}
}

// The two usual kinds of Spec.Bytes and Spec.Handle.
func pointee(b *[]byte) []byte { return *b }
func pointer(b []byte) *[]byte { return &b }
func itself(b []byte) []byte   { return b }
