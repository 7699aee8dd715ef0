package pooltest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/balance"
)

// The tests run twice. In the second pass, with BUFPOOL_CHECK=1, their pools go
// through package check, to find what the library or its tests do wrong with buffers
// and get away with. Pools of tests that do wrong on purpose, or that measure what a
// checker changes, such as memory and which buffer comes back, stay as they are.

// Checked reports whether this is the second pass.
func Checked() bool { return os.Getenv("BUFPOOL_CHECK") == "1" }

// Check returns p, in the second pass through a checker that fails t.
func Check(t testing.TB, p bufpool.BufferPool, opts ...check.Option) bufpool.BufferPool {
	if !Checked() {
		return p
	}
	return check.ForTest(t, p, opts...)
}

// Unreported returns p, in the second pass through a checker that says nothing and
// keeps nothing back: for a test that misuses p on purpose, and that must pass all
// the same.
func Unreported(p bufpool.BufferPool) bufpool.BufferPool {
	if !Checked() {
		return p
	}
	return bufpool.Must(check.New(p, check.WithReport(func(check.Violation) {}), check.WithQuarantine(0)))
}

// NewBalance returns a balance around Check of p. It is outermost, so that what it
// counts is what the test does, and not when quarantine ends.
func NewBalance(t testing.TB, p bufpool.BufferPool) *balance.Pool { return balance.New(Check(t, p)) }

// bare is the default pool, while another is in place that checks it.
var bare bufpool.BufferPool

// Main is a TestMain that has the default pool checked, in the second pass, for as
// long as the package's tests run.
func Main(m *testing.M) {
	if !Checked() {
		os.Exit(m.Run())
	}
	var violations atomic.Int64
	bare = bufpool.Default()
	p := bufpool.Must(check.New(bare, check.WithReport(func(v check.Violation) {
		violations.Add(1)
		fmt.Fprintln(os.Stderr, v.Error())
	})))
	restore := bufpool.SetDefault(p)
	code := m.Run()
	restore()
	p.Verify()
	for _, l := range p.Outstanding() {
		violations.Add(1)
		fmt.Fprintf(os.Stderr, "not put back into the default pool: %d of %d bytes, lent at:\n%v\n", l.Length, l.Capacity, l.Got)
	}
	if n := violations.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "%d violations in the default pool\n", n)
		code = max(code, 1)
	}
	os.Exit(code)
}

// bareDefault undoes until the test ends what Main does.
func bareDefault(t testing.TB) {
	if bare != nil {
		t.Cleanup(bufpool.SetDefault(bare))
	}
}
