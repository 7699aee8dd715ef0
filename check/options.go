package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Option configures a Pool when it is built.
type Option interface {
	apply(*config) error
}

type config struct {
	report     func(Violation)
	ignored    []Kind
	quarantine int64
	sample     int
	profile    bool
}

// defaultQuarantine holds a buffer of the default pool's largest tier, 8 MiB, or
// thousands of the usual ones. It is what a checker costs in memory.
const defaultQuarantine = 16 << 20

func newConfig(opts []Option) (config, error) {
	c := config{report: panics, quarantine: defaultQuarantine, sample: 1, profile: true}
	for _, o := range opts {
		if o == nil {
			return config{}, errors.New("check: nil Option")
		}
		if err := o.apply(&c); err != nil {
			return config{}, err
		}
	}
	return c, nil
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithReport has every violation passed to f, on the goroutine that detects it, and
// outside all locks: f may use the Pool, and may panic. Several goroutines may call
// it at once. For a leak it runs on a goroutine of the runtime's, where it should
// neither block nor panic.
//
// By default a violation panics where it is detected, with the Violation as the
// value: the call that does the wrong, but for a write after Put, which some later
// Get, Put, Flush or Verify finds. The Pool is unharmed by it. While another panic
// unwinds the goroutine it is printed to the standard error instead, so that the
// first panic is not hidden; so is a leak always.
func WithReport(f func(Violation)) Option {
	return option(func(c *config) error {
		if f == nil {
			return errors.New("check: WithReport of nil")
		}
		c.report = f
		return nil
	})
}

// WithIgnore has violations of those kinds not reported. What is done about them
// stays. It is for [Overrun], where code writes beyond the length on purpose and
// does not set *b to what it wrote.
func WithIgnore(kinds ...Kind) Option {
	kinds = slices.Clone(kinds)
	return option(func(c *config) error {
		for _, k := range kinds {
			if _, known := labels[k]; !known && k != Leak {
				return fmt.Errorf("check: WithIgnore of unknown kind %q", string(k))
			}
		}
		c.ignored = append(c.ignored, kinds...)
		return nil
	})
}

// WithQuarantine has the buffers put back last, of up to so many bytes in all, not
// lent again yet. They are watched for writes, and checked before they go to the
// parent. Each counts with its capacity and 1 KiB for what is remembered of it. One
// that is larger by itself goes to the parent at once, and is not watched. The
// default is 16 MiB.
//
// With 0 every buffer goes to the parent at once. It is then checked when it is
// lent next, if its header was not collected by then, by a full check that has been
// on since it was built. That takes a parent that nobody else uses: what others
// write to it, who had it before would be blamed for.
func WithQuarantine(bytes int64) Option {
	return option(func(c *config) error {
		if bytes < 0 {
			return fmt.Errorf("check: negative quarantine %d", bytes)
		}
		c.quarantine = bytes
		return nil
	})
}

// WithSample has one in n buffers tracked, chosen at random, and the others passed
// on. 1, the default, tracks every one; 0 tracks none, until [Pool.SetSample] says
// otherwise.
func WithSample(n int) Option {
	return option(func(c *config) error {
		c.sample = n
		return validSample(n)
	})
}

// WithoutProfile leaves what is lent out of the profile "bufpool". That saves one of
// the three stacks that are recorded for a buffer, and a quarter of what tracking it
// costs or more; [Pool.Outstanding] has the same to tell.
func WithoutProfile() Option {
	return option(func(c *config) error {
		c.profile = false
		return nil
	})
}

func validSample(n int) error {
	if n < 0 || n > math.MaxInt32/2 {
		return fmt.Errorf("check: sample of one in %d: want 0 to %d", n, math.MaxInt32/2)
	}
	return nil
}
