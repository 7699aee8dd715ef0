package bufpool_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/bufpooltest"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// statser is what all pools have beside Get and Put.
type statser interface {
	bufpool.BufferPool
	Sizes() []int
	Stats() bufpool.Stats
}

// kind is a pool to test, built anew by new.
type kind struct {
	name  string
	new   func(opts ...bufpool.Option) statser
	local bool // it belongs to one goroutine, and keeps what is idle
}

// checked is new, in the second pass through a checker that reports nothing: most of
// these tests misuse on purpose. Where check would hide what is tested (what becomes
// of changed headers, what is counted, which memory is held, and how fast), it is new
// in both passes.
func (k kind) checked(opts ...bufpool.Option) statser {
	return pooltest.Unreported(k.new(opts...)).(statser)
}

// kinds are all pools that keep something, in several configurations.
func kinds() []kind {
	tiered := func(sizes ...int) kind {
		return kind{name: fmt.Sprintf("Tiered%v", sizes), new: func(opts ...bufpool.Option) statser {
			return bufpool.Must(bufpool.NewTiered(sizes, opts...))
		}}
	}
	binary := func(min, max int) kind {
		return kind{name: fmt.Sprintf("BinaryTiered[%d…%d]", min, max), new: func(opts ...bufpool.Option) statser {
			return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(min, max), opts...))
		}}
	}
	stepped := func(min, max, steps int) kind {
		return kind{name: fmt.Sprintf("Stepped[%d…%d by %d]", min, max, steps), new: func(opts ...bufpool.Option) statser {
			return bufpool.Must(bufpool.NewStepped(min, max, steps, opts...))
		}}
	}
	sized := func(size int) kind {
		return kind{name: fmt.Sprintf("Sized(%d)", size), new: func(opts ...bufpool.Option) statser {
			return bufpool.Must(bufpool.NewSized(size, opts...))
		}}
	}
	local := func(parent kind, limit int) kind {
		return kind{name: fmt.Sprintf("Local(%d) over %s", limit, parent.name), new: func(opts ...bufpool.Option) statser {
			return bufpool.NewLocal(parent.new(opts...), limit)
		}, local: true}
	}
	seven := kind{name: "Switch", new: func(opts ...bufpool.Option) statser { return bufpool.Must(bufpool.NewSwitch(opts...)) }}
	var powers []int
	for _, e := range bufpool.Exponents(1, 16<<20) {
		powers = append(powers, 1<<e)
	}
	return []kind{
		tiered(1000, 5000, 70000),
		tiered(1),
		{name: "Tiered[1…16777216]", new: tiered(powers...).new},
		tiered(1<<10, 2<<10, 4<<10, 8<<10, 16<<10, 32<<10, 48<<10, 64<<10, 96<<10, 128<<10), // loki#12362
		binary(1, 16<<20),
		binary(1, 1),
		binary(256, 8<<20),
		{name: "BinaryTiered[8 12 14 15 20]", new: func(opts ...bufpool.Option) statser {
			return bufpool.Must(bufpool.NewBinaryTiered([]uint8{8, 12, 14, 15, 20}, opts...))
		}},
		stepped(32, 1<<20, 4),
		stepped(8, 64<<10, 8),
		stepped(4, 64, 4),
		stepped(1024, 1024, 8),
		seven,
		sized(1),
		sized(1000),
		sized(64 << 10),
		local(tiered(1000, 5000, 70000), 1<<20),
		local(binary(256, 8<<20), 16<<20),
		local(stepped(32, 256<<10, 4), 1<<20),
		local(seven, 64<<10), // not the larger ones
		local(binary(1, 16<<10), 0),
		local(local(sized(1000), 2000), 1000),
	}
}

