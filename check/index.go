package check

import (
	"math/bits"
	"sync/atomic"
)

// index finds the records for an address. Finding takes no lock, since every Put
// of a buffer that is not tracked has to learn just that; changes are made under
// the pool's lock.
//
// It is a hash table of lists whose nodes never change: taking one out copies
// those before it, in whatever order. Readers see a table as it is, or as it was a
// moment ago.
type index struct {
	table atomic.Pointer[[]atomic.Pointer[node]] // a power of two of them
	nodes int
}

// node says that the record has to do with the key and, of an array, with the
// addresses from low up to high.
type node struct {
	key       uintptr
	low, high uintptr
	record    *record
	next      *node
}

const leastTable = 1 << 8 // 2 KiB

// first returns the first node that may have the key.
func (x *index) first(key uintptr) *node {
	t := x.table.Load()
	if t == nil {
		return nil
	}
	return (*t)[hash(key, len(*t))].Load()
}

// hash spreads keys, which are near each other, over a table of that size.
func hash(key uintptr, size int) uint64 {
	const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ by the golden ratio, as Knuth proposes
	return uint64(key) * golden >> 32 & uint64(size-1)
}

// add adds n, which nobody may change from then on.
func (x *index) add(n *node) {
	t := x.table.Load()
	if t == nil || x.nodes >= len(*t) {
		t = x.grow(t)
	}
	head := &(*t)[hash(n.key, len(*t))]
	n.next = head.Load()
	head.Store(n)
	x.nodes++
}

func (x *index) grow(old *[]atomic.Pointer[node]) *[]atomic.Pointer[node] {
	size := leastTable
	if old != nil {
		size = 2 * len(*old)
	}
	t := make([]atomic.Pointer[node], size)
	if old != nil {
		for i := range *old {
			for n := (*old)[i].Load(); n != nil; n = n.next {
				head, moved := &t[hash(n.key, size)], *n
				moved.next = head.Load()
				head.Store(&moved)
			}
		}
	}
	x.table.Store(&t)
	return &t
}

// remove takes out the node that r has for the key, if there is one.
func (x *index) remove(key uintptr, r *record) {
	t := x.table.Load()
	if t == nil {
		return
	}
	head := &(*t)[hash(key, len(*t))]
	for n := head.Load(); n != nil; n = n.next {
		if n.key == key && n.record == r {
			rest := n.next
			for before := head.Load(); before != n; before = before.next {
				kept := *before
				kept.next = rest
				rest = &kept
			}
			head.Store(rest)
			x.nodes--
			return
		}
	}
}

// headers is an index of the headers that were lent.
type headers struct{ index }

func (x *headers) add(r *record) { x.index.add(&node{key: r.header, record: r}) }

func (x *headers) remove(r *record) { x.index.remove(r.header, r) }

// find returns the record and the loan whose header b is, or nil. Where b is, others
// may have been before, whose records are about to go.
func (x *headers) find(b *[]byte) (*record, *loan) {
	at := headerAt(b)
	for n := x.first(at); n != nil; n = n.next {
		if n.key == at {
			if l := n.record.loanAt(b); l != nil {
				return n.record, l
			}
		}
	}
	return nil, nil
}

// ranges is an index of arrays: it finds the record of an array by addresses that lie
// in it. An array has a node for each granule that it touches, at most nine,
// since the larger the array, the larger its granules: 8 KiB, or that times 8, 64
// and so on. A search looks into each size of granule that is in use.
type ranges struct {
	index
	used  atomic.Uint32 // bit i: there are arrays with granules of that size
	count [granules]int // of them
}

const (
	granules    = 8 // up to 16 GiB; arrays of more than eight of those have more nodes
	granuleBits = 13
	granuleStep = 3
)

func granuleOf(low, high uintptr) (level int) {
	for level < granules-1 && (high-low)>>(granuleBits+granuleStep*level) >= 8 {
		level++
	}
	return level
}

func (x *ranges) keys(low, high uintptr) (from, to uintptr, level int) {
	level = granuleOf(low, high)
	shift := granuleBits + granuleStep*level
	return low >> shift, (high - 1) >> shift, level
}

// granuleKey tells granules of different sizes apart.
func granuleKey(granule uintptr, level int) uintptr {
	return granule<<bits.Len(granules-1) | uintptr(level)
}

// add and remove expect low < high.
func (x *ranges) add(r *record, low, high uintptr) {
	from, to, level := x.keys(low, high)
	for g := from; g <= to; g++ {
		key := granuleKey(g, level)
		x.index.add(&node{key: key, low: low, high: high, record: r})
	}
	x.count[level]++
	x.used.Store(x.used.Load() | 1<<level)
}

func (x *ranges) remove(r *record, low, high uintptr) {
	from, to, level := x.keys(low, high)
	for g := from; g <= to; g++ {
		x.index.remove(granuleKey(g, level), r)
	}
	if x.count[level]--; x.count[level] == 0 {
		x.used.Store(x.used.Load() &^ (1 << level))
	}
}

// find returns a record that fits, of an array that has one of the addresses from low
// up to high, or nil. A nil fits is fit for all.
func (x *ranges) find(low, high uintptr, fits func(*record) bool) *record {
	used := x.used.Load()
	for level := 0; used != 0; used, level = used>>1, level+1 {
		if used&1 == 0 {
			continue
		}
		shift := granuleBits + granuleStep*level
		for g := low >> shift; g <= (high-1)>>shift; g++ {
			key := granuleKey(g, level)
			for n := x.first(key); n != nil; n = n.next {
				if n.key == key && n.low < high && n.high > low && (fits == nil || fits(n.record)) {
					return n.record
				}
			}
		}
	}
	return nil
}

// all returns the records of all nodes, some of them several times.
func (x *index) all() (all []*record) {
	if t := x.table.Load(); t != nil {
		for i := range *t {
			for n := (*t)[i].Load(); n != nil; n = n.next {
				all = append(all, n.record)
			}
		}
	}
	return all
}
