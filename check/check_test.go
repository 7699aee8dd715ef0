package check_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/bufpooltest"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// notes are violations that were reported.
type notes struct {
	mu  sync.Mutex
	all []check.Violation
}

func (n *notes) add(v check.Violation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
}

// kinds returns what was reported so far, and forgets it.
func (n *notes) kinds() (kinds []check.Kind) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range n.all {
		kinds = append(kinds, v.Kind)
	}
	n.all = nil
	return kinds
}

// must fails t unless these and no others were reported.
func (n *notes) must(t *testing.T, want ...check.Kind) {
	t.Helper()
	if got := n.kinds(); !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// noting returns a Pool around parent and what it reports.
func noting(parent bufpool.BufferPool, opts ...check.Option) (*check.Pool, *notes) {
	n := new(notes)
	return bufpool.Must(check.New(parent, append(opts, check.WithReport(n.add))...)), n
}

// collect has the collector run until done, as often as it takes within reason.
func collect(t *testing.T, done func() bool) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if done() {
			return
		}
		runtime.Gosched()
	}
	t.Error("the collector did not find it in 1000 turns")
}

func TestContract(t *testing.T) {
	for name, parent := range map[string]func() bufpool.BufferPool{
		"Tiered":       func() bufpool.BufferPool { return bufpool.Must(bufpool.NewTiered([]int{1, 1000, 70_000})) },
		"BinaryTiered": func() bufpool.BufferPool { return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(16, 64<<10))) },
		"Stepped":      func() bufpool.BufferPool { return bufpool.Must(bufpool.NewStepped(64, 8<<10, 4)) },
		"Sized":        func() bufpool.BufferPool { return bufpool.Must(bufpool.NewSized(4096)) },
		"Nop":          func() bufpool.BufferPool { return bufpool.Nop{} },
		"ClearOnPut": func() bufpool.BufferPool {
			return bufpool.Must(bufpool.NewSized(4096, bufpool.WithClear(bufpool.ClearOnPut)))
		},
		"check": func() bufpool.BufferPool {
			p, _ := noting(bufpool.Must(bufpool.NewSized(4096)), check.WithQuarantine(0))
			return p
		},
	} {
		sizes := parent().(interface{ Sizes() []int }).Sizes()
		for mode, opts := range map[string][]check.Option{
			"full": {check.WithQuarantine(0)},
			"half": {check.WithQuarantine(0), check.WithSample(2)},
			"off":  {check.WithSample(0)},
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				bufpooltest.Test(t, func() bufpool.BufferPool {
					p, _ := noting(parent(), opts...)
					return p
				}, sizes)
			})
		}
	}
}

func TestOptions(t *testing.T) {
	for want, opts := range map[string][]check.Option{
		"nil Option":             {nil},
		"WithReport of nil":      {check.WithReport(nil)},
		"negative quarantine -1": {check.WithQuarantine(-1)},
		"one in -1":              {check.WithSample(-1)},
		`unknown kind "nothing"`: {check.WithIgnore("nothing")},
	} {
		if p, err := check.New(parent(), opts...); p != nil || err == nil || !strings.HasPrefix(err.Error(), "check: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", p, err, want)
		}
	}
	if _, err := check.New(nil); err == nil || err.Error() != "check: nil parent" {
		t.Error(err)
	}
	p, _ := noting(parent())
	if err := p.SetSample(-3); err == nil || !strings.Contains(err.Error(), "one in -3") {
		t.Error(err)
	}
	pooltest.MustPanic(t, "bufpool: negative length -1", func() { p.Get(-1) })
}

