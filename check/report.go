package check

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
)

// report reports them all, even if the function that it passes them to panics. It
// is called without the lock.
func (p *Pool) report(vs ...Violation) {
	if len(vs) == 0 {
		return
	}
	if len(vs) > 1 {
		defer p.report(vs[1:]...)
	}
	p.mu.Lock()
	told := p.told(vs[0])
	p.mu.Unlock()
	if !told {
		p.config.report(vs[0])
	}
}

// told reports whether there is nothing to report about v: its kind is ignored, or
// it was added to the collection. It needs the lock.
func (p *Pool) told(v Violation) bool {
	if slices.Contains(p.config.ignored, v.Kind) {
		return true
	}
	if p.collecting {
		p.collected = append(p.collected, v)
	}
	return p.collecting
}

// panics is the default report.
func panics(v Violation) {
	if v.Kind == Leak || panicking() {
		prints(v)
		return
	}
	panic(v)
}

func prints(v Violation) { fmt.Fprintln(os.Stderr, v.Error()) }

// Log returns a function for [WithReport] that logs each violation as an error,
// with the attributes of [Violation.LogValue]. A nil logger is slog.Default() of
// the moment.
func Log(logger *slog.Logger) func(Violation) {
	return func(v Violation) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		l.Error("buffer pool misuse", "violation", v)
	}
}

// Flush checks all buffers that are in quarantine and gives them to the parent.
func (p *Pool) Flush() {
	var vs []Violation
	defer func() { p.report(vs...) }()
	p.release(-1, callers(1), &vs)
}

// Verify checks the buffers that are in quarantine for writes after Put, without
// waiting for their turn. It reports those that it finds, which leave the
// quarantine for good, and returns them joined, or nil. It holds up other calls
// for as long as it takes to read the quarantine.
func (p *Pool) Verify() error {
	at := callers(1)
	var vs []Violation
	p.mu.Lock()
	p.quarantine.remove(func(r *record) bool {
		i := changed(*r.returned, Poison)
		if i >= 0 {
			vs = append(vs, p.condemn(r, i, at))
		}
		return i >= 0
	})
	p.mu.Unlock()
	p.report(vs...)
	var errs []error
	for _, v := range vs {
		errs = append(errs, v)
	}
	return errors.Join(errs...)
}

// Loan is a buffer that is lent.
type Loan struct {
	Length, Capacity int   // asked for, and lent
	Got              Stack // where
}

// Outstanding returns the buffers that are tracked and not put back, in no order.
func (p *Pool) Outstanding() []Loan {
	p.mu.Lock()
	defer p.mu.Unlock()
	loans := make([]Loan, 0, p.lent.len)
	for r := range p.lent.all {
		loans = append(loans, Loan{Length: r.length, Capacity: r.size(), Got: r.got})
	}
	return loans
}