func TestContract(t *testing.T) {
	for _, k := range kinds() {
		for _, mode := range []bufpool.Clear{bufpool.ClearNever, bufpool.ClearOnGet, bufpool.ClearOnPut} {
			sizes := k.new().Sizes()
			most := math.MaxInt
			if pooltest.Checked() {
				most = 128 << 10
			} else if mode != bufpool.ClearNever {
				most = 1 << 20
			}
			if sizes[len(sizes)-1] > most {
				continue // seconds of clearing or poisoning, and nothing that the others do not show
			}
			t.Run(fmt.Sprintf("%s/%v", k.name, mode), func(t *testing.T) {
				t.Parallel()
				check := bufpooltest.Check
				if k.local {
					check = bufpooltest.CheckSequential
				}
				if err := check(func() bufpool.BufferPool { return k.checked(bufpool.WithClear(mode)) }, sizes); err != nil {
					t.Error(err)
				}
			})
		}
	}
	t.Run("zero Switch", func(t *testing.T) {
		bufpooltest.Test(t, func() bufpool.BufferPool { return pooltest.Unreported(new(bufpool.Switch)) }, sevenSizes)
	})
	t.Run("Nop", func(t *testing.T) {
		bufpooltest.Test(t, func() bufpool.BufferPool { return pooltest.Unreported(bufpool.Nop{}) }, nil)
	})
	t.Run("default", func(t *testing.T) {
		var sizes []int
		for size := 256; size <= 8<<20; size *= 2 {
			sizes = append(sizes, size)
		}
		if got := bufpool.Default().(statser).Sizes(); !slices.Equal(got, sizes) {
			t.Errorf("the default's tiers are %v, want %v", got, sizes)
		}
	})
}

// TestPutsAreAnsweredAlike puts every capacity from 0 to twice the largest tier
// into pools of the same tiers, and compares what becomes of it.
func TestPutsAreAnsweredAlike(t *testing.T) {
	binary := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(16, 64<<10)))
	four := bufpool.Must(bufpool.NewStepped(16, 64<<10, 4))
	eight := bufpool.Must(bufpool.NewStepped(8, 64<<10, 8))
	for name, pools := range map[string][]statser{
		"powers": {binary, bufpool.Must(bufpool.NewTiered(binary.Sizes()))},
		"four":   {four, bufpool.Must(bufpool.NewTiered(four.Sizes())), bufpool.NewLocal(bufpool.Must(bufpool.NewTiered(four.Sizes())), 0)},
		"eight":  {eight, bufpool.Must(bufpool.NewTiered(eight.Sizes())), bufpool.NewLocal(bufpool.Must(bufpool.NewTiered(eight.Sizes())), 1<<20)},
		"seven":  {new(bufpool.Switch), bufpool.Must(bufpool.NewTiered(sevenSizes))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sizes := pools[0].Sizes()
			largest := sizes[len(sizes)-1]
			memory := make([]byte, 2*largest)
			var want bufpool.Stats
			for c := 0; c <= 2*largest; c++ {
				if raceEnabled && c%4096 > 1 && c%4096 < 4095 && c%11 != 0 {
					continue // ten times as slow, and capacities are not where races are
				}
				switch {
				case c == 0:
					want.Dropped.Empty++
				case c < sizes[0]:
					want.Dropped.Undersized++
				case c > largest:
					want.Dropped.Oversized++
				case !slices.Contains(sizes, c):
					want.Dropped.Between++
				}
				for _, p := range pools {
					b := memory[:0:c]
					p.Put(&b)
				}
				if c%4096 > 1 && c%4096 < 4095 && c > 8192 && c < 2*largest {
					continue // Stats allocates; a wrong answer shows at the next look
				}
				for _, p := range pools {
					if got := p.Stats(); got.Dropped != want.Dropped {
						t.Fatalf("%T, after the Put of a capacity of %d: %+v, want %+v", p, c, got.Dropped, want.Dropped)
					}
				}
			}
		})
	}
}

