package bufpool_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
)

func TestSteppedSizes(t *testing.T) {
	for _, test := range []struct {
		min, max, steps int
		want            []int
	}{
		{4096, 16384, 4, []int{4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384}},
		{64, 128, 8, []int{64, 72, 80, 88, 96, 104, 112, 120, 128}},
		{4, 16, 4, []int{4, 5, 6, 7, 8, 10, 12, 14, 16}},
		{8, 8, 8, []int{8}},
	} {
		p := bufpool.Must(bufpool.NewStepped(test.min, test.max, test.steps))
		if got := p.Sizes(); !slices.Equal(got, test.want) {
			t.Errorf("NewStepped(%d, %d, %d): tiers %v, want %v", test.min, test.max, test.steps, got, test.want)
		}
	}
	if got := len(bufpool.Must(bufpool.NewStepped(32, 16<<20, 4)).Sizes()); got != 19*4+1 {
		t.Errorf("%d tiers", got)
	}
}

// Every length gets the smallest tier that holds it, which above the smallest
// tier exceeds it by less than a quarter, or an eighth.
func TestSteppedServesTheSmallestThatHolds(t *testing.T) {
	for _, p := range []*bufpool.Stepped{
		bufpool.Must(bufpool.NewStepped(4, 64<<10, 4)),
		bufpool.Must(bufpool.NewStepped(32, 64<<10, 4)),
		bufpool.Must(bufpool.NewStepped(8, 64<<10, 8)),
		bufpool.Must(bufpool.NewStepped(256, 64<<10, 8)),
	} {
		sizes := p.Sizes()
		steps := slices.Index(sizes, 2*sizes[0])
		p := pooltest.Check(t, p)
		for n := range sizes[len(sizes)-1] + 1 {
			b := p.Get(n)
			i, _ := slices.BinarySearch(sizes, n)
			if cap(*b) != sizes[i] {
				t.Fatalf("Get(%d) of %d steps has capacity %d, want %d", n, steps, cap(*b), sizes[i])
			}
			if n >= sizes[0] && (cap(*b)-n)*steps >= n {
				t.Fatalf("Get(%d) of %d steps has capacity %d", n, steps, cap(*b))
			}
			p.Put(b)
		}
	}
}

// The search is right in every doubling there is, far above what can be
// allocated.
func TestSteppedFindsEveryTier(t *testing.T) {
	most := 1 << 30
	if bits.UintSize == 64 {
		most <<= 16
	}
	for _, steps := range []int{4, 8} {
		p := bufpool.Must(bufpool.NewStepped(steps, most, steps))
		sizes := p.Sizes()
		for i, size := range sizes {
			if !p.LookupPut(size) || !p.LookupGet(size) {
				t.Errorf("%d steps: tier %d is not found", steps, size)
			}
			for _, other := range []int{size - 1, size + 1} {
				if p.LookupPut(other) && !slices.Contains(sizes, other) {
					t.Errorf("%d steps: %d is taken for a tier", steps, other)
				}
			}
			if got := p.LookupSize(size); got != size {
				t.Errorf("%d steps: %d goes to %d", steps, size, got)
			}
			if i > 0 {
				if got := p.LookupSize(sizes[i-1] + 1); got != size {
					t.Errorf("%d steps: %d goes to %d, want %d", steps, sizes[i-1]+1, got, size)
				}
			}
		}
		for _, n := range []int{most + 1, most + most/8, most * 2 &^ math.MinInt, math.MaxInt, math.MaxInt - 1, 0, -1, -most, math.MinInt, math.MinInt + 1} {
			if p.LookupGet(n) && n != 0 {
				t.Errorf("%d steps: a tier for %d", steps, n)
			}
		}
	}
}

// A payload of exactly a power of two, with the codec's headroom before it,
// borrows a quarter more, where powers of two borrow as much again.
func TestSteppedTakesHeadroom(t *testing.T) {
	stepped := bufpool.Must(bufpool.NewStepped(32, 16<<20, 4))
	binary := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(32, 16<<20)))
	for n := 1 << 10; n <= 1<<20; n *= 2 {
		if got := cap(*stepped.Get(n + 52)); got != n+n/4 {
			t.Errorf("%d+52: capacity %d", n, got)
		}
		if got := cap(*binary.Get(n + 52)); got != 2*n {
			t.Errorf("powers of two, %d+52: capacity %d", n, got)
		}
	}
}
