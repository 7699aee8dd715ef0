package check_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// One in n is tracked, whichever of the parent's headers they come under, and also
// where one in n of the program's Gets is always the same.
func TestSampleIsOneInN(t *testing.T) {
	for _, n := range []int{1, 3, 10, 100} {
		for _, cycle := range []int{1, 10} {
			p, notes := noting(new(stack), check.WithSample(n))
			times := min(5000*n, 100_000)
			tracked, first := 0, 0
			for i := range times {
				b := p.Get(100)
				if len(p.Outstanding()) > 0 {
					tracked++
					if i%cycle == 0 {
						first++
					}
				}
				p.Put(b)
			}
			for what, got := range map[string][2]float64{
				"all":                 {float64(tracked), float64(times) / float64(n)},
				"those of one caller": {float64(first), float64(times) / float64(n*cycle)},
			} {
				// The counts are uniform from 0 to 2n-2: their sum scatters by less than
				// that of independent draws.
				if math.Abs(got[0]-got[1]) > 5*math.Sqrt(got[1])+1 && n > 1 || n == 1 && got[0] != got[1] {
					t.Errorf("one in %d, cycle of %d: of %s %.0f were tracked, want %.0f", n, cycle, what, got[0], got[1])
				}
			}
			notes.must(t)
		}
	}
}

// What is tracked is tracked thoroughly, what is not is not taken for anything.
func TestSampleFindsWhatItTracks(t *testing.T) {
	p, n := noting(parent(), check.WithSample(10))
	faults := 0
	for range 1000 {
		b := p.Get(100)
		if len(p.Outstanding()) > 0 {
			alias := *b
			p.Put(b)
			p.Put(b)
			p.Put(&alias)
			alias[0] = 1
			faults += 3
		} else {
			p.Put(b)
		}
		foreign := make([]byte, 256)
		p.Put(&foreign)
	}
	p.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	kinds := map[check.Kind]int{}
	for _, v := range n.all {
		kinds[v.Kind]++
	}
	if faults < 100 || len(n.all) != faults || kinds[check.DoublePut] != faults/3*2 || kinds[check.WriteAfterPut] != faults/3 {
		t.Errorf("%d faults, reported %v", faults, kinds)
	}
}

// SetSample(0) flushes.
func TestSwitchingOffFlushes(t *testing.T) {
	s := new(stack)
	p, n := noting(s)
	p.Put(p.Get(100))
	if err := p.SetSample(0); err != nil {
		t.Fatal(err)
	}
	if len(s.free) != 1 {
		t.Error("it is in quarantine still")
	}
	n.must(t)
}

func TestSwitching(t *testing.T) {
	p, n := noting(parent(), check.WithSample(0))
	set := func(sample int) {
		t.Helper()
		if err := p.SetSample(sample); err != nil {
			t.Fatal(err)
		}
	}
	before := p.Get(100)
	set(1)
	during := p.Get(100)
	p.Put(before) // lent when nobody looked: no foreigner
	if len(p.Outstanding()) != 1 {
		t.Error(p.Outstanding())
	}
	set(0)
	after := p.Get(100)
	if len(p.Outstanding()) != 1 {
		t.Error("tracked while off, or lost")
	}
	p.Put(after)
	p.Put(during)
	p.Put(during) // tracked still
	n.must(t, check.DoublePut)
	if len(p.Outstanding()) != 0 {
		t.Error("lent still")
	}
	foreign := make([]byte, 256)
	p.Put(&foreign)
	n.must(t)
}

// A full check that is switched forgets what only a full check knows: which arrays
// are idle in the parent.
func TestSwitchedWhileBuffersAreIdle(t *testing.T) {
	for _, quarantine := range []int64{0, 1 << 20} {
		p, n := noting(new(stack), check.WithQuarantine(quarantine))
		b := p.Get(100)
		p.Put(b)
		if err := p.SetSample(0); err != nil {
			t.Fatal(err)
		}
		c := p.Get(100) // the same array, untracked
		for i := range *c {
			(*c)[i] = 1
		}
		p.Put(c)
		if err := p.SetSample(1); err != nil {
			t.Fatal(err)
		}
		p.Put(p.Get(100))
		n.must(t)
		runtime.KeepAlive(b)
	}
}

// Others may use the parent, too, as long as there is a quarantine.
func TestASharedParent(t *testing.T) {
	s := new(stack)
	p, n := noting(s, check.WithQuarantine(8<<10))
	var headers []*[]byte
	for range 100 {
		a, b := s.Get(100), p.Get(100)
		headers = append(headers, b)
		for i := range (*a)[:cap(*a)] {
			(*a)[:cap(*a)][i] = 1
		}
		s.Put(a)
		p.Put(b)
	}
	p.Flush()
	n.must(t)
	runtime.KeepAlive(headers)
}

// valyala/bytebufferpool and all who count in one place: a Pool that is off, or does
// not track the buffer at hand, costs no allocation.
func TestWhatIsNotTrackedDoesNotAllocate(t *testing.T) {
	for _, sample := range []int{0, 1 << 29} {
		p := bufpool.Must(check.New(new(stack), check.WithSample(sample)))
		p.Put(p.Get(100))
		if allocs := testing.AllocsPerRun(10, func() {
			for range 1000 {
				p.Put(p.Get(100))
			}
		}); allocs != 0 {
			t.Errorf("sample of %d: %.0f allocations in 1000 cycles", sample, allocs)
		}
	}
}