func TestChangedHeaderIsHarmless(t *testing.T) {
	// The field that was put lives on and is set to nil, cut, or replaced: the
	// Get that meets it counts a miss, and the tier's capacity comes out all the
	// same, even where the field holds a larger buffer.
	for _, k := range kinds() {
		for _, mode := range []bufpool.Clear{bufpool.ClearNever, bufpool.ClearOnGet, bufpool.ClearOnPut} {
			p := k.new(bufpool.WithClear(mode))
			for i, size := range p.Sizes() {
				if size > 1<<20 {
					continue
				}
				for name, change := range map[string]func(*[]byte){
					"nil":      func(b *[]byte) { *b = nil },
					"cut":      func(b *[]byte) { *b = (*b)[: 0 : size-1] },
					"advanced": func(b *[]byte) { *b = (*b)[1:] },
					"larger":   func(b *[]byte) { *b = make([]byte, size+1) },
				} {
					var c struct{ buf []byte }
					c.buf = *p.Get(size)
					before := p.Stats().Tiers[i].Misses
					p.Put(&c.buf)
					change(&c.buf)
					for range 2 {
						b := p.Get(size)
						if len(*b) != size || cap(*b) != size {
							t.Errorf("%s, %v, %s: Get(%d) has length %d, capacity %d", k.name, mode, name, size, len(*b), cap(*b))
						}
					}
					if got := p.Stats().Tiers[i].Misses - before; got != 2 {
						t.Errorf("%s, %v, %s: %d misses, want 2", k.name, mode, name, got)
					}
				}
			}
		}
	}
}

func TestInvalidConfigurations(t *testing.T) {
	tiered := func(sizes ...int) func() (any, error) {
		return func() (any, error) { p, err := bufpool.NewTiered(sizes); return p == nil, err }
	}
	binary := func(exponents ...uint8) func() (any, error) {
		return func() (any, error) { p, err := bufpool.NewBinaryTiered(exponents); return p == nil, err }
	}
	sized := func(size int) func() (any, error) {
		return func() (any, error) { p, err := bufpool.NewSized(size); return p == nil, err }
	}
	stepped := func(min, max, steps int) func() (any, error) {
		return func() (any, error) { p, err := bufpool.NewStepped(min, max, steps); return p == nil, err }
	}
	option := func(o bufpool.Option) func() (any, error) {
		return func() (any, error) { p, err := bufpool.NewSwitch(o); return p == nil, err }
	}
	tooLarge, tooHigh := 1<<30, uint8(31)
	if bits.UintSize == 64 {
		tooLarge, tooHigh = tooLarge<<16, 47
	}
	tooLarge++
	for _, test := range []struct {
		new  func() (any, error)
		want string
	}{
		{tiered(), "no tiers"},
		{binary(), "no tiers"},
		{binary(bufpool.Exponents(3, 3)...), "no tiers"},
		{tiered(0), "size 0 "},
		{tiered(-5), "size -5 "},
		{tiered(4, -5, 8), "size -5 "},
		{tiered(math.MinInt, 8), fmt.Sprintf("size %d ", math.MinInt)},
		{tiered(tooLarge), fmt.Sprintf("size %d ", tooLarge)},
		{tiered(8, math.MaxInt), fmt.Sprintf("size %d ", math.MaxInt)},
		{sized(0), "size 0 "},
		{sized(-1), "size -1 "},
		{sized(math.MaxInt), fmt.Sprintf("size %d ", math.MaxInt)},
		{binary(tooHigh), fmt.Sprintf("exponent %d ", tooHigh)},
		{binary(8, 62), "exponent 62 "},
		{binary(8, 63), "exponent 63 "},
		{binary(64), "exponent 64 "},
		{binary(255), "exponent 255 "},
		{stepped(64, 1024, 0), "0 steps"},
		{stepped(64, 1024, -4), "-4 steps"},
		{stepped(64, 1024, 1), "1 steps"},
		{stepped(64, 1024, 2), "2 steps"},
		{stepped(64, 1024, 5), "5 steps"},
		{stepped(64, 1024, 16), "16 steps"},
		{stepped(64, 1024, math.MaxInt), fmt.Sprintf("%d steps", math.MaxInt)},
		{stepped(0, 1024, 4), "smallest tier 0 "},
		{stepped(-64, 1024, 4), "smallest tier -64 "},
		{stepped(math.MinInt, 1024, 4), fmt.Sprintf("smallest tier %d ", math.MinInt)},
		{stepped(65, 1024, 4), "smallest tier 65 "},
		{stepped(2, 1024, 4), "smallest tier 2 "},
		{stepped(4, 1024, 8), "smallest tier 4 "},
		{stepped(64, 1000, 4), "largest tier 1000 "},
		{stepped(64, 0, 4), "largest tier 0 "},
		{stepped(64, -64, 4), "largest tier -64 "},
		{stepped(64, math.MaxInt, 4), fmt.Sprintf("largest tier %d ", math.MaxInt)},
		{stepped(2048, 1024, 4), "smallest tier 2048 is above the largest, 1024"},
		{func() (any, error) { p, err := bufpool.NewStepped(64, 1024, 4, nil); return p == nil, err }, "nil Option"},
		{option(nil), "nil Option"},
		{option(bufpool.WithClear(3)), "Clear(3)"},
		{option(bufpool.WithClear(255)), "Clear(255)"},
	} {
		isNil, err := test.new()
		if err == nil || !strings.HasPrefix(err.Error(), "bufpool: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want bufpool: … %s", err, test.want)
		}
		if isNil != true {
			t.Errorf("%v, and a pool beside it", err)
		}
	}
	if bits.UintSize == 64 { // on 32 bits, the next power of two is no int
		if _, err := bufpool.NewStepped(64, 2*(tooLarge-1), 4); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("size %d ", 2*(tooLarge-1))) {
			t.Errorf("error %v", err)
		}
	}
	for _, steps := range []int{4, 8} {
		if _, err := bufpool.NewStepped(steps, tooLarge-1, steps); err != nil {
			t.Error(err)
		}
	}
	if _, err := bufpool.NewTiered([]int{tooLarge - 1}); err != nil {
		t.Error(err)
	}
	if _, err := bufpool.NewBinaryTiered([]uint8{tooHigh - 1}); err != nil {
		t.Error(err)
	}
}

