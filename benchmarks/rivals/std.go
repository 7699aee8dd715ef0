package rivals

import "sync"

// Make pools nothing and lends pointers: each Get allocates the array and the
// slice header.
func Make() Spec[*[]byte] {
	return Spec[*[]byte]{
		Name:   "make",
		New:    func(int) Pool[*[]byte] { return makePointer{} },
		Bytes:  pointee,
		Handle: pointer,
	}
}

type makePointer struct{}

func (makePointer) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

func (makePointer) Put(*[]byte) {}

// MakeSlice pools nothing and lends slices: each Get allocates the array.
func MakeSlice() Spec[[]byte] {
	return Spec[[]byte]{
		Name:   "make-slice",
		New:    func(int) Pool[[]byte] { return makeSlice{} },
		Bytes:  itself,
		Handle: itself,
	}
}

type makeSlice struct{}

func (makeSlice) Get(length int) []byte { return make([]byte, length) }
func (makeSlice) Put([]byte)            {}

// W is a sync.Pool of buffers of one size and nothing else: what one writes by
// hand, and the least that a pool of this interface can cost.
//
// It does not clear and checks nothing. It keeps anything, and Get panics for a
// length above the capacity of the buffer that it meets.
func W() Spec[*[]byte] {
	return Spec[*[]byte]{
		Name: "W",
		New: func(size int) Pool[*[]byte] {
			return &oneSize{sync.Pool{New: func() any {
				b := make([]byte, size)
				return &b
			}}}
		},
		Bytes:  pointee,
		Handle: pointer,

		OneSize: true,
	}
}

type oneSize struct{ pool sync.Pool }

func (p *oneSize) Get(length int) *[]byte {
	b := p.pool.Get().(*[]byte)
	*b = (*b)[:length]
	return b
}

func (p *oneSize) Put(b *[]byte) { p.pool.Put(b) }
