package bufpooltest

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/bufpool/bufpool"
)

type rule struct {
	Rule
	check func(subject) error
}

// rules has Goroutines last, for CheckSequential leaves it out.
var rules = []rule{
	{NotNil, checkNotNil},
	{Length, checkLength},
	{Capacity, checkCapacity},
	{Oversize, checkOversize},
	{NegativeLength, checkNegativeLength},
	{HugeLength, checkHugeLength},
	{Distinct, checkDistinct},
	{Keeps, checkKeeps},
	{Drops, checkDrops},
	{Empty, checkEmpty},
	{ChangedHeader, checkChangedHeader},
	{Sizes, checkSizes},
	{Counts, checkCounts},
	{Goroutines, checkGoroutines},
}

// subject is what is checked.
type subject struct {
	newPool func() bufpool.BufferPool
	tiers   []int // ascending, distinct
}

// tries is how often something is tried that a pool may refuse at any time: the
// race detector makes sync.Pool lose one Put in four, a goroutine may change
// its processor between Put and Get, and a collection may come at any time.
const tries = 50

// largest returns the largest tier, or a size to go on with if there is none.
func (s subject) largest() int {
	if len(s.tiers) == 0 {
		return 4096
	}
	return s.tiers[len(s.tiers)-1]
}

// capacity returns what Get(n) must have.
func (s subject) capacity(n int) int {
	if i, _ := slices.BinarySearch(s.tiers, n); i < len(s.tiers) {
		return s.tiers[i]
	}
	return n
}

