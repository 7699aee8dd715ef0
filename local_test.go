package bufpool_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// user takes from a Local, and knows from the parent what is idle in it.
type user struct {
	t      *testing.T
	local  *bufpool.Local
	pool   bufpool.BufferPool // the Local, in the second pass through check
	parent *balance.Pool
	limit  int
	held   []*[]byte
	bytes  int // capacity of what is held
}

func newUser(t *testing.T, parent bufpool.BufferPool, limit int) *user {
	counted := balance.New(parent)
	local := bufpool.NewLocal(counted, limit)
	pool := pooltest.Check(t, local, check.WithQuarantine(0)) // which would keep back what is to be idle
	return &user{t: t, local: local, pool: pool, parent: counted, limit: limit}
}

func (u *user) idle() int { return int(u.parent.Counts().Lent) - u.bytes }

func (u *user) check(what string) {
	u.t.Helper()
	if idle := u.idle(); idle < 0 || idle > u.limit {
		u.t.Fatalf("after %s, %d bytes are idle, limit %d", what, idle, u.limit)
	}
}

func (u *user) get(n int) {
	u.t.Helper()
	want := n
	if sizes := u.parent.Sizes(); len(sizes) > 0 {
		if i, _ := slices.BinarySearch(sizes, n); i < len(sizes) {
			want = sizes[i]
		}
	}
	b := u.pool.Get(n)
	if b == nil || len(*b) != n || cap(*b) != want {
		u.t.Fatalf("Get(%d): length %d, capacity %d, want %d", n, len(*b), cap(*b), want)
	}
	u.held = append(u.held, b)
	u.bytes += cap(*b)
	u.check(fmt.Sprintf("Get(%d)", n))
}

func (u *user) put(i int) {
	u.t.Helper()
	b := u.held[i]
	u.held = slices.Delete(u.held, i, i+1)
	u.bytes -= cap(*b)
	what := fmt.Sprintf("Put of a capacity of %d", cap(*b))
	u.pool.Put(b)
	u.check(what)
}

func (u *user) finish() {
	u.t.Helper()
	for len(u.held) > 0 {
		u.put(0)
	}
	u.local.Flush()
	if idle := u.idle(); idle != 0 {
		u.t.Errorf("after Flush, %d bytes are idle", idle)
	}
	pooltest.MustBalance(u.t, u.parent)
}

func TestLocalKeepsWhatTheLimitAdmits(t *testing.T) {
	for _, size := range []int{256, 4096, 1 << 20} {
		for _, buffers := range []int{0, 1, 2, 9, 20} {
			for _, limit := range []int{buffers*size - 1, buffers * size, buffers*size + 1} {
				if limit < 0 {
					continue
				}
				u := newUser(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 1<<20))), limit)
				for range 2 {
					for range buffers + 2 {
						u.get(size)
					}
					for len(u.held) > 0 {
						u.put(0)
					}
					if got, want := u.idle(), limit/size*size; got != want {
						t.Errorf("limit %d: %d bytes of tier %d are idle, want %d", limit, got, size, want)
					}
				}
				u.finish()
			}
		}
	}
}

func TestLocalStaysWithinItsLimit(t *testing.T) {
	for seed, parent := range []bufpool.BufferPool{
		bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 64<<10))),
		bufpool.Must(bufpool.NewStepped(32, 64<<10, 8)),
		bufpool.Must(bufpool.NewTiered([]int{1000, 5000, 5001, 70000})),
		bufpool.Must(bufpool.NewSized(1000)),
		new(bufpool.Switch),
		bufpool.Nop{},
	} {
		for _, limit := range []int{0, 1, 999, 1000, 1001, 16 << 10, 100_000, 1 << 20, math.MaxInt} {
			rnd := rand.New(rand.NewPCG(uint64(seed), uint64(limit)))
			u := newUser(t, parent, limit)
			for range 2000 {
				switch n := len(u.held); {
				case n == 0 || n < 20 && rnd.IntN(2) == 0:
					u.get(rnd.IntN(1 << rnd.IntN(18)))
				case rnd.IntN(200) == 0:
					u.local.Flush()
					if idle := u.idle(); idle != 0 {
						t.Fatalf("after Flush, %d bytes are idle", idle)
					}
				default:
					u.put(rnd.IntN(n))
				}
			}
			u.finish()
		}
	}
}

