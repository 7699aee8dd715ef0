package rivals

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"unsafe"

	"github.com/valyala/bytebufferpool"
)

// maxSize is what the pools are built for: the largest of lengths.
const maxSize = 1 << 20

var lengths = []int{0, 1, 200, 4096, 33000, maxSize}

// rival is a Spec without its B.
type rival interface {
	name() string
	testLengths(*testing.T)
	testOverlap(*testing.T)
	testContents(*testing.T)
	testConcurrency(*testing.T)
	testReuse(*testing.T)
	facts() []string
}

// subject is a Spec under test.
type subject[B any] struct{ Spec[B] }

func all() (rs []rival) {
	for _, s := range Pointers() {
		rs = append(rs, subject[*[]byte]{s})
	}
	for _, s := range Slices() {
		rs = append(rs, subject[[]byte]{s})
	}
	for _, s := range ByteBuffers() {
		rs = append(rs, subject[*bytebufferpool.ByteBuffer]{s})
	}
	return rs
}

func (s subject[B]) name() string { return s.Name }

// pools says whether s may lend a buffer twice.
func (s subject[B]) pools() bool { return !strings.HasPrefix(s.Name, "make") }

func forEach(t *testing.T, test func(rival, *testing.T)) {
	for _, r := range all() {
		t.Run(r.name(), func(t *testing.T) { test(r, t) })
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range all() {
		if n := r.name(); n == "" || strings.ContainsAny(n, " \t\n") || seen[n] {
			t.Errorf("name %q is empty, has spaces or is taken", n)
		} else {
			seen[n] = true
		}
	}
}

func TestLengths(t *testing.T) { forEach(t, rival.testLengths) }

func (s subject[B]) testLengths(t *testing.T) {
	p := s.New(maxSize)
	for range 3 { // new ones first, then recycled ones
		for _, n := range lengths {
			b := p.Get(n)
			if got := len(s.Bytes(b)); got != n {
				t.Errorf("Get(%d) has length %d", n, got)
			}
			p.Put(b)
		}
	}
}

func TestOverlap(t *testing.T) { forEach(t, rival.testOverlap) }

func (s subject[B]) testOverlap(t *testing.T) {
	p := s.New(maxSize)
	for range 3 {
		for _, n := range lengths {
			h, g := p.Get(n), p.Get(n)
			b, c := whole(s.Bytes(h)), whole(s.Bytes(g))
			fill(b, 1)
			fill(c, 2)
			if !filled(b, 1) || !filled(c, 2) {
				t.Errorf("two buffers of length %d overlap", n)
			}
			p.Put(h)
			p.Put(g)
		}
	}
}

func TestContents(t *testing.T) { forEach(t, rival.testContents) }

// testContents holds on to a buffer while others come and go.
func (s subject[B]) testContents(t *testing.T) {
	p := s.New(maxSize)
	for _, n := range lengths {
		h := p.Get(n)
		fill(s.Bytes(h), 1)
		for range 3 {
			for _, m := range lengths {
				g := p.Get(m)
				fill(whole(s.Bytes(g)), 2)
				p.Put(g)
			}
			runtime.GC()
		}
		if !filled(s.Bytes(h), 1) {
			t.Errorf("a lent buffer of length %d changed", n)
		}
		p.Put(h)
	}
}

func TestConcurrency(t *testing.T) { forEach(t, rival.testConcurrency) }

func (s subject[B]) testConcurrency(t *testing.T) {
	p := s.New(maxSize)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 200 {
				for _, n := range []int{1, 200, 4096, 33000} {
					h := p.Get(n)
					b := s.Bytes(h)
					fill(b, byte(i))
					runtime.Gosched()
					if len(b) != n || !filled(b, byte(i)) {
						t.Errorf("a buffer of length %d is shared", n)
					}
					p.Put(h)
				}
			}
		})
	}
	wg.Wait()
}

func TestReuse(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops at random under the race detector")
	}
	undisturbed(t)
	forEach(t, rival.testReuse)
}

