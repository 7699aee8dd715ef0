package check_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// What was wrong once, each with what it looked like from outside.

// Where a header is, one was before whose cleanup has not run yet: right use was
// reported as a Put of what was never lent, and later as a leak.
func TestHeadersWhoseCleanupIsLate(t *testing.T) {
	for _, sample := range []int{1, 2} {
		var reports atomic.Int64
		p := bufpool.Must(check.New(bufpool.Nop{}, check.WithSample(sample), check.WithoutProfile(), check.WithQuarantine(0),
			check.WithReport(func(check.Violation) { reports.Add(1) })))
		release, running := make(chan bool), make(chan bool)
		func() {
			x := new([64]byte)
			runtime.AddCleanup(x, func(int) { close(running); <-release }, 0) // holds up all others
		}()
		runtime.GC()
		<-running
		for range 5 {
			for range 3000 {
				p.Put(p.Get(100))
			}
			runtime.GC()
			var held []*[]byte
			for range 3000 {
				held = append(held, p.Get(100))
			}
			for range 10_000 { // the index grows
				p.Put(p.Get(100))
			}
			for _, b := range held {
				*b = append(*b, make([]byte, 1000)...)
				p.Put(b)
			}
			clear(held)
		}
		close(release)
		collect(t, func() bool { return len(p.Outstanding()) == 0 })
		if n := reports.Load(); n > 0 {
			t.Errorf("sample of %d: %d false reports", sample, n)
		}
	}
}

// What is in quarantine is watched, though its header is collected.
func TestQuarantineOutlivesTheHeader(t *testing.T) {
	s := new(stack)
	p, n := noting(s, check.WithSample(0))
	if err := p.SetSample(1); err != nil {
		t.Fatal(err)
	}
	var alias []byte
	func() {
		b := p.Get(4096)
		alias = *b
		p.Put(b)
	}()
	for range 100 {
		runtime.GC()
	}
	if err := p.SetSample(1 << 29); err != nil {
		t.Fatal(err)
	}
	p.Put(&alias)
	n.must(t, check.DoublePut)
	p.Flush()
	if len(s.free) != 1 {
		t.Errorf("the parent has it %d times", len(s.free))
	}
	n.must(t)
}

func TestAReportThatPanicsInGet(t *testing.T) {
	s := new(stack)
	var kinds []check.Kind
	p := bufpool.Must(check.New(s, check.WithQuarantine(0), check.WithReport(func(v check.Violation) {
		kinds = append(kinds, v.Kind)
		panic(v)
	})))
	b := p.Get(100)
	p.Put(b)
	(*b)[0] = 1
	if v := recovered(func() { p.Get(100) }); v == nil {
		t.Error("no panic")
	}
	if n := len(p.Outstanding()); n > 0 || len(kinds) != 1 {
		t.Errorf("%d are lent to nobody; reported %q", n, kinds)
	}
	runtime.KeepAlive(b)
}

// refusing is a parent that panics in Put.
type refusing struct{ stack }

func (*refusing) Put(*[]byte) { panic("refused") }

func TestAParentThatPanicsHidesNothing(t *testing.T) {
	p, n := noting(new(refusing), check.WithQuarantine(0))
	b := p.Get(10)
	(*b)[:20][15] = 'x'
	if v := recovered(func() { p.Put(b) }); v != "refused" {
		t.Error(v)
	}
	n.must(t, check.Overrun)
	foreign := []byte("foreign")
	if v := recovered(func() { p.Put(&foreign) }); v != "refused" {
		t.Error(v)
	}
	n.must(t, check.NotLent)

	p, n = noting(new(refusing))
	a, b := p.Get(10), p.Get(10)
	p.Put(a)
	p.Put(b)
	(*a)[0] = 1
	if v := recovered(p.Flush); v != "refused" {
		t.Error(v)
	}
	n.must(t, check.WriteAfterPut)
}

// A buffer that a stale alias writes to, or whose header was changed, goes no
// further, by a copy of the header either.
func TestWhatIsDroppedStaysDropped(t *testing.T) {
	for name, drop := range map[string]func(p *check.Pool, b *[]byte){
		"write after Put": func(p *check.Pool, b *[]byte) {
			p.Put(b)
			(*b)[0] = 1
			if p.Verify() == nil {
				t.Error("not found")
			}
		},
		"interior": func(p *check.Pool, b *[]byte) {
			c := (*b)[8:]
			*b, c = c, *b
			p.Put(b)
			*b = c
		},
	} {
		for _, sampled := range []bool{false, true} {
			s := new(stack)
			p, n := noting(s)
			if sampled {
				if err := p.SetSample(2); err != nil {
					t.Fatal(err)
				}
				if err := p.SetSample(1); err != nil {
					t.Fatal(err)
				}
			}
			b := p.Get(100)
			c := *b
			drop(p, b)
			n.kinds()
			p.Put(&c)
			n.must(t, check.DoublePut)
			p.Flush()
			if len(s.free) > 0 {
				t.Errorf("%s: the parent has it", name)
			}
			runtime.KeepAlive(b)
		}
	}
}

// What is put after a Pool was switched off does not stay in quarantine.
func TestSwitchedOffItHoldsNothing(t *testing.T) {
	s := new(stack)
	p, n := noting(s)
	b, c := p.Get(100), p.Get(100)
	p.Put(b)
	if err := p.SetSample(0); err != nil {
		t.Fatal(err)
	}
	p.Put(c)
	if len(s.free) != 2 {
		t.Errorf("the parent has %d of 2", len(s.free))
	}
	n.must(t)
}

// A Local that caches above a Pool lends longer than it asked for.
func TestLocalAbove(t *testing.T) {
	p, n := noting(bufpool.Must(bufpool.NewSized(1024)))
	l := bufpool.NewLocal(p, 1<<20)
	l.Put(l.Get(10))
	b := l.Get(200)
	for i := range *b {
		(*b)[i] = 1
	}
	l.Put(b)
	l.Put(l.Get(10))
	l.Flush()
	n.must(t)
}

func TestANilPointerIsNoParent(t *testing.T) {
	if _, err := check.New((*bufpool.BinaryTiered)(nil)); err == nil || err.Error() != "check: nil parent" {
		t.Error(err)
	}
}

// The parent's header, under which a buffer was lent when it was not tracked, and that
// was found to concern nobody, concerns who is lent the array next.
func TestAStaleHeaderOfTheParents(t *testing.T) {
	s := new(stack)
	p, n := noting(s, check.WithSample(0))
	set := func(sample int) {
		t.Helper()
		if err := p.SetSample(sample); err != nil {
			t.Fatal(err)
		}
	}
	set(1)
	tracked := p.Get(100) // so that Put has to look
	set(1 << 29)
	b := p.Get(100)
	p.Put(b)
	set(1)
	c := p.Get(100)
	if &(*b)[0] != &(*c)[0] {
		t.Fatal("another array")
	}
	p.Put(b) // a double Put: it ends the loan, and is told when the owner ends it
	if len(s.free) > 0 {
		t.Error("the parent has what is lent")
	}
	p.Put(c)
	n.must(t, check.DoublePut)
	p.Put(tracked)
	n.must(t)
}