// FuzzLocal compares what is idle with the limit after every call.
func FuzzLocal(f *testing.F) {
	f.Add(uint8(0), 5000, []byte{0, 40, 0, 200, 1, 0, 1, 0, 2, 0})
	f.Add(uint8(1), 0, []byte{0, 1, 0, 2, 1, 1, 1, 0})
	f.Add(uint8(2), 1<<20, bytes.Repeat([]byte{0, 90, 0, 120, 0, 150, 1, 7}, 10))
	f.Fuzz(func(t *testing.T, kind uint8, limit int, ops []byte) {
		var parent bufpool.BufferPool
		switch kind % 3 {
		case 0:
			parent = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 64<<10)))
		case 1:
			parent = bufpool.Must(bufpool.NewStepped(32, 64<<10, 4))
		case 2:
			parent = bufpool.Must(bufpool.NewTiered([]int{1000, 1001, 5000, 70000}))
		}
		u := newUser(t, parent, max(0, limit))
		for ; len(ops) >= 2; ops = ops[2:] {
			switch x := int(ops[1]); ops[0] % 3 {
			case 0:
				if len(u.held) < 40 {
					u.get(x * x)
				}
			case 1:
				if n := len(u.held); n > 0 {
					u.put(x % n)
				}
			case 2:
				u.local.Flush()
			}
		}
		u.finish()
	})
}

// jetty/jetty.project#3391: what filled a bounded cache first keeps out what is
// wanted now.
func TestLocalMakesWayForWhatIsUsedNow(t *testing.T) {
	for _, k := range []bufpool.BufferPool{
		bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 1<<20))),
		bufpool.Must(bufpool.NewStepped(32, 1<<20, 8)), // 121 tiers to look through
	} {
		u := newUser(t, k, 64<<10)
		for _, odd := range []int{64 << 10, 256, 1 << 10} {
			for range (64 << 10) / odd {
				u.get(odd)
			}
			for len(u.held) > 0 {
				u.put(0)
			}
			const popular = 16 << 10
			for range 50 { // while it looks for room
				u.get(popular)
				u.put(0)
			}
			before := u.parent.Counts().Gets
			for range 1000 {
				for range 4 {
					u.get(popular)
				}
				for range 4 {
					u.put(0)
				}
			}
			if got := u.parent.Counts().Gets - before; got > 10 {
				t.Errorf("after buffers of %d, %d of 4000 Gets of a popular size went to the parent", odd, got)
			}
		}
		u.finish()
	}
}

func TestLocalServesMixedSizes(t *testing.T) {
	u := newUser(t, bufpool.Must(bufpool.NewStepped(32, 64<<10, 4)), 1<<20)
	sizes := []int{20, 40, 400, 401, 4000, 5000, 40_000}
	for range 100 {
		for _, n := range sizes {
			u.get(n)
		}
		for len(u.held) > 0 {
			u.put(len(u.held) / 2)
		}
	}
	if got := u.parent.Counts().Gets; got != len(sizes) {
		t.Errorf("the parent served %d Gets, want the first %d", got, len(sizes))
	}
	u.finish()
}

// opaque hides all but Get and Put.
type opaque struct{ bufpool.BufferPool }

func TestLocalKeepsNothingOverAParentThatDoesNotSay(t *testing.T) {
	counted := balance.New(opaque{bufpool.Must(bufpool.NewSized(1000))})
	l := bufpool.NewLocal(opaque{counted}, 1<<20)
	for range 10 {
		l.Put(l.Get(1000))
	}
	if c := counted.Counts(); c.Gets != 10 || c.Puts != 10 {
		t.Errorf("%+v", c)
	}
	if l.Sizes() != nil || l.Stats().Tiers != nil {
		t.Errorf("Sizes %v, Stats %v", l.Sizes(), l.Stats())
	}
}

// strange is a foreign parent: it panics where ours do not, and says its tiers in
// a strange way.
type strange struct {
	t     *testing.T
	sizes []int
	fail  bool
}

func (s *strange) Get(n int) *[]byte {
	if n < 0 {
		s.t.Errorf("the parent was asked for %d", n)
	}
	i, found := slices.BinarySearch([]int{10, 100}, n)
	if !found && i == 2 {
		return bufpool.Nop{}.Get(n)
	}
	b := make([]byte, n, []int{10, 100}[i])
	return &b
}