// lengths are those at which a search for a tier can be wrong: near the tiers,
// near powers of two, and some that are like any other.
func (s subject) lengths() []int {
	most := 2*s.largest() + 1
	ns := []int{0, 1, most}
	for _, t := range s.tiers {
		ns = append(ns, t/2, t-1, t, t+1)
	}
	for p := 1; p <= most/2; p *= 2 {
		ns = append(ns, p-1, p, p+1, p+p/3)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

// strange are capacities that are no tier's.
func (s subject) strange() []int {
	cs := []int{1, s.largest() + 1, 2*s.largest() + 1, 2 * s.largest()}
	for _, t := range s.tiers {
		cs = append(cs, t/2, t-1, t+1, t+t/4)
	}
	slices.Sort(cs)
	return slices.DeleteFunc(slices.Compact(cs), func(c int) bool {
		return c < 1 || slices.Contains(s.tiers, c)
	})
}

// base identifies the memory of a buffer. Holding it keeps the memory from
// being allocated anew, so that two buffers of one base are one.
func base(b *[]byte) *byte {
	if b == nil || cap(*b) == 0 {
		return nil
	}
	return &(*b)[:1][0]
}

// notServed is the error of a Get that returns nil or another length. Where the
// first two rules are broken already, the others need not repeat it.
type notServed string

func (e notServed) Error() string { return string(e) }

// get is Get, and an error if what comes out is not as long as asked for.
func get(p bufpool.BufferPool, n int) (*[]byte, error) {
	b := p.Get(n)
	if b == nil {
		return nil, notServed(fmt.Sprintf("Get(%d) returned nil", n))
	}
	if len(*b) != n {
		return nil, notServed(fmt.Sprintf("Get(%d) returned length %d", n, len(*b)))
	}
	return b, nil
}

// works is an error if the pool does not serve the usual requests.
func (s subject) works(p bufpool.BufferPool) error {
	for _, n := range []int{0, 1, s.largest(), s.largest() + 1} {
		b, err := get(p, n)
		if err != nil {
			return err
		}
		if cap(*b) != s.capacity(n) {
			return fmt.Errorf("Get(%d) returned capacity %d, want %d", n, cap(*b), s.capacity(n))
		}
		p.Put(b)
	}
	return nil
}

// search takes buffers of each tier, and of what the alien's capacity could serve
// by itself, and puts them back. It is an error if one of them is made of the
// alien's memory.
func (s subject) search(p bufpool.BufferPool, alien *byte, capacity int) error {
	ns := append(slices.Clone(s.tiers), capacity)
	if capacity > s.largest() {
		ns = append(ns, s.largest()+1)
	}
	for _, n := range ns {
		var held []*[]byte
		for range 2 {
			b, err := get(p, n)
			if err != nil {
				return err
			}
			if base(b) == alien {
				return fmt.Errorf("Get(%d) served it, with capacity %d", n, cap(*b))
			}
			held = append(held, b)
		}
		for _, b := range held {
			p.Put(b)
		}
	}
	return nil
}

func checkNotNil(s subject) error {
	p := s.newPool()
	for range 3 { // cold and warm
		for _, n := range s.lengths() {
			b := p.Get(n)
			if b == nil {
				return fmt.Errorf("Get(%d) returned nil", n)
			}
			p.Put(b)
		}
	}
	return nil
}

func checkLength(s subject) error {
	p := s.newPool()
	for i := range tries {
		for _, n := range s.lengths() {
			if i > 2 && n > 1<<16 {
				continue // seen; too much memory to clear again and again
			}
			b, err := get(p, n)
			if err != nil {
				return err
			}
			switch i % 3 { // leave it changed to the next one
			case 0:
				*b = (*b)[:0]
			case 1:
				*b = (*b)[:cap(*b)]
			}
			p.Put(b)
			if i > 0 {
				continue
			}
			// Neither a capacity that the pool should not have kept nor a
			// length it should not have routed by may make the next one short.
			for _, c := range []int{n / 2, n - 1} {
				if c > 0 {
					strange := make([]byte, c)
					p.Put(&strange)
				}
				b, err := get(p, n)
				if err != nil {
					return fmt.Errorf("after Put of a capacity of %d: %w", c, err)
				}
				p.Put(b)
			}
		}
	}
	return nil
}

func checkCapacity(s subject) error {
	p := s.newPool()
	for range 3 {
		for _, n := range s.lengths() {
			b, err := get(p, n)
			if err != nil {
				return err
			}
			if cap(*b) != s.capacity(n) {
				return fmt.Errorf("Get(%d) returned capacity %d, want %d", n, cap(*b), s.capacity(n))
			}
			*b = (*b)[:len(*b)/2] // in case Put goes by the length
			p.Put(b)
		}
	}
	return nil
}

func checkOversize(s subject) error {
	p := s.newPool()
	for i, n := range []int{s.largest() + 1, 2 * s.largest(), 3*s.largest() + 1} {
		b, err := get(p, n)
		if err != nil {
			return err
		}
		alien := base(b)
		*b = (*b)[:i*10%n] // what counts is the capacity
		p.Put(b)
		if err := s.search(p, alien, n); err != nil {
			return fmt.Errorf("after Put of Get(%d): %w", n, err)
		}
	}
	err := forgets(func() (dropped []weak.Pointer[byte]) {
		for i := range 10 {
			b := p.Get(s.largest() + 16 + i) // less lies in a block with others
			dropped = append(dropped, weak.Make(base(b)))
			p.Put(b)
		}
		return dropped
	})
	runtime.KeepAlive(p)
	return err
}

// forgets is an error if one of the buffers that put makes the pool drop is
// still alive after some collections.
func forgets(put func() []weak.Pointer[byte]) error {
	dropped := put()
	for range 3 { // one that any sync.Pool had kept would live through two
		runtime.GC()
	}
	for i, b := range dropped {
		if b.Value() != nil {
			return fmt.Errorf("buffer %d of %d that were dropped is kept alive", i+1, len(dropped))
		}
	}
	return nil
}

// panicOf calls f and returns what it panics with, as text; ok says whether it
// does.
func panicOf(f func()) (text string, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			text, ok = fmt.Sprint(v), true
		}
	}()
	f()
	return "", false
}