func FuzzConstructors(f *testing.F) {
	f.Add(4, 8, 4, uint8(3), uint8(3), uint8(0))
	f.Add(0, -1, math.MaxInt, uint8(63), uint8(64), uint8(4))
	f.Add(16, 1<<12, 8, uint8(0), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c int, d, e, mode uint8) {
		sizes := []int{a, b, c}
		exponents := []uint8{d, e}
		clearing := bufpool.WithClear(bufpool.Clear(mode))
		tiered, errTiered := bufpool.NewTiered(sizes, clearing)
		binary, errBinary := bufpool.NewBinaryTiered(exponents, clearing)
		if !slices.Equal(sizes, []int{a, b, c}) || !slices.Equal(exponents, []uint8{d, e}) {
			t.Fatal("the caller's slice was changed")
		}
		use := func(p statser, err error) {
			if err != nil {
				if !strings.HasPrefix(err.Error(), "bufpool: ") {
					t.Fatal(err)
				}
				return
			}
			sizes := p.Sizes()
			if !slices.IsSorted(sizes) || len(slices.Compact(p.Sizes())) != len(sizes) {
				t.Fatal(sizes)
			}
			if sizes[0] <= 1<<20 { // and does not need half the machine
				if got := cap(*p.Get(0)); got != sizes[0] {
					t.Fatalf("Get(0) has capacity %d of %d", got, sizes)
				}
			}
			p.Put(nil)
		}
		use(tiered, errTiered)
		use(binary, errBinary)
		stepped, errStepped := bufpool.NewStepped(a, b, c, clearing)
		use(stepped, errStepped)
		if e := bufpool.Exponents(a, b); len(e) > bits.UintSize-1 {
			t.Fatal(e)
		}
	})
}

