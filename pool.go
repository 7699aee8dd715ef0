// Package bufpool lends byte buffers and takes them back.
//
// A [BufferPool] has two methods, Get and Put, and implementations that differ in
// which tiers they have, in how they find the one for a length, and in nothing
// else:
//
//   - [BinaryTiered]: tiers that are powers of two, found by one table look-up
//     whatever their number. The default, and the right choice unless you know
//     better.
//   - [Stepped]: four or eight tiers for each doubling, found by one table look-up,
//     too. For many buffers lent at a time, which it keeps closer to what was asked
//     for.
//   - [Tiered]: any sizes, found by a linear scan. For a few tiers measured on
//     your own traffic.
//   - [Switch]: seven fixed tiers from 4 KiB to 10 MiB, found by a switch.
//
// [Sized] is a single tier, and [Nop] pools nothing. [Local] is a cache for one
// goroutine in front of any of them.
//
// On top of any pool there is what is otherwise written by hand: [Grow] and [ReadN], for
// more room and for bytes of a length that is not trusted; [Buffer], a bytes.Buffer;
// [Chain], a message in chunks that can be cut and shared; [Copy], which is io.Copy; and
// [Slices], for code that wants plain slices.
//
// # Ownership
//
// Read this first: a buffer used after it was given back hands one user's data
// to another, far from the fault and only under load.
//
// The pointer that Get returns is the ownership token. Whoever holds it owns
// the buffer; Put ends that. After Put, neither the pointer, nor the slice it
// points to, nor any other slice or string made of the same memory may be used,
// and a second Put of it is as wrong as a write to it. The slice header that the
// pointer points to is recycled together with the array, which is why neither
// Get nor Put allocates, and why the address of a variable or field that lives
// on must not be passed to Put: the pool would keep that variable.
//
// The holder may change the length of *b freely, and may append to it: within
// the capacity the array stays the pool's, beyond it append moves to an array
// of its own, which Put will then drop. Use [Grow] to get more room through the
// pool.
//
// # What a pool decides by
//
// Put looks at the capacity of *b and at nothing else. A capacity that is
// exactly a tier's enters that tier. Any other is dropped, that is, left to the
// garbage collector, and counted: so no buffer ever sits in a tier that it
// cannot serve, and none that is larger than the largest tier is ever kept. A
// slice that was never lent but has exactly a tier's capacity cannot be told
// apart from one that was, and is kept; so is an interior slice cut to exactly
// such a capacity, which is misuse.
//
// # Memory
//
// Idle buffers live in sync.Pools, one per tier. Each processor (GOMAXPROCS)
// may hold idle buffers of each tier; what one garbage collection finds idle and
// the next finds still idle is freed. There is no other free list but that of a
// [Local], which is bounded, no goroutine and no timer.
//
// # Contents
//
// A buffer comes with whatever its last user left in it, unless the pool was
// built with [WithClear]. The process default does not clear.
package bufpool

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// BufferPool lends byte buffers. Its method set is that of
// google.golang.org/grpc/mem.BufferPool, so either can be used as the other.
//
// All pools of this package keep to the contract below, and all but [Local] are
// safe for use by several goroutines at once. Package bufpooltest checks a pool
// against it.
type BufferPool interface {
	// Get returns a buffer of len(*b) == length, never nil. Its capacity is
	// that of the smallest tier that holds length; Get(0) comes from the
	// smallest tier of all, so that appending to it grows in place. A length
	// above the largest tier is a plain allocation of exactly that many bytes,
	// which this pool will not keep. The contents are arbitrary unless the pool
	// clears.
	//
	// Get panics if length is negative, with a message like "bufpool: negative
	// length -1", and, as make does, if length is more than can ever be
	// allocated; the pool is then unchanged. A length that could be allocated on
	// a larger machine kills the process, as with make: bound a length that a
	// peer announced before passing it to Get, or use [ReadN].
	//
	// Once the pool has warmed up, Get of up to the largest tier costs at most
	// one sync.Pool.Get and the search for the tier, and does not allocate.
	Get(length int) *[]byte

	// Put gives back a buffer. The caller must not use it, or any slice of
	// it, again.
	//
	// If *buf is changed all the same, by who still has buf, the pool survives
	// it: a Get never returns fewer bytes than asked for.
	//
	// It is kept only if cap(*buf) is exactly a tier's, whatever its length;
	// any other buffer is left to the garbage collector, and Put of nil or of
	// a slice without capacity keeps nothing. Put does not panic, and does not
	// allocate once the pool has warmed up.
	Put(buf *[]byte)
}

