package bufpool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// poison fills whatever it lends, so that a byte nobody wrote shows.
type poison struct{ bufpool.BufferPool }

func (p poison) Get(n int) *[]byte {
	b := p.BufferPool.Get(n)
	fill(b)
	return b
}

func newBalanced(t testing.TB) *balance.Pool {
	return pooltest.NewBalance(t, poison{bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))})
}

func TestGrow(t *testing.T) {
	for _, base := range []bufpool.BufferPool{
		bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))),
		bufpool.Must(bufpool.NewTiered([]int{1000, 5000, 70000, 2 << 20})),
		bufpool.Nop{}, // a double with exact sizes
	} {
		p := pooltest.NewBalance(t, poison{base})
		rnd := rand.New(rand.NewPCG(1, 2))
		b := p.Get(1)
		*b = (*b)[:0]
		var want []byte
		for len(want) < 1<<20 {
			more := make([]byte, 1+rnd.IntN(40_000))
			for i := range more {
				more[i] = byte(rnd.Uint32())
			}
			old, fits := b, cap(*b) >= len(*b)+len(more)
			length := len(*b)
			b = bufpool.Grow(p, b, len(*b)+len(more))
			if len(*b) != length || cap(*b) < length+len(more) {
				t.Fatalf("length %d, capacity %d", len(*b), cap(*b))
			}
			if fits != (b == old) {
				t.Fatalf("fits: %v, same: %v", fits, b == old)
			}
			*b = append(*b, more...)
			want = append(want, more...)
		}
		if !bytes.Equal(*b, want) {
			t.Errorf("%T: contents differ", base)
		}
		if c := p.Counts(); c.Gets != c.Puts+1 {
			t.Errorf("%T: %d gets and %d puts with one buffer lent", base, c.Gets, c.Puts)
		}
		if sizes := p.Sizes(); sizes != nil && !slices.Contains(sizes, cap(*b)) {
			t.Errorf("%T: capacity %d at the end is no tier's", base, cap(*b))
		}
		p.Put(b)
		pooltest.MustBalance(t, p)
	}
}

func TestGrowPreservesTheLength(t *testing.T) {
	p := newBalanced(t)
	for range 1000 {
		n := rand.IntN(5000)
		b := p.Get(n)
		for i := range *b {
			(*b)[i] = byte(i)
		}
		want := bytes.Clone(*b)
		b = bufpool.Grow(p, b, n+rand.IntN(20_000))
		if !bytes.Equal(*b, want) {
			t.Fatal("contents differ")
		}
		p.Put(b)
	}
	pooltest.MustBalance(t, p)
}

func TestGrowEdges(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.Grow(p, nil, 300)
	if len(*b) != 0 || cap(*b) != 512 {
		t.Errorf("of nil: length %d, capacity %d", len(*b), cap(*b))
	}
	*b = append(*b, "kept"...)
	pooltest.MustPanic(t, "bufpool: negative length -1", func() { bufpool.Grow(p, b, -1) })
	if bits.UintSize == 64 {
		pooltest.MustPanic(t, "", func() { bufpool.Grow(p, b, math.MaxInt) })
		pooltest.MustPanic(t, "", func() { bufpool.Grow(p, b, math.MaxInt-5) })
	}
	if string(*b) != "kept" || p.Counts().Gets != 1 || p.Counts().Puts != 0 {
		t.Errorf("after the panics: %q, %+v", *b, p.Counts())
	}
	for _, n := range []int{0, len(*b), cap(*b)} {
		if got := bufpool.Grow(p, b, n); got != b {
			t.Errorf("moved for %d of %d bytes", n, cap(*b))
		}
	}
	p.Put(b)
	pooltest.MustBalance(t, p)

	defer bufpool.SetDefault(p)()
	b = bufpool.Grow(nil, nil, 10)
	b = bufpool.Grow(nil, b, 1000)
	bufpool.Put(b)
	pooltest.MustBalance(t, p)
	if p.Counts().Gets != 3 {
		t.Error("nil is not the default pool")
	}
}

// readers are all manners of reading the same bytes.
var readers = map[string]func(io.Reader) io.Reader{
	"plain":           func(r io.Reader) io.Reader { return r },
	"one byte":        iotest.OneByteReader,
	"half":            iotest.HalfReader,
	"data with error": iotest.DataErrReader,
	"time-out":        iotest.TimeoutReader,
	"time-out, half":  func(r io.Reader) io.Reader { return iotest.TimeoutReader(iotest.HalfReader(r)) },
	"empty reads":     func(r io.Reader) io.Reader { return &pooltest.EverySecondEmpty{R: r} },
	"data and error":  func(r io.Reader) io.Reader { return &errorWithData{r: r, at: 10_000} },
	"late time-out": func(r io.Reader) io.Reader {
		return io.MultiReader(io.LimitReader(r, 200_000), iotest.ErrReader(iotest.ErrTimeout))
	},
}

var errBroken = errors.New("broken")

// errorWithData returns an error together with the byte at an offset, once, and
// would go on after it.
type errorWithData struct {
	r  io.Reader
	at int
}