func (s *strange) Put(b *[]byte) {
	if s.fail {
		panic("the parent failed")
	}
	_ = (*b)[:1] // as gRPC's, no good for nil
}

func (s *strange) Sizes() []int { return s.sizes }

func TestLocalOverAForeignParent(t *testing.T) {
	sizes := []int{100, 0, 10, 100, -7, math.MinInt}
	l := bufpool.NewLocal(&strange{t: t, sizes: sizes}, 1000)
	if !slices.Equal(sizes, []int{100, 0, 10, 100, -7, math.MinInt}) {
		t.Errorf("the parent's slice is now %v", sizes)
	}
	if got := l.Sizes(); !slices.Equal(got, []int{10, 100}) {
		t.Errorf("Sizes %v", got)
	}
	l.Put(nil)
	for _, n := range []int{-1, math.MinInt} {
		pooltest.MustPanic(t, fmt.Sprintf("bufpool: negative length %d", n), func() { l.Get(n) })
	}
	for _, n := range []int{0, 1, 10, 11, 100} {
		b := l.Get(n)
		at := &whole(b)[0]
		l.Put(b)
		if got := l.Get(n); &whole(got)[0] != at || len(*got) != n {
			t.Errorf("Get(%d) was not served from what was put", n)
		}
	}
	if got := cap(*l.Get(101)); got != 101 {
		t.Errorf("Get(101) has capacity %d", got)
	}
}

// A parent that panics costs what it was given, and what was being put when it was
// given something else. Neither is lent, nor given to it again.
func TestLocalSurvivesAParentThatPanics(t *testing.T) {
	parent := &strange{t: t, sizes: []int{10, 100}}
	l := bufpool.NewLocal(parent, 100)
	a, b := l.Get(10), l.Get(10)
	l.Put(a)
	l.Put(b)
	parent.fail = true
	pooltest.MustPanic(t, "the parent failed", l.Flush)
	pooltest.MustPanic(t, "the parent failed", l.Flush)
	l.Flush() // nothing is left
	c, d := l.Get(10), l.Get(100)
	l.Put(c)
	pooltest.MustPanic(t, "the parent failed", func() { l.Put(d) }) // which takes c's place
	parent.fail = false
	if x, y := l.Get(10), l.Get(100); x == a || x == b || x == c || y == d {
		t.Error("a buffer that was lost was lent")
	}
	for range 3 {
		l.Put(l.Get(100))
	}
	l.Flush()
}

// erratic is a parent that fails now and then, and one that uses the Local that it
// is the parent of.
type erratic struct {
	strange
	local *bufpool.Local
	rnd   *rand.Rand
	depth int
}

func (e *erratic) Get(n int) *[]byte {
	e.act()
	return e.strange.Get(n)
}

func (e *erratic) Put(b *[]byte) {
	e.act()
	e.strange.Put(b)
}

func (e *erratic) act() {
	if e.depth == 3 {
		return
	}
	e.depth++
	defer func() { e.depth-- }()
	switch e.rnd.IntN(12) {
	case 0:
		panic("the parent failed")
	case 1:
		e.local.Flush()
	case 2:
		e.local.Get(e.rnd.IntN(150))
	case 3, 4, 5:
		b := make([]byte, []int{10, 100}[e.rnd.IntN(2)])
		e.local.Put(&b)
	}
}

func TestLocalUnderAnErraticParent(t *testing.T) {
	for limit := range 340 {
		e := &erratic{strange: strange{t: t, sizes: []int{10, 100}}, rnd: rand.New(rand.NewPCG(9, uint64(limit)))}
		e.local = bufpool.NewLocal(e, limit)
		lent := map[*[]byte]bool{}
		for range 300 {
			func() {
				defer func() {
					if r := recover(); r != nil && r != "the parent failed" {
						panic(r)
					}
				}()
				if n := e.rnd.IntN(150); e.rnd.IntN(2) == 0 {
					b := e.local.Get(n)
					if len(*b) != n || lent[b] {
						t.Fatalf("Get(%d): length %d, lent already: %v", n, len(*b), lent[b])
					}
					lent[b] = true
				} else {
					for b := range lent {
						delete(lent, b)
						e.local.Put(b)
						break
					}
				}
			}()
			if idle := e.local.Idle(); idle < 0 || idle > limit {
				t.Fatalf("%d bytes are idle, limit %d", idle, limit)
			}
		}
	}
}