func checkNegativeLength(s subject) error {
	p := s.newPool()
	ns := []int{-1, -4096, math.MinInt32, math.MinInt}
	if bits.UintSize == 64 {
		below := int64(-20008899456) // was seen in the field, wrapped to gigabytes
		ns = append(ns, int(below))
	}
	for range 2 { // cold and warm
		before := stats(p)
		for _, n := range ns {
			want := fmt.Sprint("bufpool: negative length ", n)
			text, ok := panicOf(func() { p.Get(n) })
			if !ok {
				return fmt.Errorf("Get(%d) did not panic", n)
			}
			if text != want {
				return fmt.Errorf("Get(%d) panicked with %q, want %q", n, text, want)
			}
		}
		if err := equalStats(stats(p), before); err != nil {
			return err
		}
		if err := s.works(p); err != nil {
			return fmt.Errorf("afterwards: %w", err)
		}
	}
	return nil
}

func checkHugeLength(s subject) error {
	if bits.UintSize < 64 {
		return nil // any length might be had, and some would end the process
	}
	huge := []int64{1<<48 + 1, 1 << 62, math.MaxInt64, 0x5e94517a36ddaf0d}
	p := s.newPool()
	for range 2 {
		before := stats(p)
		for _, n := range huge {
			if _, ok := panicOf(func() { p.Get(int(n)) }); !ok {
				return fmt.Errorf("Get(%d) did not panic", n)
			}
		}
		if err := equalStats(stats(p), before); err != nil {
			return err
		}
		if err := s.works(p); err != nil {
			return fmt.Errorf("afterwards: %w", err)
		}
	}
	return nil
}