func TestDuplicatesAndOrderDoNotMatter(t *testing.T) {
	sizes, exponents := []int{8, 4, 8, 4}, []uint8{3, 2, 3, 2}
	tiered := bufpool.Must(bufpool.NewTiered(sizes))
	binary := bufpool.Must(bufpool.NewBinaryTiered(exponents))
	if !slices.Equal(sizes, []int{8, 4, 8, 4}) || !slices.Equal(exponents, []uint8{3, 2, 3, 2}) {
		t.Errorf("the caller's slices are now %v, %v", sizes, exponents)
	}
	sizes[0] = 1 << 20 // the pool has a copy
	for _, p := range []statser{tiered, binary} {
		if got := p.Sizes(); !slices.Equal(got, []int{4, 8}) {
			t.Errorf("%T: tiers %v", p, got)
		}
		for n, want := range []int{4, 4, 4, 4, 4, 8, 8, 8, 8, 9, 10} {
			if got := cap(*p.Get(n)); got != want {
				t.Errorf("%T: Get(%d) has capacity %d, want %d", p, n, got, want)
			}
		}
	}
}

func TestExponents(t *testing.T) {
	for _, test := range []struct {
		min, max int
		want     []uint8
	}{
		{256, 2048, []uint8{8, 9, 10, 11}},
		{255, 2049, []uint8{8, 9, 10, 11}},
		{257, 2047, []uint8{9, 10}},
		{1, 1, []uint8{0}},
		{-8, 2, []uint8{0, 1}},
		{math.MinInt, 0, nil},
		{3, 3, nil},
		{2048, 256, nil},
		{math.MaxInt, math.MaxInt, nil},
		{math.MaxInt/2 + 1, math.MaxInt, []uint8{bits.UintSize - 2}},
	} {
		if got := bufpool.Exponents(test.min, test.max); !slices.Equal(got, test.want) {
			t.Errorf("Exponents(%d, %d) = %v, want %v", test.min, test.max, got, test.want)
		}
	}
}

func TestMustPanics(t *testing.T) {
	pooltest.MustPanic(t, "bufpool: tier size -1", func() { bufpool.Must(bufpool.NewSized(-1)) })
}

func TestZeroValuesPanicWithTheirNames(t *testing.T) {
	for name, p := range map[string]bufpool.BufferPool{
		"Tiered":       new(bufpool.Tiered),
		"BinaryTiered": new(bufpool.BinaryTiered),
		"Sized":        new(bufpool.Sized),
		"Stepped":      new(bufpool.Stepped),
		"Local":        new(bufpool.Local),
	} {
		for _, n := range []int{-1, 0, 1, 1 << 20} {
			pooltest.MustPanic(t, "bufpool: zero "+name+"; build it with New"+name, func() { p.Get(n) })
		}
		for _, b := range [][]byte{nil, {}, make([]byte, 1)} {
			pooltest.MustPanic(t, "bufpool: zero "+name, func() { p.Put(&b) })
		}
		pooltest.MustPanic(t, "bufpool: zero "+name, func() { p.Put(nil) })
	}
}

func TestNopIsExact(t *testing.T) {
	var p bufpool.Nop
	for _, n := range []int{0, 1, 1000} {
		b := p.Get(n)
		if len(*b) != n || cap(*b) != n {
			t.Errorf("Get(%d) has length %d, capacity %d", n, len(*b), cap(*b))
		}
		p.Put(b)
	}
	if s := p.Stats(); p.Sizes() != nil || s.Tiers != nil || s.OversizedGets != 0 || s.Dropped != (bufpool.Stats{}).Dropped {
		t.Errorf("Sizes %v, Stats %v", p.Sizes(), p.Stats())
	}
}