func TestLocalParents(t *testing.T) {
	one := bufpool.Must(bufpool.NewSized(77))
	restore := bufpool.SetDefault(one)
	var typedNil *bufpool.Tiered
	locals := []*bufpool.Local{bufpool.NewLocal(nil, 1000), bufpool.NewLocal(typedNil, 1000)}
	restore()
	for _, l := range locals { // the default of then
		if got := l.Sizes(); !slices.Equal(got, []int{77}) {
			t.Errorf("Sizes %v", got)
		}
	}
	pooltest.MustPanic(t, "bufpool: negative limit -1", func() { bufpool.NewLocal(nil, -1) })
	pooltest.MustPanic(t, fmt.Sprintf("bufpool: negative limit %d", math.MinInt), func() { bufpool.NewLocal(one, math.MinInt) })
	pooltest.MustPanic(t, "bufpool: zero Local; build it with NewLocal", new(bufpool.Local).Flush)
	if l := new(bufpool.Local); l.Sizes() != nil || l.Stats().Tiers != nil {
		t.Error("a zero Local has tiers")
	}
	l := bufpool.NewLocal(bufpool.Nop{}, 1000)
	if b := l.Get(10); cap(*b) != 10 {
		t.Errorf("over Nop, Get(10) has capacity %d", cap(*b))
	}
	l.Put(nil)
}

// A pool that embeds one of ours, to count or to restrict, clears as it does.
type embedding struct{ *bufpool.Tiered }

func TestLocalClearsAsItsParent(t *testing.T) {
	mode := bufpool.WithClear(bufpool.ClearOnPut)
	for name, parent := range map[string]bufpool.BufferPool{
		"embedded": embedding{bufpool.Must(bufpool.NewTiered([]int{100, 1000}, mode))},
		"local":    bufpool.NewLocal(bufpool.Must(bufpool.NewTiered([]int{100, 1000}, mode)), 0),
	} {
		l := bufpool.NewLocal(parent, 1000)
		for _, n := range []int{100, 1000, 100, 100} { // kept here, or not
			b := l.Get(n)
			fill(b)
			alias := whole(b)
			l.Put(b)
			if !isZero(alias) {
				t.Errorf("%s: Put of a capacity of %d left secrets", name, n)
			}
		}
	}
	// Over a pool that is not ours nothing is cleared, as its doc says.
	l := bufpool.NewLocal(balance.New(bufpool.Must(bufpool.NewSized(100, mode))), 1000)
	b := l.Get(100)
	fill(b)
	alias := whole(b)
	l.Put(b)
	if isZero(alias) {
		t.Error("cleared over a parent that is not ours")
	}
	l.Flush()
	if !isZero(alias) {
		t.Error("Flush did not give it to the parent, which clears")
	}
}

// An embedding that forwards no nil is not ours.
type fussy struct{ *bufpool.Tiered }

func (f fussy) Put(b *[]byte) {
	_ = (*b)[:0]
	f.Tiered.Put(b)
}

func TestLocalPutsNoNilIntoAForeignParent(t *testing.T) {
	tiered := bufpool.Must(bufpool.NewTiered([]int{100}))
	bufpool.NewLocal(fussy{tiered}, 1000).Put(nil)
	bufpool.NewLocal(tiered, 1000).Put(nil)
	if got := tiered.Stats().Dropped.Empty; got != 1 {
		t.Errorf("%d empty Puts were counted, want one", got)
	}
}

