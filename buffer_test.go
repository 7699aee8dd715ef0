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
	"testing"
	"testing/iotest"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// Buffer has these, and so what takes them takes a Buffer.
var _ interface {
	io.ReadWriter
	io.ReaderFrom
	io.WriterTo
	io.ByteReader
	io.ByteWriter
	io.StringWriter
	fmt.Stringer
} = (*bufpool.Buffer)(nil)

func TestZeroBufferTakesTheDefaultOfItsFirstAllocation(t *testing.T) {
	first, second := newBalanced(t), newBalanced(t)
	var b bufpool.Buffer
	if b.Len() != 0 || b.Cap() != 0 || b.Available() != 0 || len(b.Bytes()) != 0 || b.String() != "" {
		t.Errorf("%+v", &b)
	}
	if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	b.Reset()
	b.Release()
	if b.Detach() != nil {
		t.Error("nothing to detach")
	}
	restore := bufpool.SetDefault(first)
	b.WriteString("hello")
	restore()
	defer bufpool.SetDefault(second)()
	b.Grow(5000)
	b.Release()
	b.WriteString("again")
	b.Release()
	pooltest.MustBalance(t, first, second)
	if first.Counts().Gets != 3 || second.Counts().Gets != 0 {
		t.Error(first.Counts(), second.Counts())
	}
	if (*bufpool.Buffer)(nil).String() != "<nil>" {
		t.Error("String of nil")
	}
}

func TestNewBufferResolvesNil(t *testing.T) {
	p := newBalanced(t)
	restore := bufpool.SetDefault(p)
	b, typed := bufpool.NewBuffer(nil, 0), bufpool.NewBuffer((*bufpool.Tiered)(nil), 0)
	restore()
	for _, b := range []*bufpool.Buffer{b, typed} {
		b.WriteByte(1)
		b.Release()
	}
	pooltest.MustBalance(t, p)
	if p.Counts().Gets != 2 {
		t.Error(p.Counts())
	}
	pooltest.MustPanic(t, "bufpool: negative length -1", func() { bufpool.NewBuffer(nil, -1) })
}

// uber-go/zap#1130, golang/go#23199, VictoriaMetrics/VictoriaMetrics#490: what was large
// once does not stay so.
func TestALargeBufferDoesNotStay(t *testing.T) {
	p := newBalanced(t)
	for _, give := range map[string]func(*bufpool.Buffer){"Reset": (*bufpool.Buffer).Reset, "Release": (*bufpool.Buffer).Release} {
		b := bufpool.NewBuffer(p, 10)
		b.Write(make([]byte, 10<<20))
		give(b)
		if lent := p.Counts().Lent; lent != 0 || b.Cap() != 0 {
			t.Errorf("%d bytes lent, capacity %d", lent, b.Cap())
		}
		for range 100 {
			b.WriteString("small")
			if b.Cap() > 4096 {
				t.Fatal(b.Cap())
			}
			give(b)
		}
		b.Release()
	}
	pooltest.MustBalance(t, p)
}

func TestResetKeepsAPageAtMost(t *testing.T) {
	for size, kept := range map[int]bool{1: true, 4095: true, 4096: true, 4097: false} {
		p := pooltest.NewBalance(t, bufpool.Must(bufpool.NewSized(size)))
		b := bufpool.NewBuffer(p, 0)
		b.Write(make([]byte, size))
		b.Reset()
		if want := map[bool]int{true: max(size, 64), false: 0}[kept]; b.Cap() != want || b.Len() != 0 {
			t.Errorf("%d: capacity %d after Reset, want %d", size, b.Cap(), want)
		}
		b.Release()
		pooltest.MustBalance(t, p)
	}
}