func (s subject[B]) testReuse(t *testing.T) {
	p := s.New(maxSize)
	// Without a collection, an address is seen twice only if the pool kept it.
	seen := map[*byte]bool{}
	reused := false
	for range 10 {
		h := p.Get(4096)
		a := unsafe.SliceData(s.Bytes(h))
		reused = reused || seen[a]
		seen[a] = true
		p.Put(h)
	}
	if reused != s.pools() {
		t.Errorf("reused: %v, want %v", reused, s.pools())
	}
}

// TestFacts records what the comments on the rivals say, for the current
// versions of their modules. It fails for none of it.
func TestFacts(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops at random under the race detector")
	}
	undisturbed(t)
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tclears\tcap of 200\tof 33000\tallocs of Get(4096)+Put\t64 MiB\tforeign 100\tforeign 5000")
	for _, r := range all() {
		fmt.Fprintln(w, r.name()+"\t"+strings.Join(r.facts(), "\t"))
		runtime.GC()
	}
	w.Flush()
	t.Logf("pools built for lengths up to 1 MiB; a kept buffer is followed by the lengths whose Get met it\n%s", &out)
}

func (s subject[B]) facts() []string {
	return []string{
		s.clears(),
		s.capacity(200),
		s.capacity(33000),
		s.allocs(),
		s.keepsOversized(),
		s.keepsForeign(100),
		s.keepsForeign(5000),
	}
}

// clears says how much of a recycled buffer Get has set to zero.
func (s subject[B]) clears() string {
	p := s.New(maxSize)
	h := p.Get(5000)
	b := whole(s.Bytes(h))
	fill(b, 1)
	p.Put(h)
	c := s.Bytes(p.Get(5000))
	switch {
	case unsafe.SliceData(b) != unsafe.SliceData(c):
		return "always new"
	case filled(whole(c), 0):
		return "capacity"
	case filled(c, 0):
		return "length"
	}
	return "no"
}

func (s subject[B]) capacity(n int) string {
	return fmt.Sprint(cap(s.Bytes(s.New(maxSize).Get(n))))
}

func (s subject[B]) allocs() string {
	p := s.New(maxSize)
	return fmt.Sprint(testing.AllocsPerRun(100, func() { p.Put(p.Get(4096)) }))
}

// keepsOversized says which lengths meet a buffer of 64 MiB that was lent and
// put back.
func (s subject[B]) keepsOversized() string {
	const size = 64 << 20
	return s.meets([]int{200, 4096, maxSize, size}, func(p Pool[B]) B { return p.Get(size) })
}

// keepsForeign says which lengths meet a buffer of capacity n that the pool did
// not lend.
func (s subject[B]) keepsForeign(n int) string {
	return s.meets([]int{50, 100, 200, 4096, 5000, 8000}, func(Pool[B]) B { return s.Handle(make([]byte, n)) })
}

// meets puts what from returns into a new pool, once for each length to ask
// for, and says for which of them it comes back.
func (s subject[B]) meets(ask []int, from func(Pool[B]) B) string {
	var kept []string
	for _, n := range ask {
		p := s.New(maxSize)
		var put, got *byte
		if panics(func() {
			h := from(p)
			put = unsafe.SliceData(s.Bytes(h))
			p.Put(h)
		}) {
			return "panics"
		}
		if panics(func() { got = unsafe.SliceData(s.Bytes(p.Get(n))) }) {
			kept = append(kept, fmt.Sprint(n, " panics"))
		} else if got == put {
			kept = append(kept, fmt.Sprint(n))
		}
		for range 2 { // frees what sync.Pools hold, 64 MiB each
			runtime.GC()
		}
	}
	if kept == nil {
		return "dropped"
	}
	return "kept: " + strings.Join(kept, ", ")
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// undisturbed keeps sync.Pool predictable for the rest of the test: one
// processor, and no collection but those asked for.
func undisturbed(t *testing.T) {
	procs := runtime.GOMAXPROCS(1)
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(procs)
	})
}

func whole(b []byte) []byte { return b[:cap(b)] }

// fill and filled go through the runtime's own loops, as the race detector
// makes ours slow.
func fill(b []byte, v byte) {
	if len(b) == 0 {
		return
	}
	b[0] = v
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

func filled(b []byte, v byte) bool { return bytes.Count(b, []byte{v}) == len(b) }