// What is given to Get and Put, with what becomes of it, in a few lines each.
func TestRightUseIsNotReported(t *testing.T) {
	for name, use := range map[string]func(p *check.Pool){
		"the length asked for":    func(p *check.Pool) { b := p.Get(100); clear(*b); p.Put(b) },
		"append in place":         func(p *check.Pool) { b := p.Get(0); *b = append(*b, "something"...); p.Put(b) },
		"append beyond":           func(p *check.Pool) { b := p.Get(100); *b = append(*b, make([]byte, 1000)...); p.Put(b) },
		"append far beyond":       func(p *check.Pool) { b := p.Get(100); *b = append(*b, make([]byte, 20<<20)...); p.Put(b) },
		"append and reset":        func(p *check.Pool) { b := p.Get(0); *b = append(*b, "something"...); *b = (*b)[:0]; p.Put(b) },
		"the whole capacity":      func(p *check.Pool) { b := p.Get(100); *b = (*b)[:cap(*b)]; (*b)[200] = 1; p.Put(b) },
		"shorter":                 func(p *check.Pool) { b := p.Get(100); clear(*b); *b = (*b)[:3]; p.Put(b) },
		"by a copy of the header": func(p *check.Pool) { b := p.Get(100); c := (*b)[:50]; p.Put(&c); runtime.KeepAlive(b) },
		"above the largest tier":  func(p *check.Pool) { b := p.Get(9 << 20); clear(*b); p.Put(b) },
		"nothing":                 func(p *check.Pool) { p.Put(nil); var b []byte; p.Put(&b); c := []byte{}; p.Put(&c) },
		"Grow":                    func(p *check.Pool) { b := bufpool.Grow(p, p.Get(100), 5000); p.Put(b) },
		"ReadN": func(p *check.Pool) {
			b, err := bufpool.ReadN(p, bytes.NewReader(make([]byte, 1<<20)), 1<<20, 10)
			if err != nil {
				panic(err)
			}
			p.Put(b)
		},
		"Local": func(p *check.Pool) {
			l := bufpool.NewLocal(p, 10_000)
			for n := range 100 {
				l.Put(l.Get(n * 100))
			}
			l.Flush()
		},
	} {
		for _, quarantine := range []int64{0, 5000, 16 << 20} {
			p, n := noting(parent(), check.WithQuarantine(quarantine))
			for range 3 {
				use(p)
			}
			p.Flush()
			if got := n.kinds(); len(got) > 0 || len(p.Outstanding()) > 0 {
				t.Errorf("%s, quarantine %d: reported %q, and %d are lent", name, quarantine, got, len(p.Outstanding()))
			}
		}
	}
}

func TestOverrun(t *testing.T) {
	p, n := noting(parent())
	b := p.Get(100)
	_ = append((*b)[:90], make([]byte, 20, 30)...) // zeros over zeros: cannot be seen
	p.Put(b)
	n.must(t)
	b = p.Get(100)
	*b = append((*b)[:90], "0123456789abc"...)
	*b = (*b)[:50]
	p.Put(b)
	if len(n.all) != 1 || n.all[0].Offset != 100 || string(n.all[0].Found[:3]) != "abc" || len(n.all[0].Found) != 16 {
		t.Errorf("%+v", n.all)
	}
	p, n = noting(parent(), check.WithIgnore(check.Overrun))
	b = p.Get(100)
	(*b)[:101][100] = 1
	p.Put(b)
	n.must(t)
}

// A buffer comes back with whatever was in its tail, which may be zeros that the
// parent promised.
func TestAClearingParentKeepsItsPromise(t *testing.T) {
	for _, quarantine := range []int64{0, 10_000} {
		for _, mode := range []bufpool.Clear{bufpool.ClearOnGet, bufpool.ClearOnPut} {
			p, n := noting(bufpool.Must(bufpool.NewSized(4096, bufpool.WithClear(mode))), check.WithQuarantine(quarantine))
			for range 20 {
				b := p.Get(1000)
				promised := *b
				if mode == bufpool.ClearOnPut {
					promised = (*b)[:cap(*b)]
				}
				if i := slices.IndexFunc(promised, func(c byte) bool { return c != 0 }); i >= 0 {
					t.Fatalf("%v: byte %d is %#x", mode, i, promised[i])
				}
				*b = append(*b, 1, 2, 3)
				p.Put(b)
			}
			p.Flush()
			n.must(t)
		}
	}
}