// vitessio/vitess#14587, libp2p/go-buffer-pool#23, caddyserver/caddy#4963: each use
// starts empty, whatever the one before left.
func TestEachUseStartsEmpty(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.NewBuffer(p, 0)
	for i := range 10_000 {
		if b.Len() != 0 {
			t.Fatal(b.Len())
		}
		b.Write(make([]byte, 1024))
		if b.Cap() != 1024 {
			t.Fatal(b.Cap())
		}
		if i%2 == 0 {
			b.ReadByte()
		}
		b.Release()
		b.Release()
	}
	b.WriteString("x")
	if b.String() != "x" {
		t.Error(b.String())
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// What goes back is the whole of what was lent, wherever the contents were.
func TestBufferPutsTheBase(t *testing.T) {
	base := bufpool.Must(bufpool.NewTiered([]int{1024, 5000}))
	p := pooltest.NewBalance(t, base)
	for _, headroom := range []int{0, 52} {
		b := bufpool.NewBuffer(p, headroom)
		b.Write(make([]byte, 600))
		b.Next(500)
		b.Prepend(20)
		if b.Cap() != 1024 {
			t.Error(b.Cap())
		}
		b.Release()
		b.Write(make([]byte, 1024-headroom))
		if b.Cap() != 1024 {
			t.Error(b.Cap())
		}
		b.Grow(1)
		d := b.Detach()
		p.Put(d)
	}
	pooltest.MustBalance(t, p)
	if d := base.Stats().Dropped; d.Between+d.Oversized+d.Undersized+d.Empty != 0 {
		t.Errorf("%+v", d)
	}
}

// grafana/mimir#14047: from one byte to a mebibyte through the pool, each buffer back
// once, and the last a tier's.
func TestBufferGrowsThroughThePool(t *testing.T) {
	for _, base := range []bufpool.BufferPool{
		bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(64, 8<<20))),
		bufpool.Must(bufpool.NewStepped(32, 8<<20, 4)),
		bufpool.Must(bufpool.NewTiered([]int{1000, 5000, 70000, 2 << 20})),
		bufpool.Nop{}, // exact sizes
	} {
		p := pooltest.NewBalance(t, poison{base})
		rnd := rand.New(rand.NewPCG(1, 2))
		b := bufpool.NewBuffer(p, 7)
		var want []byte
		for len(want) < 1<<20 {
			more := bytes.Repeat([]byte{byte(rnd.Uint32())}, 1+rnd.IntN(4000))
			b.Write(more)
			want = append(want, more...)
			if c := p.Counts(); c.Gets != c.Puts+1 {
				t.Fatalf("%T: %d gets and %d puts with one buffer lent", base, c.Gets, c.Puts)
			}
			if sizes := p.Sizes(); sizes != nil && !slices.Contains(sizes, b.Cap()) {
				t.Fatalf("%T: capacity %d is no tier's", base, b.Cap())
			}
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%T: contents differ", base)
		}
		if gets := p.Counts().Gets; gets > 60 {
			t.Errorf("%T: %d buffers for 1 MiB", base, gets)
		}
		b.Release()
		pooltest.MustBalance(t, p)
	}
}