func (e *errorWithData) Read(p []byte) (int, error) {
	if e.at > 0 && len(p) > e.at {
		p = p[:e.at]
	}
	n, err := e.r.Read(p)
	if e.at > 0 {
		if e.at -= n; e.at == 0 {
			return n, errBroken
		}
	}
	return n, err
}

func TestReadNIsReadFull(t *testing.T) {
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(i>>16 ^ i>>8 ^ i)
	}
	p := newBalanced(t)
	for name, wrap := range readers {
		for _, there := range []int{0, 1, 9999, 10_000, 10_001, 128 << 10, 128<<10 + 1, 2<<20 - 52, 3 << 20} {
			if name == "one byte" && there > 1<<20 {
				continue
			}
			for _, missing := range []int{0, 1, 200_000} {
				for _, headroom := range []int{0, 52, 4096, 4097, 300_000} {
					n := there + missing
					if strings.HasPrefix(name, "time-out") && headroom+n > 128<<10 {
						continue // it fails at the second Read, and stages make for more Reads
					}
					want := make([]byte, n)
					wantN, wantErr := io.ReadFull(wrap(bytes.NewReader(data[:there])), want)

					b, err := bufpool.ReadN(p, wrap(bytes.NewReader(data[:there])), int64(n), headroom)
					if err != wantErr {
						t.Fatalf("%s, %d of %d bytes: error %v, want %v", name, there, n, err, wantErr)
					}
					if (b == nil) != (err != nil) {
						t.Fatalf("%s: buffer %p with error %v", name, b, err)
					}
					if err != nil {
						continue
					}
					if len(*b) != headroom+n || !bytes.Equal((*b)[headroom:], want[:wantN]) {
						t.Fatalf("%s, %d bytes: length %d, or the bytes differ", name, n, len(*b))
					}
					p.Put(b)
				}
			}
		}
	}
	pooltest.MustBalance(t, p)
}

func TestReadNFailingAfterEveryByte(t *testing.T) {
	const n = 300
	data := make([]byte, n)
	for _, base := range []bufpool.BufferPool{bufpool.Default(), bufpool.Nop{}} {
		p := pooltest.NewBalance(t, base)
		for k := range n {
			r := io.MultiReader(bytes.NewReader(data[:k]), iotest.ErrReader(errBroken))
			if _, err := bufpool.ReadN(p, r, n, 52); err != errBroken {
				t.Errorf("after %d bytes: %v", k, err)
			}
			want := io.ErrUnexpectedEOF
			if k == 0 {
				want = io.EOF
			}
			if _, err := bufpool.ReadN(p, bytes.NewReader(data[:k]), n, 52); err != want {
				t.Errorf("end after %d bytes: %v", k, err)
			}
		}
		pooltest.MustBalance(t, p)
	}
}

// gets records the lengths asked for.
type gets struct {
	bufpool.BufferPool
	lengths []int
}

func (g *gets) Get(n int) *[]byte {
	g.lengths = append(g.lengths, n)
	return g.BufferPool.Get(n)
}

// zeros has so many bytes, without having to hold them.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	z.left -= n
	return n, nil
}

func TestReadNTrustsNoLength(t *testing.T) {
	ns := []int{0, 1, 128<<10 - 52, 128<<10 - 51, 128 << 10, 128<<10 + 1, 2<<20 - 52, 2 << 20, 2<<20 + 1, 32 << 20, 64<<20 - 52}
	for range 10 {
		ns = append(ns, rand.IntN(20<<20))
	}
	for _, headroom := range []int{0, 1, 52, 4096, 4097, 128 << 10, 1 << 20} {
		slack := 0 // a headroom above 4 KiB comes on top
		if headroom > 4096 {
			slack = headroom
		}
		for _, n := range ns {
			g := &gets{BufferPool: bufpool.Nop{}}
			if _, err := bufpool.ReadN(g, &zeros{n}, int64(n), headroom); err != nil {
				t.Fatal(err)
			}
			stages := g.lengths
			if stages[len(stages)-1] != headroom+n {
				t.Fatalf("n %d, headroom %d: stages %v", n, headroom, stages)
			}
			if stages[0] > 128<<10+slack {
				t.Errorf("n %d, headroom %d: %d bytes on the peer's word alone", n, headroom, stages[0])
			}
			copied := 0
			for i, stage := range stages[:len(stages)-1] {
				if stage <= headroom {
					t.Errorf("n %d, headroom %d: stage of %d holds no payload", n, headroom, stage)
				}
				copied += stage - headroom
				// The next one holds 16 bytes for each one that came.
				if got := stages[i+1]; got-slack > 16*(stage-slack)+16 {
					t.Errorf("n %d, headroom %d: stages %v", n, headroom, stages)
				}
			}
			if copied > n/15 {
				t.Errorf("n %d, headroom %d: %d bytes copied, more than n/15", n, headroom, copied)
			}
			// A forged length costs the first stage and no more.
			g.lengths = nil
			if _, err := bufpool.ReadN(g, &zeros{}, int64(n)+1, headroom); err != io.EOF || len(g.lengths) != 1 {
				t.Errorf("no bytes: %v, %d stages", err, len(g.lengths))
			}
		}
	}
}

