package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bufpool/bufpool"
)

// TB is what [ForTest] uses of testing.TB.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// ForTest returns a Pool that checks what the test tb does with the buffers of
// parent. When the test ends, it fails tb for each violation and for each buffer
// that was not put back, and says so once for all of the same kind and stacks. A
// panic of the test's goes its way. What is detected after the end goes to the
// standard error.
//
// The options are those of [New], but for WithReport, which has no effect. Where New
// would return an error, ForTest panics with it.
func ForTest(tb TB, parent bufpool.BufferPool, opts ...Option) *Pool {
	p := bufpool.Must(New(parent, append(slices.Clone(opts), WithReport(prints))...))
	p.collecting = true
	tb.Cleanup(func() {
		tb.Helper()
		for _, text := range p.conclude() {
			tb.Errorf("%s", text)
		}
	})
	return p
}

// conclude ends the collection and returns what there is to say: what was detected,
// in its order, then what is still lent.
func (p *Pool) conclude() []string {
	p.Verify()
	p.mu.Lock()
	all := p.collected
	p.collecting, p.collected = false, nil
	var lent []Violation
	for r := range p.lent.all {
		if !r.blamed && !slices.Contains(p.config.ignored, Leak) {
			r.blamed = true // and is no leak later
			lent = append(lent, r.violation(Leak, nil))
		}
	}
	p.mu.Unlock()

	texts := grouped(all, func(v Violation, times int) string {
		if times > 1 {
			return fmt.Sprintf("%v\nand %d more of the same kind and stacks", v, times-1)
		}
		return v.Error()
	})
	slices.SortFunc(lent, func(a, b Violation) int {
		return cmp.Or(slices.Compare(a.Got, b.Got), a.Capacity-b.Capacity)
	})
	return append(texts, grouped(lent, func(v Violation, times int) string {
		return fmt.Sprintf("check: not put back: %d of %d bytes, %d asked for\nlent at:\n%v", times, v.Capacity, v.Length, v.Got)
	})...)
}

// grouped returns a text for the first of each group of the same kind and stacks.
func grouped(vs []Violation, text func(first Violation, times int) string) (texts []string) {
	for len(vs) > 0 {
		first := vs[0]
		rest := slices.DeleteFunc(slices.Clone(vs), first.alike)
		texts = append(texts, text(first, len(vs)-len(rest)))
		vs = rest
	}
	return texts
}

func (v Violation) alike(w Violation) bool {
	return v.Kind == w.Kind && slices.Equal(v.Got, w.Got) && slices.Equal(v.Put, w.Put) && slices.Equal(v.Detected, w.Detected)
}