// dotnet/corefx#5973: the report names what was put and what would have been right.
func TestAForeignPutSaysSo(t *testing.T) {
	p, n := noting(bufpool.Must(bufpool.NewTiered([]int{100, 4096})))
	foreign := make([]byte, 700)
	p.Put(&foreign)
	if len(n.all) != 1 {
		t.Fatal(n.all)
	}
	for _, want := range []string{"not obtained from this pool", "700 bytes", "[100 4096]", "TestAForeignPutSaysSo"} {
		if got := n.all[0].Error(); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if d := p.Stats().Dropped.Between; d != 1 {
		t.Errorf("the parent counted %d drops between tiers, want 1", d)
	}
}

// The live set: dotnet/runtime#110582 and all who were lent what another had.
func TestNoTwoOwners(t *testing.T) {
	for _, quarantine := range []int64{0, 1 << 20} {
		p, n := noting(parent(), check.WithQuarantine(quarantine))
		x := p.Get(4096)
		p.Put(x)
		p.Put(x)
		a, b := p.Get(4096), p.Get(4096)
		if &(*a)[0] == &(*b)[0] {
			t.Error("two owners of one buffer")
		}
		n.must(t, check.DoublePut)
	}
}

// bytedance's mcache and libp2p's pool keep a part of a buffer that is in use, and
// lend it.
func TestAPartIsNotLent(t *testing.T) {
	p, n := noting(parent())
	x := p.Get(4096)
	y := (*x)[:1024:1024]
	p.Put(&y)
	n.must(t, check.Shortened)
	p.Flush()
	if z := p.Get(1024); &(*z)[0] == &(*x)[0] {
		t.Error("two owners of one array")
	}
	p.Put(x)
	n.must(t)
}

// stack is a parent that lends what was put last, for certain.
type stack struct{ free []*[]byte }

func (s *stack) Get(length int) *[]byte {
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, 4096)
	return &b
}

func (s *stack) Put(b *[]byte) { s.free = append(s.free, b) }

func TestLentTwice(t *testing.T) {
	s := new(stack)
	p, n := noting(s)
	a := p.Get(100)
	behind := *a
	s.Put(&behind) // past the checker
	b := p.Get(200)
	if &(*a)[0] == &(*b)[0] || len(*b) != 200 || cap(*b) != 4096 {
		t.Error("lent twice, or not what was asked for")
	}
	if v := n.all[0]; len(n.all) != 1 || v.Kind != check.LentTwice || v.Length != 100 || v.Got == nil || v.Detected == nil {
		t.Errorf("%+v", n.all)
	}
	n.kinds()
	p.Put(a)
	behind = behind[:0]
	s.Put(&behind) // what is in quarantine
	c := p.Get(300)
	n.must(t, check.LentTwice)
	p.Put(b)
	p.Put(c)
	p.Flush()
	n.must(t)
}

// cockroachdb/pebble#5072: that poison works is itself tested, to the last byte.
func TestPoison(t *testing.T) {
	for _, quarantine := range []int64{0, 10_000} {
		s := new(stack)
		p, n := noting(s, check.WithQuarantine(quarantine))
		b := p.Get(100)
		whole := (*b)[:cap(*b)]
		text := string(whole[:10])
		p.Put(b)
		if i := slices.IndexFunc(whole, func(c byte) bool { return c != check.Poison }); i >= 0 || text == string(whole[:10]) {
			t.Fatalf("byte %d is not poison", i)
		}
		whole[cap(whole)-1] = 'x'
		if quarantine > 0 {
			if err := p.Verify(); !errors.Is(err, check.WriteAfterPut) {
				t.Error(err)
			}
			if err := p.Verify(); err != nil {
				t.Errorf("a second time: %v", err)
			}
		}
		c := p.Get(100)
		if v := n.all; len(v) != 1 || v[0].Offset != 4095 || !bytes.Equal(v[0].Found, []byte("x")) || v[0].Put == nil {
			t.Errorf("quarantine %d: %+v", quarantine, v)
		}
		if &(*c)[0] == &whole[0] {
			t.Error("what a stale alias writes to was lent again")
		}
		runtime.KeepAlive(b)
	}
}

// What is in quarantine is not lent, and what leaves it is the oldest.
func TestQuarantine(t *testing.T) {
	pooltest.Exactly(t)
	s := new(stack)
	p, _ := noting(s, check.WithQuarantine(10*(4096+1024)))
	var put []*byte
	for i := range 100 {
		b := p.Get(100)
		at := &(*b)[0]
		if j := slices.Index(put, at); j >= 0 && j >= i-10 {
			t.Fatalf("put as number %d, lent as number %d", j, i)
		}
		put = append(put, at)
		p.Put(b)
	}
	if len(s.free) > 1 {
		t.Errorf("the parent has %d idle", len(s.free))
	}
	p.Flush()
	if len(s.free) != 11 {
		t.Errorf("after Flush the parent has %d idle, want 11", len(s.free))
	}
	// One that does not fit by itself does not empty it.
	p, n := noting(s, check.WithQuarantine(10_000))
	b := p.Get(100)
	alias := *b
	p.Put(b)
	big := make([]byte, 20_000)
	c := p.Get(100)
	*c = big
	p.Put(c)
	alias[0] = 1
	p.Verify()
	n.must(t, check.WriteAfterPut)
}

