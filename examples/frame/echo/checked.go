package main

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// checked is a pool that goes through package check, and what that found.
type checked struct {
	*check.Pool
	out io.Writer

	mu         sync.Mutex
	violations int
	first      check.Violation
}

// newChecked returns one around base that prints every violation in full to out.
func newChecked(base bufpool.BufferPool, out io.Writer) (*checked, error) {
	c := &checked{out: out}
	var err error
	c.Pool, err = check.New(base, check.WithReport(c.note))
	return c, err
}

func (c *checked) note(v check.Violation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.violations++; c.violations == 1 {
		c.first = v
	}
	fmt.Fprintln(c.out, v.Error())
}

// count returns how many violations there were so far.
func (c *checked) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.violations
}

// finish looks for what nobody did anything about so far, when all is done. It
// returns an error if anything was ever wrong.
func (c *checked) finish() error {
	c.Verify() // what it finds is noted
	var errs []error
	if n := c.count(); n > 0 {
		errs = append(errs, fmt.Errorf("%d violations, the first: %s", n, c.first.Summary()))
	}
	if loans := c.Outstanding(); len(loans) > 0 {
		l := loans[0]
		errs = append(errs, fmt.Errorf("check: %d buffers were not put back, one of them of %d of %d bytes, lent at:\n%v", len(loans), l.Length, l.Capacity, l.Got))
	}
	return errors.Join(errs...)
}
