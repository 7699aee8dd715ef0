package check_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// What a change of one line could break without any other test's noticing.

// scripted is a parent that lends given arrays, in order.
type scripted [][]byte

func (s *scripted) Get(int) *[]byte {
	b := (*s)[0]
	*s = (*s)[1:]
	return &b
}

func (*scripted) Put(*[]byte) {}

func sample(t *testing.T, p *check.Pool, n int) {
	t.Helper()
	if err := p.SetSample(n); err != nil {
		t.Fatal(err)
	}
}

// A header that concerned nobody holds a tracked array now.
func TestAClearedHeaderWithAnotherArray(t *testing.T) {
	p, n := noting(bufpool.Nop{}, check.WithSample(0))
	sample(t, p, 1)
	c := p.Get(100)
	own := make([]byte, 64)
	p.Put(&own)
	own = *c
	p.Put(&own)
	p.Put(c)
	n.must(t, check.DoublePut)
}

// What append moved to is tracked as what was lent was.
func TestAGrownBufferPutTwice(t *testing.T) {
	for _, first := range []int{1, 0} {
		p, n := noting(bufpool.Nop{}, check.WithSample(first))
		sample(t, p, 1)
		b := p.Get(100)
		*b = append(*b, make([]byte, 5000)...)
		alias := *b
		p.Put(b)
		p.Put(&alias)
		n.must(t, check.DoublePut)
		runtime.KeepAlive(b)
	}
}

func TestAnotherLoansArray(t *testing.T) {
	p, n := noting(bufpool.Nop{})
	a, b := p.Get(100), p.Get(5000)
	*a = *b // larger, but not by append
	p.Put(a)
	n.must(t, check.Replaced)
	runtime.KeepAlive(b)
}

func TestOverlappingLoans(t *testing.T) {
	back := make([]byte, 100_000)
	for name, parts := range map[string]scripted{
		"begins in it": {back[0:150:150], back[100:200:200]},
		"ends in it":   {back[100:200:200], back[0:150:150]},
		"lies in it":   {back, back[50_000:50_100:50_100]},
		"encloses it":  {back[50_000:50_100:50_100], back},
	} {
		p, n := noting(&parts)
		a, b := p.Get(50), p.Get(50)
		if got := n.kinds(); len(got) != 1 || got[0] != check.LentTwice {
			t.Errorf("%s: reported %q", name, got)
		}
		runtime.KeepAlive(a)
		runtime.KeepAlive(b)
	}
}

// What others are lent next is no longer what a stale header points to.
func TestIdleArraysAreForgottenWhenLent(t *testing.T) {
	p, n := noting(new(stack), check.WithQuarantine(0))
	b := p.Get(100)
	p.Put(b)
	c := p.Get(100) // the same array
	var held []*[]byte
	for range 300 { // the index grows, which turns its lists around
		held = append(held, p.Get(100))
	}
	alias := *c
	p.Put(&alias)
	n.must(t)
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
	runtime.KeepAlive(held)
}

// A buffer that was written to while it was idle is dropped, by a copy too.
func TestDroppedAtTheNextGet(t *testing.T) {
	s := new(stack)
	p, n := noting(s, check.WithQuarantine(0))
	b := p.Get(100)
	alias := *b
	p.Put(b)
	alias[0] = 1
	c := p.Get(100)
	n.must(t, check.WriteAfterPut)
	sample(t, p, 2)
	p.Put(&alias)
	n.must(t, check.DoublePut)
	if len(s.free) > 0 {
		t.Error("the parent has it")
	}
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
}

// An array in quarantine is there, even if its header is not any more.
func TestLentFromQuarantine(t *testing.T) {
	back := make([]byte, 128)
	p, n := noting(&scripted{back, back})
	func() { p.Put(p.Get(100)) }()
	for range 10 {
		runtime.GC()
	}
	c := p.Get(100)
	n.must(t, check.LentTwice)
	runtime.KeepAlive(c)
}