// Put's slow path does what the fast one does, so that only this shows that the
// fast one takes every tier.
func TestTheFastPathTakesEveryTier(t *testing.T) {
	type lookup interface {
		LookupGet(n int) bool
		LookupPut(c int) bool
	}
	for _, k := range kinds() {
		p := k.new()
		l, ok := p.(lookup)
		if !ok {
			continue // Sized and Switch have no search to ask
		}
		for _, size := range p.Sizes() {
			if !l.LookupGet(size) || !l.LookupPut(size) || l.LookupPut(size+1) && !slices.Contains(p.Sizes(), size+1) {
				t.Errorf("%s: the search does not take %d, or takes one more", k.name, size)
			}
		}
		largest := p.Sizes()[len(p.Sizes())-1]
		for _, n := range []int{-1, math.MinInt, largest + 1, math.MaxInt} {
			if l.LookupGet(n) || l.LookupPut(n) {
				t.Errorf("%s: the search takes %d", k.name, n)
			}
		}
	}
}

func TestDefaultIsWhatItsDocSays(t *testing.T) {
	p, ok := bufpool.Default().(*bufpool.BinaryTiered)
	if !ok {
		t.Fatalf("the default is a %T", bufpool.Default())
	}
	if !isDirty(p) {
		t.Error("the default clears")
	}
}

// The law of routing: what is accepted into a tier serves whatever is routed to
// it.
func TestRandomPutsAndGets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, k := range kinds() {
		p := k.new()
		sizes := p.Sizes()
		most := min(2*sizes[len(sizes)-1]+2, 1<<13)
		memory := make([]byte, most)
		for range 100_000 {
			if rnd.IntN(2) == 0 {
				b := memory[:0:rnd.IntN(most)]
				p.Put(&b)
				continue
			}
			n := rnd.IntN(most)
			if b := p.Get(n); len(*b) != n || cap(*b) < n {
				t.Fatalf("%s: Get(%d) has length %d, capacity %d", k.name, n, len(*b), cap(*b))
			}
			if rnd.IntN(100) == 0 {
				memory = make([]byte, most) // the old ones are in the pool
			}
		}
	}
}

func TestDefaultCapacityIsAtMostTwiceTheLength(t *testing.T) {
	p := pooltest.Unreported(bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	for n := 256; n <= 8<<20; n += n/97 + 1 {
		b := p.Get(n)
		if cap(*b) >= 2*n {
			t.Errorf("Get(%d) has capacity %d", n, cap(*b))
		}
		p.Put(b)
	}
	if got := cap(*p.Get(32769)); got != 65536 { // grpc/grpc-go#8770: 1 MiB
		t.Errorf("Get(32769) has capacity %d", got)
	}
}

func TestSetDefault(t *testing.T) {
	original := bufpool.Default()
	a, b, c := new(bufpool.Switch), bufpool.Nop{}, bufpool.Must(bufpool.NewSized(64))
	restoreA := bufpool.SetDefault(a)
	restoreB := bufpool.SetDefault(b) // of another dynamic type
	restoreC := bufpool.SetDefault(c)
	is := func(want bufpool.BufferPool) {
		t.Helper()
		if got := bufpool.Default(); got != want {
			t.Errorf("default is %T, want %T", got, want)
		}
	}
	is(c)
	if got := cap(*bufpool.Get(3)); got != 64 {
		t.Errorf("Get did not go to the default: capacity %d", got)
	}
	bufpool.Put(nil)
	if got := c.Stats().Dropped.Empty; got != 1 {
		t.Error("Put did not go to the default")
	}
	restoreB() // out of order: what was before b, whatever came since
	is(a)
	restoreC()
	is(b)
	restoreC() // twice is harmless
	restoreB()
	is(b)
	restoreA()
	is(original)
	again := bufpool.SetDefault(a)
	restoreA()
	is(a)
	again()
	is(original)
}

func TestSetDefaultRefusesNil(t *testing.T) {
	before := bufpool.Default()
	for _, p := range []bufpool.BufferPool{
		nil, (*bufpool.Stepped)(nil), (*bufpool.Local)(nil), (*bufpool.Tiered)(nil), (*bufpool.BinaryTiered)(nil), (*bufpool.Switch)(nil), (*bufpool.Sized)(nil), (*bufpool.Nop)(nil),
	} {
		pooltest.MustPanic(t, "bufpool: SetDefault of a nil pool", func() { bufpool.SetDefault(p) })
	}
	pooltest.MustPanic(t, "bufpool: SetDefault of a Local", func() { bufpool.SetDefault(bufpool.NewLocal(nil, 0)) })
	if bufpool.Default() != before {
		t.Error("the default was changed")
	}
}

func TestSetDefaultWhileInUse(t *testing.T) {
	pools := []bufpool.BufferPool{
		bufpool.Default(), new(bufpool.Switch), bufpool.Nop{}, bufpool.Must(bufpool.NewTiered([]int{100, 1000})),
	}
	stop := make(chan struct{})
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for n := i; ; n = (n + 97) % 5000 {
				select {
				case <-stop:
					return
				default:
				}
				b := bufpool.Get(n)
				if len(*b) != n || cap(*b) < n {
					t.Errorf("Get(%d) has length %d, capacity %d", n, len(*b), cap(*b))
					return
				}
				for j := range *b {
					(*b)[j] = byte(i)
				}
				runtime.Gosched()
				for _, got := range *b {
					if got != byte(i) {
						t.Errorf("another's byte %d in the buffer of %d", got, i)
						return
					}
				}
				bufpool.Put(b) // perhaps to another pool than it is from
			}
		})
	}
	for i := range 2000 {
		restore := bufpool.SetDefault(pools[i%len(pools)])
		runtime.Gosched()
		restore()
	}
	close(stop)
	users.Wait()
	if bufpool.Default() != pools[0] {
		t.Error("the default is not what it was")
	}
}

