// Package bufpooltest checks any BufferPool against the contract that package
// bufpool states, so that a pool of one's own, or a wrapper around one, can be
// used wherever one of bufpool's can.
//
// In a test:
//
//	func TestPool(t *testing.T) {
//		bufpooltest.Test(t, func() bufpool.BufferPool { return mypool.New() }, []int{4096, 65536})
//	}
//
// The checks hold with and without the race detector, under any garbage
// collection, and on any number of processors: where a pool may lose a buffer at
// any time, as sync.Pool does, they ask only that it be kept once in many tries.
package bufpooltest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bufpool/bufpool"
)

// Rule is one rule of the contract. It is an error, so that errors.Is finds it
// in what [Check] returns.
type Rule string

// The rules, in the order in which they are checked.
const (
	NotNil         Rule = "Get never returns nil"
	Length         Rule = "Get(n) returns length n, whatever was done to the buffer before"
	Capacity       Rule = "Get(n) returns the capacity of the smallest tier that holds n, or exactly n where none does"
	Oversize       Rule = "a buffer above the largest tier is never kept, nor kept alive"
	NegativeLength Rule = `a negative length panics with a text like "bufpool: negative length -1", and the pool is unharmed`
	HugeLength     Rule = "a length beyond any allocation panics, recoverably, and the pool is unharmed"
	Distinct       Rule = "no two lent buffers share memory"
	Keeps          Rule = "a buffer of exactly a tier's capacity is kept, whatever its length"
	Drops          Rule = "a buffer of any other capacity is never kept, nor kept alive"
	Empty          Rule = "Put of nil, or of a slice without capacity, does nothing"
	ChangedHeader  Rule = "a header changed after Put harms nobody"
	Sizes          Rule = "Sizes, if there is one, returns the tiers, ascending, in a fresh slice"
	Counts         Rule = "Stats, if there is one, counts every miss, oversized Get and drop, and nothing else"
	Goroutines     Rule = "the pool is safe for use by several goroutines at once"
)

// Rules returns all rules, in the order in which they are checked.
func Rules() []Rule {
	var all []Rule
	for _, r := range rules {
		all = append(all, r.Rule)
	}
	return all
}

// Error returns the rule.
func (r Rule) Error() string { return string(r) }

// Violation says how a pool broke a rule.
type Violation struct {
	Rule   Rule
	Detail string
}

// Error returns the rule and how it was broken.
func (v *Violation) Error() string {
	return fmt.Sprintf("bufpooltest: broken rule: %s: %s", v.Rule, v.Detail)
}

// Unwrap returns the rule.
func (v *Violation) Unwrap() error { return v.Rule }

// Check returns nil if the pools that newPool returns keep to the contract, and
// otherwise one [*Violation] for each rule they break, joined. newPool must
// return a new, empty pool each time.
//
// tiers are the capacities that the pool keeps, in any order; none mean a pool
// that keeps nothing and returns exactly what is asked for. Check allocates
// several buffers of each, and some of three times the largest.
//
// Check can only see what a user can. That the header is recycled with the
// array, that a hit does not allocate, and that what is kept is not kept for
// ever, are for the pool's own tests. A lock that is missing altogether is found
// for certain only under the race detector, on more than one processor.
func Check(newPool func() bufpool.BufferPool, tiers []int) error {
	return check(newPool, tiers, rules)
}

// CheckSequential is Check without the rule [Goroutines], for pools that belong
// to one goroutine.
func CheckSequential(newPool func() bufpool.BufferPool, tiers []int) error {
	return check(newPool, tiers, rules[:len(rules)-1])
}

// TB is what Test uses of testing.TB.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Test fails t with what [Check] returns.
func Test(t TB, newPool func() bufpool.BufferPool, tiers []int) {
	t.Helper()
	if err := Check(newPool, tiers); err != nil {
		t.Errorf("%v", err)
	}
}

func check(newPool func() bufpool.BufferPool, tiers []int, rules []rule) error {
	tiers = slices.Clone(tiers)
	slices.Sort(tiers)
	tiers = slices.Compact(tiers)
	var broken []error
	unserved := false // and said so
	for _, r := range rules {
		err := r.run(subject{newPool, tiers})
		if err == nil || unserved && errors.As(err, new(notServed)) {
			continue
		}
		unserved = unserved || r.Rule == NotNil || r.Rule == Length
		broken = append(broken, &Violation{r.Rule, err.Error()})
	}
	return errors.Join(broken...)
}

// run checks one rule. A panic breaks it.
func (r rule) run(s subject) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return r.check(s)
}