// A Pool that is switched remembers what is in quarantine.
func TestSwitchedWithBuffersInQuarantine(t *testing.T) {
	p, n := noting(new(stack))
	b := p.Get(100)
	alias := *b
	p.Put(b)
	sample(t, p, 2)
	p.Put(&alias)
	n.must(t, check.DoublePut)
	runtime.KeepAlive(b)
}

func TestForTestIgnoresWhatItIsTold(t *testing.T) {
	var r recorder
	p := check.ForTest(&r, parent(), check.WithIgnore(check.Leak))
	b := p.Get(100)
	if got := r.end(); len(got) > 0 {
		t.Errorf("failed with %q", got)
	}
	runtime.KeepAlive(b)
}

// Two places are two texts.
func TestForTestTellsPlacesApart(t *testing.T) {
	var r recorder
	p := check.ForTest(&r, parent())
	for i := range 2 {
		b := p.Get(100)
		p.Put(b)
		if i == 0 {
			p.Put(b)
		} else {
			p.Put(b)
		}
	}
	if got := r.end(); len(got) != 2 {
		t.Errorf("failed with %q", got)
	}
}

// Each stack begins where the Pool was called, and is there only if it says something.
func TestStacksBeginAtTheCaller(t *testing.T) {
	const here = "\tgithub.com/bufpool/bufpool/check_test.TestStacksBeginAtTheCaller"
	p, n := noting(bufpool.Must(bufpool.NewSized(4096)))
	put := func(change func(b, alias []byte) []byte, then func(b *[]byte)) check.Violation {
		b := p.Get(100)
		alias := (*b)[:cap(*b)]
		*b = change(*b, alias)
		p.Put(b)
		then(b)
		if len(n.all) != 1 {
			t.Fatalf("reported %v, want one", n.all)
		}
		v := n.all[0]
		n.kinds()
		return v
	}
	as := func(b, _ []byte) []byte { return b }
	none := func(*[]byte) {}
	foreign := make([]byte, 4096)
	p.Put(&foreign)
	if v := n.all[0]; v.Got != nil || v.Put != nil || !strings.HasPrefix(v.Detected.String(), here) {
		t.Errorf("foreign: %v", v)
	}
	n.kinds()
	b := p.Get(100)
	p.Put(b)
	(*b)[0] = 1
	p.Flush()
	if v := n.all[0]; !strings.HasPrefix(v.Detected.String(), here+"\n") { // and not who called this test
		t.Errorf("flushed: %v", v)
	}
	n.kinds()
	for name, v := range map[string]check.Violation{
		"double":       put(as, func(b *[]byte) { p.Put(b) }),
		"double alias": put(as, func(b *[]byte) { c := *b; p.Put(&c) }),
		"written":      put(as, func(b *[]byte) { (*b)[0] = 1; p.Flush() }),
		"verified":     put(as, func(b *[]byte) { (*b)[0] = 1; _ = p.Verify() }),
		"interior":     put(func(b, _ []byte) []byte { return b[1:] }, none),
		"overrun":      put(func(b, alias []byte) []byte { alias[100] = 1; return b }, none),
	} {
		twice := name != "interior" && name != "overrun"
		if twice != (v.Put != nil) || twice && !strings.HasPrefix(v.Put.String(), here) ||
			!strings.HasPrefix(v.Got.String(), here) || !strings.HasPrefix(v.Detected.String(), here) {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// However deep below a panic: it is not hidden.
func TestAPanicFarAboveIsNotHidden(t *testing.T) {
	first := errors.New("the first")
	p := bufpool.Must(check.New(parent()))
	var deep func(n int, f func())
	deep = func(n int, f func()) {
		if n == 0 {
			f()
			return
		}
		deep(n-1, f)
	}
	printed := stderr(t, func() {
		if v := recovered(func() {
			b := p.Get(100)
			p.Put(b)
			defer deep(500, func() { p.Put(b) })
			panic(first)
		}); v != first {
			t.Errorf("panicked with %v", v)
		}
	})
	if !strings.HasPrefix(printed, "check: double Put") {
		t.Error(printed)
	}
}