// A header that was changed after Put may stand for a buffer that is in use: it
// is neither lent nor given to the parent.
func TestLocalAndChangedHeaders(t *testing.T) {
	for name, change := range map[string]func(*[]byte){
		"nil":     func(b *[]byte) { *b = nil },
		"cut":     func(b *[]byte) { *b = (*b)[:0:999] },
		"larger":  func(b *[]byte) { *b = make([]byte, 1001) },
		"smaller": func(b *[]byte) { *b = make([]byte, 500) }, // a tier's
	} {
		for i := range 5 {
			for _, flush := range []bool{false, true} {
				u := newUser(t, bufpool.Must(bufpool.NewTiered([]int{500, 1000})), 5000)
				var held []*[]byte
				for range 5 {
					held = append(held, u.local.Get(1000))
				}
				for _, b := range held {
					u.local.Put(b)
				}
				change(held[i])
				if flush {
					u.local.Flush()
					if got := u.parent.Counts().Puts; got != 4 {
						t.Errorf("%s: the parent was given %d of 5", name, got)
					}
					continue
				}
				for range 6 {
					for _, n := range []int{501, 999, 1000} {
						if b := u.local.Get(n); cap(*b) != 1000 || b == held[i] {
							t.Errorf("%s: Get(%d) has capacity %d", name, n, cap(*b))
						}
					}
				}
			}
		}
	}
}

// An empty slice is no buffer of the tier used last, whatever stands for none.
func TestLocalEmptyPuts(t *testing.T) {
	for _, mode := range []bufpool.Clear{bufpool.ClearNever, bufpool.ClearOnGet, bufpool.ClearOnPut} {
		p := bufpool.Must(bufpool.NewTiered([]int{1000}, bufpool.WithClear(mode)))
		l := bufpool.NewLocal(p, 10_000)
		l.Put(l.Get(1000))
		l.Get(1000)
		l.Put(new([]byte))
		if got := p.Stats().Dropped.Empty; got != 1 {
			t.Errorf("%v: %d empty Puts were counted, want one", mode, got)
		}
	}
}

// What makes way for what, and what does not have to.
func TestLocalMakesRoom(t *testing.T) {
	tiered := func(sizes ...int) bufpool.BufferPool { return bufpool.Must(bufpool.NewTiered(sizes)) }
	takeAndPut := func(u *user, sizes ...int) {
		for _, n := range sizes {
			u.get(n)
		}
		for len(u.held) > 0 {
			u.put(0)
		}
	}
	served := func(u *user, sizes ...int) (gets int) { // by the parent
		before := u.parent.Counts().Gets
		takeAndPut(u, sizes...)
		return u.parent.Counts().Gets - before
	}
	t.Run("the smallest tier", func(t *testing.T) {
		u := newUser(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(1, 16))), 100)
		takeAndPut(u, 1)
		takeAndPut(u, 16)
		if got := served(u, 1) + served(u, 16) + served(u, 0); got != 0 {
			t.Errorf("%d Gets went to the parent", got)
		}
	})
	t.Run("tiers in turn", func(t *testing.T) {
		u := newUser(t, tiered(100, 200, 300), 600)
		takeAndPut(u, 100, 200, 300)
		for range 10 {
			if got := served(u, 100, 200) + served(u, 300); got != 0 {
				t.Fatalf("%d Gets went to the parent", got)
			}
		}
	})
	t.Run("nothing makes way in vain", func(t *testing.T) {
		u := newUser(t, tiered(100, 600), 1000)
		takeAndPut(u, 100, 100, 100, 100, 600, 600)
		if got := u.parent.Counts().Puts; got != 1 {
			t.Errorf("%d Puts went to the parent, want one", got)
		}
	})
	t.Run("no more than has to", func(t *testing.T) {
		u := newUser(t, tiered(100, 200), 400)
		takeAndPut(u, 100, 100, 100, 100, 200)
		if u.idle() != 400 {
			t.Errorf("%d bytes are idle, limit 400", u.idle())
		}
		takeAndPut(u, 100, 100, 100, 100)
		if got := served(u, 100, 100, 100, 100); got != 0 {
			t.Errorf("%d Gets of a size that fills the limit went to the parent", got)
		}
	})
	t.Run("the largest tier", func(t *testing.T) {
		u := newUser(t, tiered(100, 200), 200)
		takeAndPut(u, 200)
		if got := served(u, 100); got != 1 {
			t.Errorf("%d Gets went to the parent", got)
		}
		if got := served(u, 100); got != 0 {
			t.Errorf("what is put last does not take the place of what was there: %d", got)
		}
	})
	t.Run("a large one among many small tiers", func(t *testing.T) {
		u := newUser(t, bufpool.Must(bufpool.NewStepped(32, 1<<20, 8)), 64<<10)
		for range 20 {
			for n := 1; n < 4096; n += n/8 + 1 {
				takeAndPut(u, n)
			}
			takeAndPut(u, 56<<10)
			if got := served(u, 56<<10); got != 0 {
				t.Fatalf("%d Gets went to the parent", got)
			}
		}
	})
	t.Run("an empty slot first", func(t *testing.T) {
		u := newUser(t, tiered(100, 101), 402)
		for _, n := range []int{100, 100, 100, 101, 101} {
			u.get(n)
		}
		for range 4 {
			u.put(0)
		}
		last := u.held
		u.held = nil
		u.get(100)
		u.held = append(last, u.held...)
		before := u.parent.Counts().Puts
		u.put(0)
		if got := u.parent.Counts().Puts - before; got != 0 {
			t.Errorf("%d Puts to the parent, though a slot was empty", got)
		}
		u.finish()
	})
}

