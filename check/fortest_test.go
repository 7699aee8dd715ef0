package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bufpool/bufpool/check"
)

// recorder is a test that notes what happens to it.
type recorder struct {
	cleanups []func()
	errors   []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// end ends the test and returns why it failed.
func (r *recorder) end() []string {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r.errors
}

func TestForTest(t *testing.T) {
	var r recorder
	p := check.ForTest(&r, parent())
	for range 100 {
		p.Put(p.Get(100))
	}
	if got := r.end(); len(got) > 0 {
		t.Errorf("a right test failed: %q", got)
	}
	// It goes on working afterwards.
	b := p.Get(100)
	p.Put(b)
	if printed := stderr(t, func() { p.Put(b) }); !strings.HasPrefix(printed, "check: double Put") {
		t.Error(printed)
	}
}

// uber/tchannel-go#845: a single frame says nothing in a large program.
func TestForTestSaysWhereItWasLent(t *testing.T) {
	var r recorder
	p := check.ForTest(&r, parent())
	var held []*[]byte
	for range 3 {
		held = append(held, one(p))
	}
	held = append(held, p.Get(5000))
	got := r.end()
	if len(got) != 2 {
		t.Fatalf("failed %d times, want 2: %q", len(got), got)
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"not put back: 3 of 1024 bytes, 1000 asked for", "not put back: 1 of 8192 bytes, 5000 asked for",
		"check_test.one", "check_test.two", "check_test.three", "check_test.four", "check_test.five", "check_test.TestForTestSaysWhereItWasLent",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	_ = held
}

//go:noinline
func one(p *check.Pool) *[]byte { return two(p) }

//go:noinline
func two(p *check.Pool) *[]byte { return three(p) }

//go:noinline
func three(p *check.Pool) *[]byte { return four(p) }

//go:noinline
func four(p *check.Pool) *[]byte { return five(p) }

//go:noinline
func five(p *check.Pool) *[]byte { return p.Get(1000) }

func TestForTestGroups(t *testing.T) {
	var r recorder
	p := check.ForTest(&r, parent())
	for range 5 {
		b := p.Get(100)
		alias := *b
		p.Put(b)
		alias[7] = 1
	}
	b := p.Get(100)
	p.Put(b)
	p.Put(b)
	interior := p.Get(100)
	part := (*interior)[1:]
	p.Put(&part) // said so; that it was not put back is no news
	got := r.end()
	if len(got) != 3 {
		t.Fatalf("failed %d times, want 3: %q", len(got), got)
	}
	for i, want := range []string{"double Put", "interior slice", "and 4 more of the same kind and stacks"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("no %q in %s", want, got[i])
		}
	}
}

// A test that panics has its panic shown: ForTest only says what it knows.
func TestForTestInAPanic(t *testing.T) {
	var r recorder
	v := recovered(func() {
		defer r.end()
		p := check.ForTest(&r, parent())
		b := p.Get(100)
		defer p.Put(b)
		defer p.Put(b)
		panic("mine")
	})
	if v != "mine" {
		t.Errorf("panicked with %v", v)
	}
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "double Put") {
		t.Errorf("%q", r.errors)
	}
}

func TestForTestOfNothing(t *testing.T) {
	if v := recovered(func() { check.ForTest(&recorder{}, nil) }); fmt.Sprint(v) != "check: nil parent" {
		t.Error(v)
	}
}