// Tier by tier: no tier is left out.
func TestBufferGrowsTierByTier(t *testing.T) {
	p := pooltest.NewBalance(t, bufpool.Must(bufpool.NewStepped(64, 1<<20, 4)))
	b := bufpool.NewBuffer(p, 0)
	sizes := p.Sizes()
	for i := slices.Index(sizes, 64); i < len(sizes)-1; i++ {
		b.Write(make([]byte, b.Available()+1))
		if b.Cap() < sizes[i] || b.Cap() > sizes[min(i+1, len(sizes)-1)] {
			t.Errorf("%d after %d", b.Cap(), sizes[i])
		}
		i = slices.Index(sizes, b.Cap())
		if i < 0 {
			t.Fatal(b.Cap())
		}
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// go-resty/resty#421 and many others: a view shows at once that its memory went back; a
// clone and a detached buffer do not change.
func TestViewsClonesAndDetached(t *testing.T) {
	p := check.ForTest(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	b := bufpool.NewBuffer(p, 10)
	b.WriteString("precious")
	view, clone := b.Bytes(), b.Clone()
	b.Release()
	if string(view) != "\xDD\xDD\xDD\xDD\xDD\xDD\xDD\xDD" {
		t.Errorf("%q", view)
	}
	b.WriteString("detached")
	d := b.Detach()
	if len(*d) != 18 || cap(*d) != 256 {
		t.Errorf("length %d, capacity %d", len(*d), cap(*d))
	}
	for range 100 {
		b.WriteString("something else")
		b.Release()
	}
	if string(clone) != "precious" || string((*d)[10:]) != "detached" {
		t.Errorf("%q, %q", clone, *d)
	}
	p.Put(d)
}

func TestDetachAfterReadsAndPrepends(t *testing.T) {
	p := newBalanced(t)
	for _, headroom := range []int{0, 8} {
		b := bufpool.NewBuffer(p, headroom)
		b.WriteString("0123456789")
		b.Next(4)
		d := b.Detach()
		if string((*d)[headroom:]) != "456789" {
			t.Errorf("after reads: %q", *d)
		}
		p.Put(d)
		b.WriteString("payload")
		copy(b.Prepend(3), "hdr")
		d = b.Detach()
		if got := string((*d)[max(0, headroom-3):]); got != "hdrpayload" {
			t.Errorf("after Prepend: %q", *d)
		}
		p.Put(d)
		if b.Detach() != nil || b.Len() != 0 {
			t.Error("detached twice")
		}
	}
	pooltest.MustBalance(t, p)
}

// apache/geode#5703: several release at once.
func TestReleaseOfABufferByManyGoroutines(t *testing.T) {
	p := newBalanced(t)
	for _, goroutines := range []int{64, 2} {
		for range 4000 / goroutines {
			b := bufpool.NewBuffer(p, 0)
			b.WriteString("x")
			together(goroutines, b.Release)
		}
	}
	pooltest.MustBalance(t, p)
}

// gorilla/websocket#134: a Buffer that was released is not another's, whatever is done
// with it.
func TestAReleasedBufferIsInert(t *testing.T) {
	p := newBalanced(t)
	stale, live := bufpool.NewBuffer(p, 0), bufpool.NewBuffer(p, 0)
	stale.WriteString("stale")
	stale.Release()
	live.WriteString("live")
	stale.WriteString("again")
	stale.Truncate(1)
	stale.Release()
	stale.Reset()
	stale.ReadByte()
	if live.String() != "live" {
		t.Error(live.String())
	}
	live.Release()
	pooltest.MustBalance(t, p)
}

// fosrl/newt#277: cleared the moment it goes back, on growth too.
func TestBufferUnderClearOnPut(t *testing.T) {
	p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 4096), bufpool.WithClear(bufpool.ClearOnPut)))
	zeros := func(when string, secret []byte) {
		t.Helper()
		if len(bytes.Trim(secret, "\x00")) > 0 {
			t.Errorf("%s: %q", when, secret)
		}
	}
	b := bufpool.NewBuffer(p, 0)
	b.WriteString("secret")
	first := b.Bytes()
	b.Grow(1000)
	second := b.Bytes()
	zeros("growth", first)
	b.Prepend(2000)
	zeros("growth at the front", second)
	third := b.Bytes()
	b.Release()
	zeros("Release", third)
	b.WriteString("secret")
	large := b.Bytes()
	b.Write(make([]byte, 100_000)) // above all tiers
	zeros("growth", large)
	oversized := b.Bytes()
	b.Reset()
	zeros("Reset", oversized)
	b.Grow(64)
	zeros("the next", b.AvailableBuffer()[:b.Available()])
	b.Release()
}

// golang/go#21481: what cannot be leaves all as it was.
func TestBufferThatCannotGrow(t *testing.T) {
	p := newBalanced(t)
	for _, headroom := range []int{0, 52} {
		b := bufpool.NewBuffer(p, headroom)
		b.WriteString("0123456789")
		pooltest.MustPanic(t, "bufpool: negative length -1", func() { b.Grow(-1) })
		pooltest.MustPanic(t, "bufpool: negative length -1", func() { b.Prepend(-1) })
		for _, grow := range []func(int){b.Grow, func(n int) { b.Prepend(n) }} {
			for _, n := range []int{math.MaxInt, math.MaxInt - 5} {
				func() {
					defer func() {
						if err, _ := recover().(error); !errors.Is(err, bufpool.ErrTooLarge) {
							t.Errorf("Grow(%d): %v", n, err)
						}
					}()
					grow(n)
				}()
			}
			if bits.UintSize == 64 {
				pooltest.MustPanic(t, "", func() { grow(math.MaxInt - 100) }) // make's
			}
		}
		if b.String() != "0123456789" || b.Available() != 256-10-headroom {
			t.Error(b.String(), b.Available())
		}
		b.Release()
	}
	pooltest.MustBalance(t, p)
}