// What a Local has beside its limit does not grow with what it was used for.
func TestLocalIsSmallAfterFlush(t *testing.T) {
	p := bufpool.Must(bufpool.NewStepped(32, 64<<10, 8))
	const limit = 64 << 10
	before := pooltest.Heap()
	l := bufpool.NewLocal(p, limit)
	for range 3 {
		for _, size := range p.Sizes() {
			var held []*[]byte
			for range limit / size {
				held = append(held, l.Get(size))
			}
			for _, b := range held {
				l.Put(b)
			}
		}
	}
	l.Flush()
	if got, most := pooltest.Heap()-before, int64(448+(16+128)*len(p.Sizes())+8192); got > most { // and what sync.Pools keep
		t.Errorf("%d bytes, want at most %d", got, most)
	}
	runtime.KeepAlive(l)
}

// What is lent and then dropped is garbage: the Local does not hold on to it, nor
// to what it gave back.
func TestLocalHoldsOnlyWhatIsIdle(t *testing.T) {
	for _, mode := range []bufpool.Clear{bufpool.ClearNever, bufpool.ClearOnGet} {
		p := bufpool.Must(bufpool.NewTiered([]int{1000, 2000}, bufpool.WithClear(mode)))
		l := bufpool.NewLocal(p, 10_000)
		var lent []weak.Pointer[byte]
		get := func(n int) (held []*[]byte) {
			for range n {
				b := l.Get(1000)
				held = append(held, b)
				lent = append(lent, weak.Make(&(*b)[0]))
			}
			return held
		}
		mustBeGone := func(what string) {
			t.Helper()
			for range 3 {
				runtime.GC()
			}
			for i, w := range lent {
				if w.Value() != nil {
					t.Errorf("%v: buffer %d of %d is still held after %s", mode, i, len(lent), what)
				}
			}
			lent = nil
			runtime.KeepAlive(l)
		}
		putAll := func(held []*[]byte) {
			for _, b := range held {
				l.Put(b)
			}
		}

		putAll(get(10))
		get(10)
		mustBeGone("Gets of what was put")
		putAll(get(10))
		l.Flush()
		mustBeGone("Flush")
		putAll(get(10))
		l.Put(l.Get(2000)) // which takes the place of two
		get(10)
		mustBeGone("making room")
	}
}

func TestLocalMayChangeHands(t *testing.T) {
	l := bufpool.NewLocal(nil, 1<<20)
	next := make(chan *bufpool.Local)
	done := make(chan bool)
	for range 4 {
		go func() {
			for l := range next {
				l.Put(l.Get(1000))
				done <- true
			}
		}()
	}
	for range 100 {
		next <- l
		<-done
	}
	close(next)
	l.Flush()
}

// Two goroutines that use one Local at once are reported by the race detector:
// here, in a process of their own.
func TestRaceDetectorReportsASharedLocal(t *testing.T) {
	if os.Getenv("BUFPOOL_SHARE_A_LOCAL") != "" {
		l := bufpool.NewLocal(nil, 1<<20)
		l.Put(l.Get(1000))
		done := make(chan bool)
		go func() {
			l.Put(l.Get(1000))
			done <- true
		}()
		l.Put(l.Get(1000))
		<-done
		return
	}
	if !raceEnabled {
		t.Skip("needs the race detector")
	}
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "BUFPOOL_SHARE_A_LOCAL=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "DATA RACE") {
		t.Errorf("no race was reported: %v\n%s", err, out)
	}
}
