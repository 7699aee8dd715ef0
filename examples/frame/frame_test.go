package frame_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// poison fills whatever it is given back, so that a stale byte shows, and
// whatever it lends, so that a byte nobody wrote does.
type poison struct{ *bufpool.BinaryTiered }

func (p poison) Get(n int) *[]byte {
	b := p.BinaryTiered.Get(n)
	fill((*b)[:cap(*b)])
	return b
}

func (p poison) Put(b *[]byte) {
	fill((*b)[:cap(*b)])
	p.BinaryTiered.Put(b)
}

func fill(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, poisonBytes):]
	}
}

var poisonBytes = bytes.Repeat([]byte{0xDB}, 4096)

func newBalanced(t testing.TB) *balance.Pool {
	return pooltest.NewBalance(t, poison{bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// knownFrame is a frame and its header's bytes, which were computed by hand, with
// the CRC-32 of another implementation.
type knownFrame struct {
	name           string
	version, flags byte
	stream         byte
	options        []uint32
	payload        []byte
	header         string
}

var known = []knownFrame{
	{"empty", 0, 0, 0, nil, nil, "03 00 00000000 0dd35637 00 00"},
	{"one byte", 1, 0, 0, nil, []byte("x"), "13 00 01000000 f3b63c8c 00 00"},
	{"one option", 1, 0x40, 0, []uint32{0x01020304}, []byte("hi"), "14 40 02000000 ec717fdb 00 00 04030201"},
	{
		"ten options, all bits", 15, 0xff, 0x0f, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []byte("payload"),
		"fd ff 07000000 51547d4f 0f 00" +
			" 01000000 02000000 03000000 04000000 05000000 06000000 07000000 08000000 09000000 0a000000",
	},
	{"64 KiB", 1, 0, 1, []uint32{0xdeadbeef}, bytes.Repeat([]byte{0xa5}, 64<<10), "14 00 00000100 6fd09e30 01 00 efbeadde"},
	{"1 MiB", 2, 0, 2, nil, bytes.Repeat([]byte{0x5a}, 1<<20), "23 00 00001000 6ac4387a 02 00"},
	{
		"1 MiB, ten options", 2, 0x80, 8, slices.Repeat([]uint32{0xffffffff}, 10), bytes.Repeat([]byte{0x5a}, 1<<20),
		"2d 80 00001000 8815d4f1 08 00" + strings.Repeat(" ffffffff", 10),
	},
}

func (k *knownFrame) wire() []byte {
	h := must(hex.DecodeString(strings.ReplaceAll(k.header, " ", "")))
	return append(h, k.payload...)
}

// setHeader sets everything but the payload.
func (k *knownFrame) setHeader(t *testing.T, f *frame.Frame) {
	t.Helper()
	if err := errors.Join(f.SetVersion(k.version), f.SetOptions(k.options...)); err != nil {
		t.Fatal(err)
	}
	f.SetFlags(k.flags)
	f.SetStream(k.stream)
}

// is fails t unless f is this frame.
func (k *knownFrame) is(t *testing.T, f *frame.Frame) {
	t.Helper()
	if f.Version() != k.version || f.Flags() != k.flags || f.Stream() != k.stream || !slices.Equal(f.Options(), k.options) {
		t.Errorf("%s: version %d, flags %#x, stream %#x, options %v", k.name, f.Version(), f.Flags(), f.Stream(), f.Options())
	}
	if !bytes.Equal(f.Payload(), k.payload) {
		t.Errorf("%s: the payload differs", k.name)
	}
}

func TestWireIsTheFormat(t *testing.T) {
	for _, k := range known {
		p := newBalanced(t)
		made := frame.New(frame.WithBufferPool(p))
		k.setHeader(t, made)
		made.WritePayload(k.payload)

		filled := frame.New(frame.WithBufferPool(p))
		copy(filled.AllocPayload(len(k.payload)), k.payload)
		k.setHeader(t, filled)

		zero := new(frame.Frame)
		zero.WritePayload(k.payload)
		k.setHeader(t, zero)

		reserved := must(frame.Parse(append(k.wire()[:11:11], append([]byte{0xEE}, k.wire()[12:]...)...)))
		if w := must(reserved.Wire()); w[11] != 0xEE {
			t.Errorf("%s: the reserved byte is lost", k.name)
		}
		reserved.Release()

		// The caller's header is completed, and may be without length and sum.
		h := k.wire()[:len(k.wire())-len(k.payload)]
		copy(h[2:10], "????????")
		from := must(frame.From(h, k.payload))

		parsed := must(frame.Parse(k.wire()))
		for i, f := range []*frame.Frame{made, filled, zero, from, parsed} {
			for range 2 {
				w, err := f.Wire()
				if err != nil || !bytes.Equal(w, k.wire()) {
					t.Errorf("%s, %d: %v\n got %.80x\nwant %.80x", k.name, i, err, w, k.wire())
				}
				k.is(t, f)
			}
			f.Release()
		}
		if string(h[2:10]) != "????????" {
			t.Errorf("%s: the caller's header was changed", k.name)
		}
		pooltest.MustBalance(t, p)
		if c := p.Counts(); len(k.payload) == 0 && c.Gets != 0 {
			t.Errorf("%s: %d gets for no payload", k.name, c.Gets)
		}
	}
}

func TestEveryFlagAndStreamBit(t *testing.T) {
	f := frame.New()
	for v := range 16 {
		for b := range 256 {
			f.SetFlags(byte(b))
			f.SetStream(byte(255 - b))
			if err := f.SetVersion(byte(v)); err != nil {
				t.Fatal(err)
			}
			g := must(frame.Parse(must(f.Wire())))
			if g.Version() != byte(v) || g.Flags() != byte(b) || g.Stream() != byte(255-b) {
				t.Fatalf("version %d, flags %d: got %d, %d, %d", v, b, g.Version(), g.Flags(), g.Stream())
			}
		}
	}
	if frame.Stream != 1 || frame.Stop != 2 || frame.Ping != 4 || frame.Pong != 8 {
		t.Error("the stream bits are not the format's")
	}
}

func TestHeaderBounds(t *testing.T) {
	f := frame.New()
	if err := errors.Join(f.SetVersion(3), f.SetOptions(7, 8)); err != nil {
		t.Fatal(err)
	}
	for _, v := range []byte{16, 255} {
		if err := f.SetVersion(v); !errors.Is(err, frame.ErrHeader) || !strings.Contains(err.Error(), fmt.Sprint(v)) {
			t.Errorf("version %d: %v", v, err)
		}
	}
	for _, n := range []int{11, 100} {
		if err := f.SetOptions(make([]uint32, n)...); !errors.Is(err, frame.ErrHeader) || !strings.Contains(err.Error(), fmt.Sprint(n)) {
			t.Errorf("%d options: %v", n, err)
		}
	}
	if f.Version() != 3 || !slices.Equal(f.Options(), []uint32{7, 8}) {
		t.Errorf("refused, and yet version %d, options %v", f.Version(), f.Options())
	}
	for n := range 11 {
		if err := f.SetOptions(make([]uint32, n)...); err != nil || len(f.Options()) != n {
			t.Errorf("%d options: %v", n, err)
		}
	}
	f.Options()[0] = 5
	if f.Options()[0] != 0 {
		t.Error("changing the result of Options changed the frame")
	}
}

func TestFromRefusesBadHeaders(t *testing.T) {
	for n := range 70 {
		for words := range 16 {
			h := make([]byte, n)
			if n > 0 {
				h[0] = byte(words)
			}
			_, err := frame.From(h, nil)
			if ok := n == words*4 && words >= 3 && words <= 13; ok != (err == nil) || err != nil && !errors.Is(err, frame.ErrHeader) {
				t.Errorf("%d bytes, %d words: %v", n, words, err)
			}
		}
	}
}

func TestParseWantsExactlyOneFrame(t *testing.T) {
	k := known[3]
	w := k.wire()
	for n := range w {
		_, err := frame.Parse(w[:n])
		if !errors.Is(err, frame.ErrHeader) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes of %d: %v", n, len(w), err)
		}
	}
	for n := 1; n < 100; n++ {
		_, err := frame.Parse(append(slices.Clone(w), make([]byte, n)...))
		if !errors.Is(err, frame.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes too many: %v", n, err)
		}
	}
	f := must(frame.Parse(w))
	k.is(t, f)
	if p := f.Payload(); &p[0] != &w[len(w)-len(p)] || cap(p) != len(p) {
		t.Error("the payload is not borrowed, or reaches beyond the frame")
	}
}

func TestChecksumAndWords(t *testing.T) {
	w := known[3].wire()
	for i := range 10 {
		for bit := range 8 {
			bad := slices.Clone(w)
			bad[i] ^= 1 << bit
			if _, err := frame.Parse(bad); !errors.Is(err, frame.ErrChecksum) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	// Impossible lengths of a header, with the right sum.
	for words, sum := range map[byte]string{
		0: "a3a1c2b1", 1: "06729e7a", 2: "a8000afc", 14: "d3c0c88b", 15: "76139440",
	} {
		bad := append([]byte{words, 0, 0, 0, 0, 0}, must(hex.DecodeString(sum))...)
		bad = append(bad, make([]byte, 60)...)
		if _, err := frame.Parse(bad); !errors.Is(err, frame.ErrHeader) {
			t.Errorf("%d words: %v", words, err)
		}
		if err := frame.NewConn(rw{r: bytes.NewReader(bad)}).Receive(frame.New()); !errors.Is(err, frame.ErrHeader) {
			t.Errorf("%d words: %v", words, err)
		}
	}
}

func TestAllocPayloadLiesBehindTheHeadroom(t *testing.T) {
	p := newBalanced(t)
	f := frame.New(frame.WithBufferPool(p))
	for _, n := range []int{1, 255 - frame.Headroom, 256 - frame.Headroom, 257 - frame.Headroom, 8<<20 - frame.Headroom, 8 << 20} {
		b := f.AllocPayload(n)
		if len(b) != n {
			t.Fatalf("AllocPayload(%d) has length %d", n, len(b))
		}
		if c := cap(b) + frame.Headroom; n <= 8<<20-frame.Headroom && !slices.Contains(p.Sizes(), c) {
			t.Errorf("AllocPayload(%d) has capacity %d: with the headroom no tier's", n, cap(b))
		}
		// A mistaken Put of the view is dropped. Above the largest tier there
		// is no room to tell a view of exactly 8 MiB by.
		if n < 8<<20 && slices.Contains(p.Sizes(), cap(b)) {
			t.Errorf("the view of %d has a tier's capacity", n)
		}
		for i := range b {
			b[i] = byte(i)
		}
		for options := range 11 {
			if err := f.SetOptions(make([]uint32, options)...); err != nil {
				t.Fatal(err)
			}
			w := must(f.Wire())
			if len(w) != 12+4*options+n || &w[len(w)-n] != &b[0] {
				t.Fatalf("the wire of %d with %d options does not lie in the payload's buffer", n, options)
			}
		}
		for i := range b {
			if b[i] != byte(i) {
				t.Fatal("the header damaged the payload")
			}
		}
	}
	f.AllocPayload(0)
	if c := p.Counts(); c.Lent != 0 || len(f.Payload()) != 0 {
		t.Error("an empty payload holds a buffer")
	}
	pooltest.MustBalance(t, p)
}

func TestAllocPayloadPanics(t *testing.T) {
	p := newBalanced(t)
	f := frame.New(frame.WithBufferPool(p))
	f.WritePayload([]byte("kept"))
	for _, n := range []int{-1, -frame.Headroom, -frame.Headroom - 1, math.MinInt} {
		pooltest.MustPanic(t, fmt.Sprint("frame: negative length ", n), func() { f.AllocPayload(n) })
	}
	for _, n := range []int{math.MaxInt, math.MaxInt - frame.Headroom + 1} {
		pooltest.MustPanic(t, fmt.Sprint("frame: length ", n, " is too large"), func() { f.AllocPayload(n) })
	}
	if string(f.Payload()) != "kept" {
		t.Error("the payload is gone")
	}
	if bits.UintSize == 64 {
		pooltest.MustPanic(t, "", func() { f.AllocPayload(math.MaxInt - frame.Headroom) })
	}
	f.WritePayload([]byte("works"))
	if string(f.Payload()) != "works" {
		t.Error("does not work after a panic")
	}
	f.Release()
	pooltest.MustBalance(t, p)
	pooltest.MustPanic(t, "frame: negative keep -1", func() { frame.WithKeep(-1) })
	pooltest.MustPanic(t, "frame: negative limit -1", func() { frame.WithMaxPayload(-1) })
}

func TestWritePayloadOfItself(t *testing.T) {
	for _, keep := range []int{0, 4096} {
		p := newBalanced(t)
		f := frame.New(frame.WithBufferPool(p), frame.WithKeep(keep))
		f.WritePayload([]byte("0123456789"))
		f.WritePayload(f.Payload()[3:7])
		if got := string(f.Payload()); got != "3456" {
			t.Errorf("keep %d: %q", keep, got)
		}
		f.Release()
		pooltest.MustBalance(t, p)
	}
}

func TestResetAndRelease(t *testing.T) {
	for _, k := range known {
		p := newBalanced(t)
		f := frame.New(frame.WithBufferPool(p))
		for i, end := range []func(){f.Reset, f.Release, f.Reset} {
			k.setHeader(t, f)
			f.WritePayload(k.payload)
			copied := bytes.Clone(f.Payload())
			end()
			end()
			(&knownFrame{}).is(t, f)
			if w := must(f.Wire()); !bytes.Equal(w, known[0].wire()) {
				t.Errorf("%s, %d: wire after the end is %x", k.name, i, w)
			}
			if !bytes.Equal(copied, k.payload) {
				t.Error("a clone changed")
			}
		}
		pooltest.MustBalance(t, p)
	}
}

func TestPayloadIsInvalidAfterReset(t *testing.T) {
	f := frame.New(frame.WithBufferPool(newBalanced(t)))
	f.WritePayload([]byte("secret"))
	view := f.Payload()
	f.Reset()
	if string(view) == "secret" {
		t.Error("with a poisoning pool, the stale view still reads as if it were valid")
	}
}

func TestDetach(t *testing.T) {
	p := newBalanced(t)
	f := frame.New(frame.WithBufferPool(p), frame.WithKeep(4096))
	if f.Detach() != nil {
		t.Error("detached nothing")
	}
	f.WritePayload(bytes.Repeat([]byte{1}, 300))
	f.WritePayload([]byte("hello")) // into the kept buffer
	f.SetFlags(9)
	b := f.Detach()
	if len(*b) != frame.Headroom+5 || string((*b)[frame.Headroom:]) != "hello" {
		t.Errorf("length %d, %q", len(*b), (*b)[frame.Headroom:])
	}
	if f.Payload() != nil || f.Flags() != 9 || f.Detach() != nil {
		t.Error("the payload is still the frame's, or the header is not")
	}
	f.Reset()
	f.WritePayload([]byte("another"))
	f.Release()
	if string((*b)[frame.Headroom:]) != "hello" {
		t.Error("the frame changed what it had detached")
	}
	if c := p.Counts(); c.Gets != c.Puts+1 {
		t.Errorf("%d gets, %d puts", c.Gets, c.Puts)
	}
	p.Put(b)
	pooltest.MustBalance(t, p)

	from := must(frame.From(known[0].wire(), []byte("mine")))
	if from.Detach() != nil || from.Payload() != nil {
		t.Error("detached the caller's own memory, or kept it")
	}
}

func TestCallersMemoryEntersNoPool(t *testing.T) {
	p := newBalanced(t)
	defer bufpool.SetDefault(p)()
	for _, size := range []int{256, 4096 - frame.Headroom, 4096} {
		payload := bytes.Repeat([]byte{7}, size) // exactly a tier
		header := known[0].wire()
		f := must(frame.From(header, payload))
		before := p.Counts().Puts
		f.Reset()
		if p.Counts().Puts != before {
			t.Error("a Put of the caller's memory")
		}
		f = must(frame.From(header, payload))
		w := must(f.Wire())
		if len(w) != 12+size || &w[12] == &payload[0] {
			t.Error("the wire is the caller's memory")
		}
		f.WritePayload([]byte("x"))
		f.Release()
		if !bytes.Equal(payload, bytes.Repeat([]byte{7}, size)) || !bytes.Equal(header, known[0].wire()) {
			t.Error("the caller's memory was changed")
		}
		pooltest.MustBalance(t, p)
	}
}

func TestKeep(t *testing.T) {
	p := newBalanced(t)
	f := frame.New(frame.WithBufferPool(p), frame.WithKeep(4096))
	for range 100 {
		f.WritePayload(make([]byte, 1000))
		f.Reset()
	}
	if c := p.Counts(); c.Gets != 1 || c.Lent != 2048 {
		t.Errorf("%d gets, %d bytes lent", c.Gets, c.Lent)
	}
	f.WritePayload(make([]byte, 16<<20))
	if got := p.Counts().Lent; got != 16<<20+frame.Headroom {
		t.Errorf("%d bytes lent", got)
	}
	f.Reset()
	if got := p.Counts().Lent; got != 0 {
		t.Errorf("a large frame left %d bytes", got)
	}
	for _, n := range []int{4096 - frame.Headroom, 1, 100, 4096 - frame.Headroom} {
		if got := f.AllocPayload(n); len(got) != n {
			t.Errorf("length %d, want %d", len(got), n)
		}
	}
	f.AllocPayload(4097 - frame.Headroom) // one more than is kept
	f.Reset()
	if got := p.Counts().Lent; got != 0 {
		t.Errorf("%d bytes lent", got)
	}
	f.WritePayload([]byte("x"))
	f.Release()
	pooltest.MustBalance(t, p)
}

func TestKeepBounds(t *testing.T) {
	p := newBalanced(t)
	f := frame.New(frame.WithBufferPool(p), frame.WithKeep(4096))
	f.AllocPayload(4096 - frame.Headroom)
	for range 3 { // exactly what may be kept, and exactly what fits
		f.Reset()
		if got := p.Counts().Lent; got != 4096 {
			t.Errorf("%d bytes kept", got)
		}
		if f.Detach() != nil {
			t.Error("an empty payload was detached")
		}
		f.AllocPayload(4096 - frame.Headroom)
	}
	if got := p.Counts().Gets; got != 1 {
		t.Errorf("%d gets", got)
	}
	f.Release()
	pooltest.MustBalance(t, p)
}

func TestKeptBuffersAreNotCleared(t *testing.T) {
	// What WithKeep's doc says: it bypasses the pool's clearing.
	p := bufpool.Must(bufpool.NewSized(4096, bufpool.WithClear(bufpool.ClearOnPut)))
	for keep, want := range map[int]string{0: "\x00\x00\x00\x00\x00\x00", 4096: "secret"} {
		f := frame.New(frame.WithBufferPool(p), frame.WithKeep(keep))
		f.WritePayload([]byte("secret"))
		f.Reset()
		if got := string(f.AllocPayload(6)); got != want {
			t.Errorf("keep %d: %q, want %q", keep, got, want)
		}
		f.Release()
	}
}

// fussy panics at the Get of its choice.
type fussy struct {
	bufpool.BufferPool
	left int
}

func (f *fussy) Get(n int) *[]byte {
	if f.left--; f.left == 0 {
		panic("the pool's")
	}
	return f.BufferPool.Get(n)
}

func TestPoolThatPanics(t *testing.T) {
	for left := 1; left < 5; left++ {
		p := newBalanced(t)
		pool := &fussy{p, left}
		f := frame.New(frame.WithBufferPool(pool), frame.WithKeep(300))
		pooltest.MustPanic(t, "the pool's", func() {
			for i := range 10 {
				f.WritePayload(make([]byte, 1000*i+1))
			}
		})
		if f.Payload() != nil {
			t.Error("a payload is left")
		}
		f.WritePayload([]byte("works"))
		f.Release()
		pooltest.MustBalance(t, p)
	}
}

func TestNilOptionPanics(t *testing.T) {
	pooltest.MustPanic(t, "frame: nil Option", func() { frame.New(nil) })
	pooltest.MustPanic(t, "frame: nil Option", func() { frame.NewConn(nil, nil) })
}

func TestEmptyWireHasNoRoomToAppend(t *testing.T) {
	f := frame.New()
	w := must(f.Wire())
	_ = append(w, 0xFF, 0xFF)
	if err := f.SetOptions(); err != nil || cap(w) != 12 {
		t.Errorf("%v, capacity %d", err, cap(w))
	}
}

func TestReleaseByManyGoroutines(t *testing.T) {
	p := newBalanced(t)
	for range 200 {
		f := frame.New(frame.WithBufferPool(p))
		f.WritePayload([]byte("x"))
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(f.Release)
		}
		wg.Wait()
	}
	pooltest.MustBalance(t, p)
}

func TestPoolIsResolvedOnce(t *testing.T) {
	a, b := newBalanced(t), newBalanced(t)
	restore := bufpool.SetDefault(a)
	f := frame.New(frame.WithBufferPool(nil))
	var stream bytes.Buffer
	c := frame.NewConn(&stream)
	restore()
	defer bufpool.SetDefault(b)()
	f.WritePayload([]byte("x"))
	if err := errors.Join(c.Send(f), c.Receive(f)); err != nil {
		t.Fatal(err)
	}
	f.Release()
	pooltest.MustBalance(t, a)
	if a.Counts().Gets != 2 || b.Counts().Gets != 0 {
		t.Errorf("%+v, %+v", a.Counts(), b.Counts())
	}
}

func TestWireLimit(t *testing.T) {
	p := newBalanced(t)
	f := frame.New(frame.WithBufferPool(p), frame.WithMaxPayload(100))
	for n, want := range map[int]error{99: nil, 100: nil, 101: frame.ErrPayloadTooLarge} {
		f.AllocPayload(n)
		if _, err := f.Wire(); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	f.WritePayload([]byte("0123456789"))
	k := knownFrame{payload: []byte("0123456789")}
	k.is(t, must(frame.Parse(must(f.Wire()))))
	f.Release()
	pooltest.MustBalance(t, p)

	// By From and Parse the format is the limit.
	large := make([]byte, 64<<20+1)
	from := must(frame.From(known[0].wire(), large))
	if _, err := from.Wire(); err != nil {
		t.Error(err)
	}
	from.Release()

	zero := new(frame.Frame)
	zero.AllocPayload(64<<20 + 1)
	if _, err := zero.Wire(); !errors.Is(err, frame.ErrPayloadTooLarge) {
		t.Error(err)
	}
	zero.Release()
}