// Tiny and empty buffers count with what is remembered of them.
func TestQuarantineOfNothing(t *testing.T) {
	p, _ := noting(bufpool.Nop{}, check.WithQuarantine(100<<10))
	before := pooltest.Heap()
	for i := range 20_000 {
		p.Put(p.Get(i % 2))
	}
	if grown := pooltest.Heap() - before; grown > 5<<20 {
		t.Errorf("a quarantine of 100 KiB took %d bytes", grown)
	}
	runtime.KeepAlive(p)
}

func TestADoublePutDoesNotMakeUpForALeak(t *testing.T) {
	p, n := noting(parent())
	b := p.Get(1000)
	p.Put(b)
	p.Put(b)
	leak(p, 1)
	collect(t, func() bool { return len(p.Outstanding()) == 0 })
	collect(t, func() bool { n.mu.Lock(); defer n.mu.Unlock(); return len(n.all) == 2 })
	n.must(t, check.DoublePut, check.Leak)
}

//go:noinline
func leak(p *check.Pool, times int) {
	for range times {
		p.Get(1000)
	}
}

func TestLeaksAreReportedAndFreed(t *testing.T) {
	puts := new(counting)
	p, n := noting(puts)
	before := pooltest.Heap()
	const times, size = 1000, 16 << 10
	func() {
		for range times {
			p.Get(size)
		}
	}()
	collect(t, func() bool { n.mu.Lock(); defer n.mu.Unlock(); return len(n.all) == times })
	for _, v := range n.all {
		if v.Kind != check.Leak || !strings.Contains(v.Got.String(), "TestLeaksAreReportedAndFreed") {
			t.Fatal(v)
		}
	}
	n.kinds()
	if grown := pooltest.Heap() - before; grown > times*size/100 {
		t.Errorf("%d bytes are still there, of %d", grown, times*size)
	}
	if puts.puts != 0 || len(p.Outstanding()) != 0 {
		t.Errorf("%d were put back for their owners, %d are said to be lent", puts.puts, len(p.Outstanding()))
	}
	runtime.KeepAlive(p)
}

type counting struct {
	bufpool.Nop
	puts int
}

func (c *counting) Put(*[]byte) { c.puts++ }

// Records of what was put back go away with the headers.
func TestNothingPilesUp(t *testing.T) {
	for _, sample := range []int{1, 10} {
		p, n := noting(parent(), check.WithSample(sample), check.WithQuarantine(100<<10))
		run := func() {
			for i := range 20_000 {
				p.Put(p.Get(i % 5000))
			}
			p.Flush()
			for range 3 {
				runtime.GC()
			}
		}
		run()
		before := pooltest.Heap()
		for range 3 {
			run()
		}
		collect(t, func() bool { return pooltest.Heap()-before < 300<<10 })
		n.must(t)
		runtime.KeepAlive(p)
	}
}

func TestTheDefaultPanicsAndHarmsNothing(t *testing.T) {
	p := bufpool.Must(check.New(parent()))
	b := p.Get(100)
	alias := *b
	p.Put(b)
	v := recovered(func() { p.Put(b) })
	if v, ok := v.(check.Violation); !ok || v.Kind != check.DoublePut || !errors.Is(v, check.DoublePut) {
		t.Fatal(v)
	}
	alias[0] = 1
	if v := recovered(func() { p.Flush() }); !errors.Is(v.(error), check.WriteAfterPut) {
		t.Error(v)
	}
	for range 100 {
		p.Put(p.Get(100))
	}
	p.Flush()
	if len(p.Outstanding()) > 0 {
		t.Error("some are lent still")
	}
}

func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestAPanicIsNotHidden(t *testing.T) {
	first := errors.New("the first")
	p := bufpool.Must(check.New(parent()))
	printed := stderr(t, func() {
		v := recovered(func() {
			b := p.Get(100)
			defer func() { p.Put(b) }()
			p.Put(b)
			panic(first)
		})
		if v != first {
			t.Errorf("panicked with %v", v)
		}
	})
	if want := "check: double Put: 256 bytes, 100 asked for\nlent at:\n"; !strings.HasPrefix(printed, want) {
		t.Errorf("no %q in %q", want, printed)
	}
}

