package check_test

import (
	"runtime"
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