// songzhibin97/gkit#114
func TestBufferEdges(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.NewBuffer(p, 0)
	b.WriteString("0123456789")
	for _, misuse := range []func(){
		func() { b.Next(-1) }, func() { b.Peek(-1) }, func() { b.Truncate(-1) }, func() { b.Truncate(11) },
		func() { b.SetReadLimit(-1) },
	} {
		pooltest.MustPanic(t, "bufpool: ", misuse)
	}
	if n, err := b.Read(nil); n != 0 || err != nil {
		t.Error(n, err)
	}
	if got := b.Next(0); len(got) != 0 {
		t.Error(got)
	}
	b.Truncate(10)
	if b.String() != "0123456789" {
		t.Error(b.String())
	}
	if got := b.Next(100); string(got) != "0123456789" || b.Len() != 0 {
		t.Errorf("%q", got)
	}
	if n, err := b.Read(nil); n != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// tokio-rs/bytes#193: what was read makes room for what is written.
func TestBufferReusesWhatWasRead(t *testing.T) {
	for _, left := range []int{0, 1, 100, 500} {
		p := newBalanced(t)
		b := bufpool.NewBuffer(p, 20)
		b.Write(make([]byte, left))
		b.Grow(4)
		var one [4]byte
		capacity := 0
		for i := range 1_000_000 {
			b.Write(one[:])
			b.Read(one[:])
			if i == 1000 {
				capacity = b.Cap()
			}
		}
		if b.Cap() != capacity || capacity > 2048 || p.Counts().Gets > 4 {
			t.Errorf("%d bytes left: capacity %d, then %d; %d gets", left, capacity, b.Cap(), p.Counts().Gets)
		}
		b.Release()
		pooltest.MustBalance(t, p)
	}
}

// DPDK/grout#449, tailscale/wireguard-go#52: headers shorter, as long as and longer than
// the headroom, of payloads that leave room in the tier or none.
func TestPrepend(t *testing.T) {
	const headroom, tier = 20, 256
	for _, header := range []int{0, 1, headroom - 1, headroom, headroom + 1, 10 * headroom} {
		for _, payload := range []int{0, 1, tier - headroom, tier - headroom + 1} {
			t.Run(fmt.Sprintf("%d/%d", header, payload), func(t *testing.T) {
				p := newBalanced(t)
				b := bufpool.NewBuffer(p, headroom)
				want := bytes.Repeat([]byte{'p'}, payload)
				b.Write(want)
				if payload > 0 && b.Available() != b.Cap()-headroom-payload {
					t.Errorf("%d available of %d", b.Available(), b.Cap())
				}
				before, gets := b.Bytes(), p.Counts().Gets
				for range 2 {
					h := b.Prepend(header)
					if len(h) != header {
						t.Fatal(len(h))
					}
					for i := range h {
						h[i] = 'h'
					}
					want = append(bytes.Repeat([]byte{'h'}, header), want...)
					if got := b.Bytes(); !bytes.Equal(got, want) {
						t.Fatalf("%q", got)
					}
				}
				inPlace := 2*header <= headroom
				if inPlace && payload > 0 && (p.Counts().Gets != gets || &before[0] != &b.Bytes()[2*header]) {
					t.Error("moved")
				}
				b.WriteString("more")
				if got := b.Bytes(); !bytes.Equal(got, append(want, "more"...)) {
					t.Fatalf("%q", got)
				}
				b.Release()
				pooltest.MustBalance(t, p)
			})
		}
	}
}

// A rune is several bytes, of which some may not fit.
func TestWriteRuneGrowsThroughThePool(t *testing.T) {
	p := pooltest.NewBalance(t, bufpool.Must(bufpool.NewTiered([]int{100, 1000})))
	for free := range 5 {
		b := bufpool.NewBuffer(p, 0)
		b.Write(make([]byte, 100-free))
		b.WriteRune('…')
		if n := b.Len(); n != 103-free || b.Cap() != 100 && b.Cap() != 1000 {
			t.Errorf("%d free: length %d, capacity %d", free, n, b.Cap())
		}
		b.Release()
	}
	pooltest.MustBalance(t, p)
}

// Read to its end, a Buffer has all its room again, however it was read and is written
// next.
func TestADrainedBufferHasAllItsRoom(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.NewBuffer(p, 6)
	data := pattern(4090)
	drain := map[string]func(){
		"Read":     func() { b.Read(make([]byte, 5000)); b.Read(make([]byte, 1)) },
		"ReadByte": func() { b.Next(5000); b.ReadByte() },
		"WriteTo":  func() { b.WriteTo(io.Discard) },
		"Truncate": func() { b.Truncate(0) },
	}
	for name, f := range drain {
		b.Write(data)
		if f(); b.Available() != 4090 {
			t.Errorf("after %s: %d available", name, b.Available())
		}
	}
	gets := p.Counts().Gets
	for name, write := range map[string]func(){
		"Write":    func() { b.Write(data) },
		"ReadFrom": func() { b.ReadFrom(bytes.NewReader(data[:3000])) },
		"Prepend":  func() { b.Prepend(2000) },
	} {
		b.Write(data)
		b.Next(5000)
		if write(); b.Cap() != 4096 || p.Counts().Gets != gets {
			t.Errorf("%s after Next: capacity %d, %d gets", name, b.Cap(), p.Counts().Gets-gets)
		}
		b.Reset()
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// In a Buffer that is nearly full, what little is read and written does not move the
// rest each time.
func TestAFullBufferIsNotMovedForLittle(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.NewBuffer(p, 0)
	b.Write(make([]byte, 60_000))
	copied := 0
	for range 100_000 {
		b.Next(1)
		before := &b.Bytes()[0]
		b.WriteByte(1)
		if &b.Bytes()[0] != before {
			copied += b.Len()
		}
	}
	if copied > 500_000 {
		t.Errorf("%d bytes copied to write 100 000", copied)
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// A checked pool has nothing to say, whatever the contents were before.
func TestBufferIsCleanUnderCheck(t *testing.T) {
	p := check.ForTest(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	for _, headroom := range []int{0, 10} {
		for name, shorten := range map[string]func(b *bufpool.Buffer){
			"Truncate": func(b *bufpool.Buffer) { b.Truncate(150) },
			"empty":    func(b *bufpool.Buffer) { b.Truncate(0) },
			"Reset":    func(b *bufpool.Buffer) { b.Reset() },
			"read":     func(b *bufpool.Buffer) { b.Next(150) },
			"drained":  func(b *bufpool.Buffer) { b.Next(200); b.ReadByte() },
			"slide":    func(b *bufpool.Buffer) { b.Next(190); b.Grow(200 - headroom); b.Truncate(1) },
			"by one":   func(b *bufpool.Buffer) { b.Truncate(199) },
			"growth":   func(b *bufpool.Buffer) { b.Grow(1000); b.Truncate(100); b.Grow(5000) },
			"front":    func(b *bufpool.Buffer) { b.Prepend(500); b.Truncate(3) },
			"Release":  func(b *bufpool.Buffer) { b.Release(); b.WriteByte(1) },
			"Detach":   func(b *bufpool.Buffer) { p.Put(b.Detach()); b.WriteByte(1) },
		} {
			b := bufpool.NewBuffer(p, headroom)
			b.Write(make([]byte, 200))
			shorten(b)
			want := b.Clone()
			d := b.Detach()
			if got := (*d)[len(*d)-len(want):]; !bytes.Equal(got, want) || len(*d) > headroom+len(want) {
				t.Errorf("%s: length %d, want %d", name, len(*d), headroom+len(want))
			}
			p.Put(d)
		}
	}
}

// From whichever end a Buffer grows, in small steps it moves its contents now and then
// only.
func TestGrowingAtBothEndsIsLinear(t *testing.T) {
	for name, prepends := range map[string]func(i int) bool{
		"front":     func(int) bool { return true },
		"alternate": func(i int) bool { return i%2 == 0 },
		"bursts":    func(i int) bool { return i/100%2 == 0 },
	} {
		p := newBalanced(t)
		b := bufpool.NewBuffer(p, 0)
		moved, copied := 0, 0
		var first *byte // of the contents
		for i := range 100_000 {
			before := b.Bytes()
			if prepends(i) {
				b.Prepend(1)
				first = &b.Bytes()[min(1, len(before))]
			} else {
				b.WriteByte(1)
				first = &b.Bytes()[0]
			}
			if len(before) > 0 && first != &before[0] {
				moved++
				copied += len(before)
			}
		}
		if moved > 200 || copied > 10*100_000 || b.Len() != 100_000 {
			t.Errorf("%s: %d bytes, moved %d times, %d copied", name, b.Len(), moved, copied)
		}
		b.Release()
		pooltest.MustBalance(t, p)
	}
}

// pollingReader tells at each Read what is lent, and how much room there is.
type pollingReader struct {
	data []byte
	step int
	poll func(sent, room int)
	sent int
}

func (r *pollingReader) Read(p []byte) (int, error) {
	r.poll(r.sent, len(p))
	n := copy(p, r.data[r.sent:min(r.sent+r.step, len(r.data))])
	if r.sent += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// shamaton/msgpack#109: memory follows what has arrived.
func TestBufferReadFromTakesWhatArrived(t *testing.T) {
	for _, step := range []int{1, 100, 512, 5000, 1 << 20} {
		p := newBalanced(t)
		b := bufpool.NewBuffer(p, 50)
		data := pattern(200_000)
		if step == 1 {
			data = data[:5000]
		}
		r := &pollingReader{data: data, step: step}
		r.poll = func(sent, room int) {
			if lent := p.Counts().Lent; lent > int64(2*(sent+50)+1024) {
				t.Fatalf("%d bytes lent with %d sent", lent, sent)
			}
			if room < 512 {
				t.Fatalf("room for %d bytes", room)
			}
		}
		if n, err := b.ReadFrom(r); n != int64(len(data)) || err != nil || !bytes.Equal(b.Bytes(), data) {
			t.Error(n, err)
		}
		b.Release()
		pooltest.MustBalance(t, p)
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + i>>8)
	}
	return b
}

// Grow, then ReadFrom of just so much: the end needs no more room.
func TestTheEndOfAReaderCostsNoGrowth(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.NewBuffer(p, 0)
	for _, n := range []int{3900, 4095, 4096} {
		b.Grow(4096)
		if got, err := b.ReadFrom(iotest.HalfReader(bytes.NewReader(pattern(n)))); got != int64(n) || err != nil {
			t.Error(got, err)
		}
		if b.Cap() != 4096 {
			t.Errorf("%d bytes: capacity %d", n, b.Cap())
		}
		b.Reset()
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

func TestReadLimit(t *testing.T) {
	p := newBalanced(t)
	for limit, more := range map[int64]int64{0: 1, 1: 2, 99: 100, 1023: 1025, 1024: 1025, 4096: 5000, 99_999: 100_000} {
		for _, size := range []int64{limit - 1, limit, limit + 1, more} {
			if size < 0 {
				continue
			}
			data := pattern(int(size))
			b, c := bufpool.NewBuffer(p, 3), bufpool.NewChain(p, 0)
			for _, x := range []interface {
				io.Writer
				io.ReaderFrom
				SetReadLimit(int64)
				Peek(int) ([]byte, error)
				Len() int
			}{b, &c} {
				io.WriteString(x, "before")
				x.SetReadLimit(limit)
				n, err := x.ReadFrom(onlyReader{bytes.NewReader(data)})
				if size <= limit && (n != size || err != nil) ||
					size > limit && (n != limit || !errors.Is(err, bufpool.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint("more than ", limit, " bytes"))) {
					t.Errorf("%T: %d with a limit of %d: %d, %v", x, size, limit, n, err)
				}
				if got, _ := x.Peek(x.Len()); string(got) != "before"+string(data[:min(size, limit)]) {
					t.Errorf("%T: %d with a limit of %d: contents differ", x, size, limit)
				}
			}
			b.Release()
			c.Release()
		}
	}
	pooltest.MustBalance(t, p)
	empty := bufpool.NewChain(p, 0)
	empty.SetReadLimit(0)
	if n, err := empty.ReadFrom(strings.NewReader("x")); n != 0 || !errors.Is(err, bufpool.ErrTooLarge) || p.Counts().Lent != 0 {
		t.Errorf("%d, %v, %d bytes lent", n, err, p.Counts().Lent)
	}
	empty.Release()
}

func TestBufferReadFromAnErraticReader(t *testing.T) {
	p := newBalanced(t)
	data := pattern(100_000)
	for name, r := range readers {
		b := bufpool.NewBuffer(p, 0)
		var want bytes.Buffer
		n, err := b.ReadFrom(r(bytes.NewReader(data)))
		wantN, wantErr := want.ReadFrom(r(bytes.NewReader(data)))
		if n != wantN || fmt.Sprint(err) != fmt.Sprint(wantErr) || !bytes.Equal(b.Bytes(), want.Bytes()) {
			t.Errorf("%s: %d, %v, want %d, %v", name, n, err, wantN, wantErr)
		}
		b.Release()
	}
	b := bufpool.NewBuffer(p, 0)
	b.Write(data[:200]) // room for less than a Read needs
	silent := &scripted{data: data, step: 0}
	if n, err := b.ReadFrom(silent); n != 0 || err != io.ErrNoProgress || silent.calls != 100 {
		t.Error(n, err, silent.calls)
	}
	for _, bad := range []*scripted{{end: endNegative}, {end: endTooMany}, {end: endPanic}} {
		pooltest.MustPanic(t, map[bool]string{true: "broken", false: "bufpool: *bufpool_test.scripted returned an invalid count"}[bad.end == endPanic],
			func() { b.ReadFrom(bad) })
		if !bytes.Equal(b.Bytes(), data[:200]) {
			t.Error("contents differ")
		}
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// erigontech/erigon#19417: no reader is kept.
func TestNothingKeepsAReader(t *testing.T) {
	var b bufpool.Buffer
	var c bufpool.Chain
	gone := make(chan bool, 2)
	for _, readFrom := range []func(io.Reader) (int64, error){b.ReadFrom, c.ReadFrom} {
		r := &struct {
			io.Reader
			_ [64]byte
		}{Reader: strings.NewReader("x")}
		runtime.AddCleanup(r, func(gone chan bool) { gone <- true }, gone)
		readFrom(r)
	}
	b.Release()
	c.Release()
	for range 2 {
		collectUntil(t, gone)
	}
	runtime.KeepAlive(&b)
	runtime.KeepAlive(&c)
}

func collectUntil(t *testing.T, done <-chan bool) {
	t.Helper()
	for range 100 {
		runtime.GC()
		select {
		case <-done:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("still there after 100 collections")
}

// A pool that fails changes nothing.
func TestBufferOverAPoolThatPanics(t *testing.T) {
	p := newBalanced(t)
	b := bufpool.NewBuffer(failing{p}, 0)
	b.WriteString("kept")
	for _, f := range []func(){
		func() { b.Grow(5000) },
		func() { b.Prepend(5000) },
		func() { b.Write(make([]byte, 5000)) },
		func() { b.WriteString(strings.Repeat("x", 5000)) },
		func() { b.ReadFrom(bytes.NewReader(make([]byte, 5000))) },
	} {
		pooltest.MustPanic(t, "failing", f)
		b.Truncate(4)
		if b.String() != "kept" {
			t.Error(b.String())
		}
	}
	b.Release()
	pooltest.MustBalance(t, p)
}

// failing fails for more than 4096 bytes.
type failing struct{ bufpool.BufferPool }

func (f failing) Get(n int) *[]byte {
	if n > 4096 {
		panic("failing")
	}
	return f.BufferPool.Get(n)
}