func TestPoolsDoNotShare(t *testing.T) {
	a, b := bufpool.Must(bufpool.NewSized(1024)), bufpool.Must(bufpool.NewSized(1024))
	seen := map[*byte]bool{}
	for range 100 {
		x := a.Get(1024)
		seen[&(*x)[0]] = true
		a.Put(x)
	}
	for range 100 {
		if x := b.Get(1024); seen[&(*x)[0]] {
			t.Fatal("a buffer of one pool came out of another")
		}
	}
}

func TestGrownBuffersAreDroppedOrServed(t *testing.T) {
	// What append makes of a full buffer is rarely a tier.
	for _, k := range kinds() {
		p := k.checked()
		for _, size := range p.Sizes() {
			if size > 1<<20 {
				continue
			}
			for range 20 {
				b := p.Get(size)
				*b = append(*b, 0)
				p.Put(b)
				if got := p.Get(size); cap(*got) != size {
					t.Fatalf("%s: Get(%d) has capacity %d", k.name, size, cap(*got))
				}
			}
		}
	}
}

func TestOnlyTheStandardLibrary(t *testing.T) {
	out := goCommand(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	if got := strings.Fields(out); !slices.Equal(got, []string{"github.com/bufpool/bufpool"}) {
		t.Errorf("the root package depends on %v", got)
	}
	out = goCommand(t, "list", "-f", "{{join .Imports \" \"}}", ".")
	if slices.Contains(strings.Fields(out), "unsafe") {
		t.Error("the root package imports unsafe")
	}
}

// What users of the package get with it is nothing; go.mod may require what
// tests and tools need.
func TestGoModRequiresLittle(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) v`).FindAllSubmatch(mod, -1) {
		if path := string(m[1]); path != "golang.org/x/exp" && path != "github.com/google/go-cmp" {
			t.Errorf("go.mod requires %s", path)
		}
	}
}

func TestVetFindsCopies(t *testing.T) {
	out := goCommand(t, "vet", "-copylocks", "./testdata/copylocks")
	if got := strings.Count(out, "copies lock value"); got != 9 {
		t.Errorf("vet found %d copies of 9:\n%s", got, out)
	}
}

// goCommand returns what the go command prints, whether or not it fails.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out)
}

func TestClearNames(t *testing.T) {
	for c, want := range map[bufpool.Clear]string{
		bufpool.ClearNever: "ClearNever", bufpool.ClearOnGet: "ClearOnGet", bufpool.ClearOnPut: "ClearOnPut", 9: "Clear(9)",
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