// A leak is found on a goroutine of the runtime's: another process shows that it
// prints there, and goes on.
func TestALeakDoesNotPanic(t *testing.T) {
	if os.Getenv("BUFPOOL_LEAK") != "" {
		p := bufpool.Must(check.New(parent()))
		leak(p, 1)
		for range 1000 {
			runtime.GC()
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestALeakDoesNotPanic$")
	cmd.Env = append(os.Environ(), "BUFPOOL_LEAK=1")
	var printed strings.Builder
	cmd.Stderr = &printed
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if want := "check: leak: 1024 bytes, 1000 asked for\nlent at:\n"; !strings.HasPrefix(printed.String(), want) {
		t.Errorf("no %q in %q", want, printed.String())
	}
}

// stderr returns what f has printed to the standard error.
func stderr(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = file
	func() {
		defer func() { os.Stderr = before }()
		f()
	}()
	file.Close()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// All that is found in one call is reported, even where a report panics.
func TestAReportThatPanics(t *testing.T) {
	var seen []check.Kind
	p := bufpool.Must(check.New(parent(), check.WithReport(func(v check.Violation) {
		seen = append(seen, v.Kind)
		panic(v)
	})))
	for range 3 {
		b := p.Get(100)
		alias := *b
		p.Put(b)
		alias[0] = 1
	}
	if v := recovered(p.Flush); v == nil {
		t.Error("no panic")
	}
	if want := []check.Kind{check.WriteAfterPut, check.WriteAfterPut, check.WriteAfterPut}; !slices.Equal(seen, want) {
		t.Errorf("reported %q", seen)
	}
}

func TestAReportMayUseThePool(t *testing.T) {
	var p *check.Pool
	reports := 0
	p = bufpool.Must(check.New(parent(), check.WithReport(func(v check.Violation) {
		reports++
		p.Put(p.Get(10))
		p.Verify()
		p.Outstanding()
	})))
	b := p.Get(100)
	p.Put(b)
	p.Put(b)
	if reports != 1 {
		t.Error(reports)
	}
}

// apache/geode#5703: of many who put one buffer at once, one is right.
func TestManyPutOne(t *testing.T) {
	p, n := noting(parent())
	for range 100 {
		b := p.Get(100)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() { p.Put(b) })
		}
		wg.Wait()
		if got := n.kinds(); len(got) != 63 || slices.ContainsFunc(got, func(k check.Kind) bool { return k != check.DoublePut }) {
			t.Fatalf("reported %q", got)
		}
	}
}

// golang/go#5509: a Reader that keeps the slice and writes to it later.
type keeper struct{ p []byte }

func (k *keeper) Read(p []byte) (int, error) {
	k.p = p
	return len(p), nil
}

func TestAReaderThatKeepsTheSlice(t *testing.T) {
	p, n := noting(parent())
	k := new(keeper)
	b, err := bufpool.ReadN(p, k, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Put(b)
	k.p[500] = 'x'
	p.Flush()
	if len(n.all) != 1 || n.all[0].Offset != 500 {
		t.Error(n.all)
	}
	n.must(t, check.WriteAfterPut)
}

func TestProfile(t *testing.T) {
	profile := pprof.Lookup("bufpool")
	before := profile.Count()
	p, _ := noting(parent())
	b, c := p.Get(100), p.Get(200)
	if got := profile.Count() - before; got != 2 {
		t.Errorf("%d are lent, says the profile", got)
	}
	var text bytes.Buffer
	if err := profile.WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	// The first frame is who called Get, not Get.
	if !regexp.MustCompile(`\n1 @ [^\n]*\n#\s+0x[0-9a-f]+\s+github.com/bufpool/bufpool/check_test.TestProfile\+`).MatchString(text.String()) || strings.Contains(text.String(), "check.(*Pool)") {
		t.Error(text.String())
	}
	p.Put(b)
	alias := *c
	p.Put(&alias)
	leak(p, 10)
	collect(t, func() bool { return profile.Count() == before })
	p, _ = noting(parent(), check.WithoutProfile())
	b = p.Get(100)
	if profile.Count() != before {
		t.Error("without a profile, there is one")
	}
	p.Put(b)
}

func TestOutstanding(t *testing.T) {
	p, _ := noting(parent())
	b, c := p.Get(100), p.Get(5000)
	got := p.Outstanding()
	slices.SortFunc(got, func(a, b check.Loan) int { return a.Length - b.Length })
	if len(got) != 2 || got[0].Length != 100 || got[0].Capacity != 256 || got[1].Capacity != 8192 ||
		!strings.HasPrefix(got[0].Got.String(), "\tgithub.com/bufpool/bufpool/check_test.TestOutstanding\n") {
		t.Error(got)
	}
	p.Put(c)
	p.Put(b)
	if len(p.Outstanding()) != 0 {
		t.Error(p.Outstanding())
	}
}

func TestLog(t *testing.T) {
	var text bytes.Buffer
	p := bufpool.Must(check.New(parent(), check.WithReport(check.Log(slog.New(slog.NewTextHandler(&text, nil))))))
	b := p.Get(100)
	p.Put(b)
	p.Put(b)
	for _, want := range []string{"level=ERROR", `violation.kind="double Put"`, "violation.capacity=256", "violation.length=100", "violation.got=", "violation.put=", "violation.detected=", "TestLog"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, text.String())
		}
	}
	before := slog.Default()
	defer slog.SetDefault(before)
	text.Reset()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	check.Log(nil)(check.Violation{Kind: check.Leak, Offset: -1})
	if !strings.Contains(text.String(), "kind=leak") {
		t.Error(text.String())
	}
}