// A payload that fills a tier with its headroom is staged in tiers all along.
func TestReadNStagesFillTiers(t *testing.T) {
	for _, want := range [][]int{
		{128 << 10},
		{8 << 10, 128<<10 + 1},
		{128 << 10, 2 << 20},
		{32 << 10, 512 << 10, 8 << 20},
	} {
		n := want[len(want)-1] - 52
		g := &gets{BufferPool: bufpool.Nop{}}
		if _, err := bufpool.ReadN(g, &zeros{n}, int64(n), 52); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.lengths, want) {
			t.Errorf("stages %v, want %v", g.lengths, want)
		}
	}
}

// idle returns 0, nil so often, and then what the rest says.
type idle struct {
	times int
	rest  func(p []byte) (int, error)
	reads int
}

func (i *idle) Read(p []byte) (int, error) {
	i.reads++
	if i.times--; i.times >= 0 {
		return 0, nil
	}
	return i.rest(p)
}

func TestReadNGivesUpAtTheHundredthEmptyRead(t *testing.T) {
	p := newBalanced(t)
	some := func(p []byte) (int, error) { return len(p), nil }
	for _, test := range []struct {
		times int
		rest  func(p []byte) (int, error)
		want  error
		reads int
	}{
		{99, some, nil, 100},
		{100, some, io.ErrNoProgress, 100},
		{99, func([]byte) (int, error) { return 0, errBroken }, errBroken, 100},
	} {
		r := &idle{times: test.times, rest: test.rest}
		b, err := bufpool.ReadN(p, r, 10, 0)
		if err != test.want || r.reads != test.reads {
			t.Errorf("%d empty reads: %v after %d", test.times, err, r.reads)
		}
		if err == nil {
			p.Put(b)
		}
	}
	// It is a hundred in a row that count.
	b, err := bufpool.ReadN(p, &pooltest.EverySecondEmpty{R: iotest.OneByteReader(&zeros{500})}, 500, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Put(b)
	pooltest.MustBalance(t, p)
}

func TestReadNBadLengths(t *testing.T) {
	p := newBalanced(t)
	untouched := iotest.ErrReader(errors.New("was read"))
	for _, n := range []int64{-1, math.MinInt64, -20008899456} {
		_, err := bufpool.ReadN(p, untouched, n, 0)
		if !errors.Is(err, bufpool.ErrNegativeLength) || err.Error() != fmt.Sprint("bufpool: negative length ", n) {
			t.Error(err)
		}
	}
	for _, n := range []int64{math.MaxInt64, math.MaxInt - 51} {
		if _, err := bufpool.ReadN(p, untouched, n, 52); !errors.Is(err, bufpool.ErrTooLarge) {
			t.Error(err)
		}
	}
	pooltest.MustPanic(t, "bufpool: negative length -7", func() { bufpool.ReadN(p, untouched, 1, -7) })
	if c := p.Counts(); c.Gets != 0 {
		t.Errorf("%d gets", c.Gets)
	}
}

type badReader func(p []byte) (int, error)

func (f badReader) Read(p []byte) (int, error) { return f(p) }

func TestReadNBadReaders(t *testing.T) {
	p := newBalanced(t)
	for name, test := range map[string]struct {
		r    badReader
		want string
	}{
		"negative count": {func([]byte) (int, error) { return -1, nil }, "invalid count -1"},
		"too much":       {func(p []byte) (int, error) { return len(p) + 1, nil }, "invalid count 101"},
		"no progress":    {func([]byte) (int, error) { return 0, nil }, io.ErrNoProgress.Error()},
	} {
		if _, err := bufpool.ReadN(p, test.r, 100, 0); err == nil || !bytes.Contains([]byte(err.Error()), []byte(test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	pooltest.MustPanic(t, "the reader's", func() {
		bufpool.ReadN(p, badReader(func([]byte) (int, error) { panic("the reader's") }), 100, 0)
	})
	pooltest.MustBalance(t, p)

	defer bufpool.SetDefault(p)()
	b, err := bufpool.ReadN(nil, bytes.NewReader([]byte("abc")), 3, 1)
	if err != nil || string((*b)[1:]) != "abc" {
		t.Error(err)
	}
	bufpool.Put(b)
	pooltest.MustBalance(t, p)
}

// One thousand peers announce a gigabyte and then say nothing.
func TestReadNOfStalledPeers(t *testing.T) {
	const peers = 1000
	p := pooltest.Check(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	release := make(chan struct{})
	var waiting, done sync.WaitGroup
	before := pooltest.Heap()
	for range peers {
		waiting.Add(1)
		done.Go(func() {
			_, err := bufpool.ReadN(p, badReader(func([]byte) (int, error) {
				waiting.Done()
				<-release
				return 0, io.EOF
			}), 1<<30, 52)
			if err != io.EOF {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	runtime.GC()
	if held := (pooltest.HeapNow() - before) / peers; held > 136<<10 {
		t.Errorf("%d bytes held for each stalled peer", held)
	}
	close(release)
	done.Wait()
}