// Nop pools nothing: Get allocates exactly what is asked for, Put lets go. Use
// it to turn pooling off in code that takes a BufferPool. The zero value is
// ready to use; it counts nothing.
type Nop struct{}

// Get returns a new, zeroed buffer of exactly length bytes. It panics as
// [BufferPool] says.
func (Nop) Get(length int) *[]byte {
	mustNotBeNegative(length)
	b := make([]byte, length)
	return &b
}

// Put does nothing.
func (Nop) Put(*[]byte) {}

// Sizes returns nil: there are no tiers.
func (Nop) Sizes() []int { return nil }

// Stats returns the zero Stats: nothing is counted.
func (Nop) Stats() Stats { return Stats{} }

// Must returns p, and panics with err if that is not nil. It is for pools that
// are built once, from constants:
//
//	var pool = bufpool.Must(bufpool.NewTiered([]int{1 << 10, 64 << 10}))
func Must[P BufferPool](p P, err error) P {
	if err != nil {
		panic(err)
	}
	return p
}

// The default pool's tiers. The smallest keeps 256 workers with 200-byte
// payloads at 64 KiB together. The largest lets a message of 4 MiB, gRPC's
// default limit, fit together with its header. Between them, a buffer is never
// more than twice what was asked for; the number of tiers costs nothing.
const (
	defaultMinSize = 256
	defaultMaxSize = 8 << 20
)

// defaultPool holds a *BufferPool, for the dynamic type may change.
var defaultPool atomic.Pointer[BufferPool]

func init() {
	var p BufferPool = Must(NewBinaryTiered(Exponents(defaultMinSize, defaultMaxSize)))
	defaultPool.Store(&p)
}

// Default returns the process-wide default pool. Unless [SetDefault] changed
// it, that is a BinaryTiered with a tier for each power of two from 256 B to
// 8 MiB, which does not clear.
func Default() BufferPool { return *defaultPool.Load() }

// SetDefault makes p the process-wide default pool, at any time and from any
// goroutine. Buffers in flight go to whoever is the default when they are put
// back, which keeps or drops them by their capacity. Code that was given the
// default when it was built keeps the pool it has.
//
// restore puts back the pool that was the default before this call, whatever
// was set since. Only its first call does anything.
//
// SetDefault panics if p is nil, or a nil pointer to a pool of this package, and
// if p is a [Local], which serves one goroutine only.
func SetDefault(p BufferPool) (restore func()) {
	if isNil(p) {
		panic("bufpool: SetDefault of a nil pool")
	}
	if _, ok := p.(*Local); ok {
		panic("bufpool: SetDefault of a Local, which serves one goroutine only")
	}
	before := defaultPool.Swap(&p)
	return sync.OnceFunc(func() { defaultPool.Store(before) })
}

// own reports whether p is a pool of this package, and whether it is a nil pointer
// to one, which is what a constructor returns beside an error that was not looked
// at.
func own(p BufferPool) (isNil, isOwn bool) {
	switch p := p.(type) {
	case *BinaryTiered:
		return p == nil, true
	case *Stepped:
		return p == nil, true
	case *Tiered:
		return p == nil, true
	case *Switch:
		return p == nil, true
	case *Sized:
		return p == nil, true
	case *Local:
		return p == nil, true
	case *Nop:
		return p == nil, true
	case Nop:
		return false, true
	}
	return false, false
}

// isNil reports whether p is nil, or a nil pointer to a pool of this package.
func isNil(p BufferPool) bool {
	null, _ := own(p)
	return p == nil || null
}

// Get is Default().Get(length).
func Get(length int) *[]byte { return Default().Get(length) }

// Put is Default().Put(buf).
func Put(buf *[]byte) { Default().Put(buf) }

func mustNotBeNegative(length int) {
	if length < 0 {
		panic("bufpool: negative length " + strconv.Itoa(length))
	}
}