// operations is how many the clean run does: BUFPOOL_OPERATIONS, or some.
func operations(t *testing.T) int {
	if s := os.Getenv("BUFPOOL_OPERATIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 100_000
}

// No mode reports anything about right use, nor while the mode changes.
func TestACleanRunIsClean(t *testing.T) {
	const goroutines = 8
	each := operations(t) / goroutines
	for name, mode := range map[string][]check.Option{
		"full":          {check.WithQuarantine(1 << 20)},
		"no quarantine": {check.WithQuarantine(0)},
		"sample":        {check.WithSample(20), check.WithQuarantine(1 << 20)},
		"switched":      {check.WithQuarantine(100 << 10)},
	} {
		t.Run(name, func(t *testing.T) {
			p, n := noting(parent(), mode...)
			passed := make(chan *[]byte, 100) // for others to put back
			var wg sync.WaitGroup
			for seed := range uint64(goroutines) {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(seed, 1))
					var held []*[]byte
					for i := range each {
						if name == "switched" && i%500 == int(seed)*50 {
							if err := p.SetSample(rnd.IntN(4)); err != nil {
								t.Error(err)
							}
						}
						switch rnd.IntN(10) {
						case 0, 1, 2, 3:
							length := rnd.IntN(3000)
							if rnd.IntN(1000) == 0 {
								length = rnd.IntN(10 << 20)
							}
							b := p.Get(length)
							for j := range min(length, 100) {
								(*b)[j] = byte(j)
							}
							held = append(held, b)
						case 4:
							select {
							case b := <-passed:
								p.Put(b)
							default:
							}
						case 5:
							if i%100 == 0 {
								p.Verify()
							}
						default:
							if len(held) == 0 {
								continue
							}
							b := held[len(held)-1]
							held = held[:len(held)-1]
							switch rnd.IntN(8) {
							case 0:
								*b = append(*b, make([]byte, rnd.IntN(500))...)
							case 1:
								*b = (*b)[:rnd.IntN(cap(*b)+1)]
							case 2:
								if len(*b) < 10_000 {
									b = bufpool.Grow(p, b, 2*cap(*b))
								}
							case 3:
								select {
								case passed <- b:
									continue
								default:
								}
							}
							p.Put(b)
						}
						if len(held) > 20 {
							p.Put(held[0])
							held = held[1:]
						}
					}
					for _, b := range held {
						p.Put(b)
					}
				})
			}
			wg.Wait()
			close(passed)
			for b := range passed {
				p.Put(b)
			}
			p.Flush()
			runtime.GC()
			n.must(t)
			if got := p.Outstanding(); len(got) > 0 {
				t.Errorf("%d are lent still", len(got))
			}
		})
	}
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skip(err)
	}
	for _, forbidden := range []string{"testing", "net/http", "expvar"} {
		if slices.Contains(strings.Fields(string(out)), forbidden) {
			t.Errorf("check imports %s", forbidden)
		}
	}
}
