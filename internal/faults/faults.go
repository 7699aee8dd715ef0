// Package faults commits every kind of misuse that package check finds, on purpose.
package faults

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// fault commits one kind of misuse, in two acts: then calls the second.
type fault struct {
	name  string
	kind  check.Kind
	seed  func(p *check.Pool, length int, then func(act func()))
	found string // the stacks that must name the seed: G(ot), P(ut), D(etected)
	can   func(length, capacity int) bool
}

func always(_, capacity int) bool    { return capacity > 0 }
func several(_, capacity int) bool   { return capacity > 1 }
func tail(length, capacity int) bool { return length < capacity }

var all = []fault{
	{"double Put", check.DoublePut, seedDoublePut, "GPD", always},
	{"… through a copied header", check.DoublePut, seedDoublePutByCopy, "GPD", always},
	{"… first through a copied header", check.DoublePut, seedDoublePutAfterCopy, "GPD", always},
	{"Put of what was never lent", check.NotLent, seedNotLent, "D", always},
	{"Put of an interior slice", check.Interior, seedInterior, "GD", several},
	{"… through another header", check.Interior, seedInteriorByCopy, "GD", several},
	{"Put of a shortened slice", check.Shortened, seedShortened, "GD", several},
	{"… through another header", check.Shortened, seedShortenedByCopy, "GD", several},
	{"Put of a replaced slice", check.Replaced, seedReplaced, "GD", always},
	{"write after Put", check.WriteAfterPut, seedWriteAfterPut, "GP", always},
	{"write beyond the length", check.Overrun, seedOverrun, "GD", tail},
	{"leak", check.Leak, seedLeak, "G", always},
}

func seedDoublePut(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	p.Put(b)
	then(func() { p.Put(b) })
}

func seedDoublePutByCopy(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	c := *b
	p.Put(b)
	then(func() { p.Put(&c) })
	runtime.KeepAlive(b)
}

func seedDoublePutAfterCopy(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	c := *b
	p.Put(&c)
	then(func() { p.Put(b) })
}

func seedNotLent(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	foreign := make([]byte, cap(*b))
	p.Put(b)
	then(func() { p.Put(&foreign) })
}

func seedInterior(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	then(func() {
		*b = (*b)[1:cap(*b)]
		p.Put(b)
	})
}

func seedInteriorByCopy(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	part := (*b)[1:cap(*b)]
	then(func() { p.Put(&part) })
	p.Put(b)
}

func seedShortened(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	then(func() {
		*b = (*b)[: 1 : cap(*b)/2]
		p.Put(b)
	})
}

func seedShortenedByCopy(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	part := (*b)[: 1 : cap(*b)/2]
	then(func() { p.Put(&part) })
	p.Put(b)
}

func seedReplaced(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	then(func() {
		*b = make([]byte, cap(*b))
		p.Put(b)
	})
}

func seedWriteAfterPut(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	alias := (*b)[:cap(*b)]
	p.Put(b)
	then(func() { alias[len(alias)-1] = 'x' })
}

func seedOverrun(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	then(func() { (*b)[:cap(*b)][length] = 'x' })
	p.Put(b)
}

func seedLeak(p *check.Pool, length int, then func(func())) {
	b := p.Get(length)
	then(func() { (*b)[length-1] = 'x' })
}

// circumstance is what happens between the two acts.
type circumstance struct {
	name string
	then func(p *check.Pool) func(act func())
}

var circumstances = []circumstance{
	{"same goroutine", func(*check.Pool) func(func()) { return func(act func()) { act() } }},
	{"other goroutine", func(*check.Pool) func(func()) {
		return func(act func()) {
			var wg sync.WaitGroup
			wg.Go(act)
			wg.Wait()
		}
	}},
	{"after 1000 others", func(p *check.Pool) func(func()) {
		return func(act func()) {
			for range 1000 {
				p.Put(p.Get(rand.IntN(1000)))
			}
			act()
		}
	}},
	{"under GC", func(*check.Pool) func(func()) {
		return func(act func()) {
			runtime.GC()
			runtime.GC()
			act()
			runtime.GC()
		}
	}},
}

// Parent is a pool to check, with one of its tiers, and its largest.
type Parent struct {
	New           func() bufpool.BufferPool
	Tier, Largest int
}

// Matrix has every fault committed under every circumstance with buffers of 1 byte,
// of a tier less one byte, of a tier, and above the largest tier, of each parent.
// wrong is called for every one that is not reported once, as what it is, with stacks
// that name who did it. Matrix returns a table of how many of those that can exist
// were reported.
func Matrix(parents []Parent, wrong func(format string, args ...any)) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "| fault\t")
	for _, c := range circumstances {
		fmt.Fprintf(w, "| %s\t", c.name)
	}
	fmt.Fprintln(w, "|")
	fmt.Fprintln(w, strings.Repeat("|---\t", len(circumstances)+1)+"|")
	for _, f := range all {
		fmt.Fprintf(w, "| %s\t", f.name)
		for _, c := range circumstances {
			can, did := 0, 0
			for _, parent := range parents {
				for _, length := range []int{1, parent.Tier - 1, parent.Tier, parent.Largest + 1} {
					possible, err := commit(f, c, parent.New(), length)
					if possible {
						can++
					}
					if err != nil {
						wrong("%s, %s, %d bytes of %T: %v", f.name, c.name, length, parent.New(), err)
					} else if possible {
						did++
					}
				}
			}
			fmt.Fprintf(w, "| %d of %d\t", did, can)
		}
		fmt.Fprintln(w, "|")
	}
	w.Flush()
	return text.String()
}

// commit commits one fault, and returns an error if the reports of it are not one.
func commit(f fault, c circumstance, parent bufpool.BufferPool, length int) (possible bool, err error) {
	var mu sync.Mutex
	var got []check.Violation
	reported := make(chan struct{}, 1000)
	p := bufpool.Must(check.New(parent, check.WithQuarantine(1<<30), check.WithReport(func(v check.Violation) {
		mu.Lock()
		got = append(got, v)
		mu.Unlock()
		reported <- struct{}{}
	})))
	b := p.Get(length)
	possible = f.can(length, cap(*b))
	p.Put(b)
	if !possible {
		return false, nil
	}
	f.seed(p, length, c.then(p))
	p.Verify()
	for range 100 { // a leak is found by the collector, and told by another goroutine
		if len(p.Outstanding()) == 0 {
			break
		}
		runtime.GC()
	}
	select {
	case <-reported:
	case <-time.After(time.Minute): // as far as the collector's goroutine may be behind
	}
	p.Flush()
	if n := len(p.Outstanding()); n > 0 {
		return true, fmt.Errorf("%d buffers are lent still", n)
	}

	mu.Lock()
	defer mu.Unlock()
	if len(got) != 1 {
		return true, fmt.Errorf("%d reports, want one: %v", len(got), got)
	}
	v := got[0]
	if v.Kind != f.kind {
		return true, fmt.Errorf("reported as %q", v.Kind)
	}
	for _, s := range []struct {
		letter string
		stack  check.Stack
	}{{"G", v.Got}, {"P", v.Put}, {"D", v.Detected}} {
		if strings.Contains(f.found, s.letter) && !strings.Contains(s.stack.String(), "/faults.seed") {
			return true, fmt.Errorf("stack %s does not name who did it: %v", s.letter, v)
		}
	}
	return true, nil
}