func checkDistinct(s subject) error {
	p := s.newPool()
	type lent struct {
		b     *[]byte
		stamp byte
	}
	var held []lent
	var stamp byte // of the latest; fewer than 256 are held at any time
	owner := map[*byte]bool{}
	take := func(n int) error {
		b, err := get(p, n)
		if err != nil {
			return err
		}
		if at := base(b); at != nil {
			if owner[at] {
				return fmt.Errorf("Get(%d) returned a buffer that is still lent", n)
			}
			owner[at] = true
		}
		stamp++
		mark(b, stamp)
		held = append(held, lent{b, stamp})
		return nil
	}
	give := func(i int) error {
		l := held[i]
		held = slices.Delete(held, i, i+1)
		if !marked(l.b, l.stamp) {
			return fmt.Errorf("a lent buffer of capacity %d was written to by others", cap(*l.b))
		}
		delete(owner, base(l.b))
		p.Put(l.b)
		return nil
	}
	for range 3 {
		for _, n := range s.lengths() {
			if err := errors.Join(take(n), take(n)); err != nil {
				return err
			}
			if err := errors.Join(give(len(held)-2), take(n), give(0), take(n)); err != nil {
				return err
			}
			for len(held) > 4 {
				if err := give(1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ends are the parts of the whole capacity that mark writes to: all of it, or of
// a large one a page at each end.
func ends(b *[]byte) [2][]byte {
	const page = 4096
	whole := (*b)[:cap(*b)]
	if len(whole) <= 2*page {
		return [2][]byte{whole}
	}
	return [2][]byte{whole[:page], whole[len(whole)-page:]}
}

func mark(b *[]byte, stamp byte) {
	for _, part := range ends(b) {
		for i := range part {
			part[i] = stamp
		}
	}
}

func marked(b *[]byte, stamp byte) bool {
	for _, part := range ends(b) {
		for _, got := range part {
			if got != stamp {
				return false
			}
		}
	}
	return true
}

func checkKeeps(s subject) error {
	p := s.newPool()
	for i, t := range s.tiers {
		least := 1 // the shortest length that this tier serves
		if i > 0 {
			least = s.tiers[i-1] + 1
		}
		for _, n := range []int{least, t} {
			for _, length := range []int{0, t / 2, t} {
				// Not each Get need have the last Put, but one an earlier one.
				put := map[*byte]bool{}
				kept := false
				for range tries {
					b, err := get(p, n)
					if err != nil {
						return err
					}
					if kept = put[base(b)]; kept {
						p.Put(b)
						break
					}
					put[base(b)] = true
					*b = (*b)[:length]
					p.Put(b)
				}
				if !kept {
					return fmt.Errorf("of %d buffers of Get(%d), put back with length %d, none came back", tries, n, length)
				}
			}
		}
	}
	return nil
}

func checkDrops(s subject) error {
	p := s.newPool()
	for i, c := range s.strange() {
		b := make([]byte, c)
		alien := base(&b)
		b = b[:c*(i%3)/2]
		p.Put(&b)
		if err := s.search(p, alien, c); err != nil {
			return fmt.Errorf("after Put of a capacity of %d: %w", c, err)
		}
	}
	err := forgets(func() (dropped []weak.Pointer[byte]) {
		for _, c := range s.strange() {
			if c < 16 {
				continue // lies in a block with others, which keep it alive
			}
			b := make([]byte, c)
			dropped = append(dropped, weak.Make(base(&b)))
			p.Put(&b)
		}
		return dropped
	})
	runtime.KeepAlive(p)
	return err
}

func checkEmpty(s subject) error {
	p := s.newPool()
	for range tries {
		var null []byte
		empty := []byte{}
		end := make([]byte, 10)[10:]
		for _, b := range []*[]byte{nil, &null, &empty, &end} {
			p.Put(b)
			for _, n := range []int{0, 1} {
				got, err := get(p, n)
				if err != nil {
					return fmt.Errorf("after Put of nothing: %w", err)
				}
				if cap(*got) != s.capacity(n) {
					return fmt.Errorf("after Put of nothing, Get(%d) returned capacity %d, want %d", n, cap(*got), s.capacity(n))
				}
				if got == b {
					return fmt.Errorf("Get(%d) returned the header of nothing that was put", n)
				}
				p.Put(got)
			}
		}
	}
	return nil
}

func checkChangedHeader(s subject) error {
	p := s.newPool()
	changes := map[string]func(b *[]byte){
		"set to nil":  func(b *[]byte) { *b = nil },
		"shortened":   func(b *[]byte) { *b = (*b)[: len(*b)/2 : len(*b)/2] },
		"advanced":    func(b *[]byte) { *b = (*b)[1:] },
		"replaced":    func(b *[]byte) { *b = make([]byte, s.tiers[0]) },
		"made larger": func(b *[]byte) { *b = make([]byte, 2*cap(*b)) },
	}
	for name, change := range changes {
		for _, t := range s.tiers {
			for range 3 {
				b, err := get(p, t)
				if err != nil {
					return err
				}
				p.Put(b)
				change(b)
				for range 3 {
					if _, err := get(p, t); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
			}
		}
	}
	return nil
}

func checkSizes(s subject) error {
	p, ok := s.newPool().(interface{ Sizes() []int })
	if !ok {
		return nil
	}
	sizes := p.Sizes()
	if !slices.Equal(sizes, s.tiers) {
		return fmt.Errorf("%v, want %v", sizes, s.tiers)
	}
	clear(sizes)
	if !slices.Equal(p.Sizes(), s.tiers) {
		return errors.New("changing the slice changed the pool")
	}
	return nil
}

// stats returns what the pool counted, or nothing if it does not say.
func stats(p bufpool.BufferPool) bufpool.Stats {
	if p, ok := p.(interface{ Stats() bufpool.Stats }); ok {
		return p.Stats()
	}
	return bufpool.Stats{}
}

func equalStats(got, want bufpool.Stats) error {
	if !slices.Equal(got.Tiers, want.Tiers) || got.OversizedGets != want.OversizedGets || got.Dropped != want.Dropped {
		return fmt.Errorf("stats are %+v, want %+v", got, want)
	}
	return nil
}

func checkCounts(s subject) error {
	p := s.newPool()
	if _, ok := p.(interface{ Stats() bufpool.Stats }); !ok || len(s.tiers) == 0 {
		return nil
	}
	var want bufpool.Stats
	for _, t := range s.tiers {
		want.Tiers = append(want.Tiers, bufpool.TierStats{Size: t})
	}
	if err := equalStats(stats(p), want); err != nil {
		return fmt.Errorf("new: %w", err)
	}

	// Without Puts, every Get is a miss.
	for _, n := range s.lengths() {
		p.Get(n)
		if i, _ := slices.BinarySearch(s.tiers, n); i < len(s.tiers) {
			want.Tiers[i].Misses++
		} else {
			want.OversizedGets++
		}
		if err := equalStats(stats(p), want); err != nil {
			return fmt.Errorf("after Get(%d): %w", n, err)
		}
	}
	for _, c := range append(s.strange(), 0) {
		b := make([]byte, c, max(c, 0))
		p.Put(&b)
		switch {
		case c == 0:
			want.Dropped.Empty++
		case c < s.tiers[0]:
			want.Dropped.Undersized++
		case c > s.largest():
			want.Dropped.Oversized++
		default:
			want.Dropped.Between++
		}
		if err := equalStats(stats(p), want); err != nil {
			return fmt.Errorf("after Put of a capacity of %d: %w", c, err)
		}
	}
	p.Put(nil)
	want.Dropped.Empty++
	if err := equalStats(stats(p), want); err != nil {
		return fmt.Errorf("after Put(nil): %w", err)
	}
	// Buffers that are kept count for nothing.
	for _, t := range s.tiers {
		b := make([]byte, t)
		p.Put(&b)
	}
	if err := equalStats(stats(p), want); err != nil {
		return fmt.Errorf("after Put of a buffer of each tier: %w", err)
	}
	// Neither do hits.
	for range tries {
		b := p.Get(s.tiers[0])
		at := base(b)
		p.Put(b)
		before := stats(p)
		if b = p.Get(s.tiers[0]); base(b) == at {
			if err := equalStats(stats(p), before); err != nil {
				return fmt.Errorf("after a hit: %w", err)
			}
		}
	}
	return nil
}

func checkGoroutines(s subject) error {
	const goroutines, rounds = 8, 2000
	var (
		p      = s.newPool()
		ns     = slices.DeleteFunc(s.lengths(), func(n int) bool { return n > 1<<16 })
		start  = make(chan struct{})
		wg     sync.WaitGroup
		lent   sync.Map // a lock would keep the goroutines apart
		once   sync.Once
		broken error
	)
	fail := func(err error) { once.Do(func() { broken = err }) }
	run := func(seed uint64) error {
		rnd := rand.New(rand.NewPCG(seed, seed))
		for i := range rounds {
			n := ns[rnd.IntN(len(ns))]
			b, err := get(p, n)
			if err != nil {
				return err
			}
			if cap(*b) != s.capacity(n) {
				return fmt.Errorf("Get(%d) returned capacity %d, want %d", n, cap(*b), s.capacity(n))
			}
			at := base(b)
			if at != nil {
				if _, twice := lent.LoadOrStore(at, true); twice {
					return errors.New("two goroutines were lent the same buffer")
				}
			}
			if i%4 == 0 {
				runtime.Gosched()
			}
			if at != nil {
				lent.Delete(at)
			}
			p.Put(b)
			if i%64 == 0 {
				strange := make([]byte, s.largest()+1)
				p.Put(&strange)
				stats(p)
			}
		}
		return nil
	}
	for seed := range uint64(goroutines) {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					fail(fmt.Errorf("panic: %v", v))
				}
			}()
			<-start
			if err := run(seed); err != nil {
				fail(err)
			}
		})
	}
	close(start)
	wg.Wait()
	return broken
}
