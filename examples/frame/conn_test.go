package frame_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"weak"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// rw joins a reader and a writer.
type rw struct {
	r io.Reader
	w io.Writer
}

func (c rw) Read(p []byte) (int, error)  { return c.r.Read(p) }
func (c rw) Write(p []byte) (int, error) { return c.w.Write(p) }

// header is that of a frame of n bytes, without options.
func header(n uint32) []byte {
	h := make([]byte, 12)
	h[0] = 3
	binary.LittleEndian.PutUint32(h[2:], n)
	binary.LittleEndian.PutUint32(h[6:], crc32.ChecksumIEEE(h[:6]))
	return h
}

// pair returns the two ends of a real connection.
func pair(t *testing.T, network string) (a, b net.Conn) {
	t.Helper()
	if network == "pipe" {
		a, b = net.Pipe()
	} else {
		addr := "127.0.0.1:0"
		if network == "unix" {
			addr = filepath.Join(t.TempDir(), "s")
		}
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if a, err = net.Dial(network, l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		if b, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestRoundTrips(t *testing.T) {
	for _, network := range []string{"pipe", "unix", "tcp"} {
		for _, slowly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/one byte at a time=%v", network, slowly), func(t *testing.T) {
				a, b := pair(t, network)
				sending, receiving := newBalanced(t), newBalanced(t)
				from := frame.NewConn(a, frame.WithBufferPool(sending))
				var to *frame.Conn
				if slowly {
					to = frame.NewConn(rw{iotest.OneByteReader(b), b}, frame.WithBufferPool(receiving))
				} else {
					to = frame.NewConn(b, frame.WithBufferPool(receiving))
				}
				frames := known
				if slowly {
					frames = known[:5]
				}
				done := make(chan error, 1)
				go func() {
					done <- sendAll(t, from, sending, frames)
					from.Close()
				}()
				g := frame.New()
				for _, k := range frames {
					for range 2 {
						if err := to.Receive(g); err != nil {
							t.Fatal(err)
						}
						k.is(t, g)
					}
				}
				if err := to.Receive(g); err != io.EOF {
					t.Errorf("at the end: %v", err)
				}
				if err := to.Receive(g); err != io.EOF {
					t.Errorf("again: %v", err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				pooltest.MustBalance(t, sending, receiving)
			})
		}
	}
}

// sendAll sends each frame twice, once from the pool and once from the caller's
// memory.
func sendAll(t *testing.T, c *frame.Conn, p bufpool.BufferPool, frames []knownFrame) error {
	f := frame.New(frame.WithBufferPool(p))
	defer f.Release()
	for _, k := range frames {
		f.Reset()
		k.setHeader(t, f)
		f.WritePayload(k.payload)
		if err := c.Send(f); err != nil {
			return err
		}
		mine, err := frame.Parse(k.wire())
		if err != nil {
			return err
		}
		if err := c.Send(mine); err != nil {
			return err
		}
	}
	return nil
}

func TestManySendersDoNotInterleave(t *testing.T) {
	const senders, each = 8, 200
	for _, network := range []string{"pipe", "unix", "tcp"} {
		a, b := pair(t, network)
		p := newBalanced(t)
		from, to := frame.NewConn(a, frame.WithBufferPool(p)), frame.NewConn(b, frame.WithBufferPool(p))
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() {
				f := frame.New(frame.WithBufferPool(p))
				defer f.Release()
				for j := range each {
					payload := bytes.Repeat([]byte{byte(i)}, j*37%3000+1)
					if j%2 == 0 {
						f.WritePayload(payload)
						if err := errors.Join(f.SetOptions(uint32(i), uint32(j)), from.Send(f)); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					g := frame.New()
					if err := g.SetOptions(uint32(i), uint32(j)); err != nil {
						t.Error(err)
					}
					mine, err := frame.From(must(g.Wire()), payload) // two slices, and no other between them
					if err == nil {
						err = from.Send(mine)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		next := [senders]uint32{}
		f := frame.New()
		for range senders * each {
			if err := to.Receive(f); err != nil {
				t.Fatal(err)
			}
			o := f.Options()
			if len(o) != 2 || o[1] != next[o[0]] {
				t.Fatalf("%s: options %v", network, o)
			}
			next[o[0]]++
			if want := bytes.Repeat([]byte{byte(o[0])}, int(o[1])*37%3000+1); !bytes.Equal(f.Payload(), want) {
				t.Fatalf("%s: frame %v is mixed with another", network, o)
			}
		}
		f.Release()
		wg.Wait()
		pooltest.MustBalance(t, p)
	}
}

func TestSendAndReceiveOverlap(t *testing.T) {
	a, b := pair(t, "tcp")
	p := newBalanced(t)
	here, there := frame.NewConn(a, frame.WithBufferPool(p)), frame.NewConn(b, frame.WithBufferPool(p))
	var wg sync.WaitGroup
	for _, c := range []*frame.Conn{here, there} {
		wg.Go(func() {
			f := frame.New(frame.WithBufferPool(p))
			defer f.Release()
			for n := range 300 {
				f.AllocPayload(n * 100)
				if err := c.Send(f); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			f := frame.New()
			defer f.Release()
			for n := range 300 {
				if err := c.Receive(f); err != nil || len(f.Payload()) != n*100 {
					t.Errorf("%v, %d bytes", err, len(f.Payload()))
				}
			}
		})
	}
	wg.Wait()
	pooltest.MustBalance(t, p)
}

func TestManyKindsOfReaders(t *testing.T) {
	var stream bytes.Buffer
	rnd := rand.New(rand.NewPCG(5, 6))
	var sent [][]byte
	out := frame.NewConn(&stream)
	f := frame.New()
	for i := range 1000 {
		payload := make([]byte, rnd.IntN(2000)*(i%3))
		for j := range payload {
			payload[j] = byte(rnd.Uint32())
		}
		sent = append(sent, payload)
		f.WritePayload(payload)
		if err := errors.Join(f.SetOptions(make([]uint32, i%11)...), out.Send(f)); err != nil {
			t.Fatal(err)
		}
	}
	f.Release()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with error": iotest.DataErrReader,
		"empty reads": func(r io.Reader) io.Reader { return &pooltest.EverySecondEmpty{R: iotest.HalfReader(r)} },
	} {
		for _, keep := range []int{0, 4096} {
			p := newBalanced(t) // poisoned: a byte that was not read would show
			c := frame.NewConn(rw{r: wrap(bytes.NewReader(stream.Bytes()))}, frame.WithBufferPool(p))
			f := frame.New(frame.WithKeep(keep))
			for i, payload := range sent {
				if err := c.Receive(f); err != nil || !bytes.Equal(f.Payload(), payload) || len(f.Options()) != i%11 {
					t.Fatalf("%s, keep %d, frame %d: %v", name, keep, i, err)
				}
			}
			if err := c.Receive(f); err != io.EOF {
				t.Errorf("%s, keep %d, at the end: %v", name, keep, err)
			}
			f.Release()
			pooltest.MustBalance(t, p)
		}
	}
	// A time-out between two frames is not sticky; one inside a frame is.
	again := &once{err: iotest.ErrTimeout, r: bytes.NewReader(stream.Bytes())}
	c := frame.NewConn(rw{r: again})
	if err := c.Receive(f); err != iotest.ErrTimeout {
		t.Error(err)
	}
	if err := c.Receive(f); err != nil {
		t.Errorf("after a time-out between frames: %v", err)
	}
	again.after, again.err = 5, iotest.ErrTimeout
	if err := c.Receive(f); err != iotest.ErrTimeout {
		t.Error(err)
	}
	if err := c.Receive(f); !errors.Is(err, iotest.ErrTimeout) || err == iotest.ErrTimeout {
		t.Errorf("after a time-out inside a frame: %v", err)
	}
	f.Release()
}

// once fails once, after so many bytes, and goes on.
type once struct {
	r     io.Reader
	after int
	err   error
}

func (o *once) Read(p []byte) (int, error) {
	if o.err == nil {
		return o.r.Read(p)
	}
	if o.after == 0 {
		err := o.err
		o.err = nil
		return 0, err
	}
	n, err := o.r.Read(p[:min(len(p), o.after)])
	o.after -= n
	return n, err
}

var errBroken = errors.New("broken")

func TestReaderThatFailsAfterEveryByte(t *testing.T) {
	k := known[3]
	k.payload = bytes.Repeat([]byte("0123456789"), 30)
	f := frame.New()
	k.setHeader(t, f)
	f.WritePayload(k.payload)
	w := bytes.Clone(must(f.Wire()))
	f.Release()
	for _, keep := range []int{0, 4096} {
		for cut := range w {
			for _, failure := range []error{errBroken, io.EOF} {
				p := newBalanced(t)
				g := frame.New(frame.WithBufferPool(p), frame.WithKeep(keep))
				g.WritePayload([]byte("before")) // and so a kept buffer
				r := io.MultiReader(bytes.NewReader(w[:cut]), iotest.ErrReader(failure))
				c := frame.NewConn(rw{r: r}, frame.WithBufferPool(p))
				err := c.Receive(g)
				want := failure
				if failure == io.EOF && cut > 0 {
					want = io.ErrUnexpectedEOF
				}
				if err != want {
					t.Fatalf("%v after %d bytes: %v", failure, cut, err)
				}
				(&knownFrame{}).is(t, g)
				// What left the stream inside a frame is sticky.
				again := c.Receive(g)
				if !errors.Is(again, want) || cut > 0 && !strings.Contains(again.Error(), "earlier call") {
					t.Fatalf("%v after %d bytes, again: %v", failure, cut, again)
				}
				if keep == 0 { // there is nothing to Release
					pooltest.MustBalance(t, p)
				}
				g.Release()
				pooltest.MustBalance(t, p)
			}
		}
	}
}

// limited accepts so many bytes, and then fails, or says nothing and takes less.
type limited struct {
	bytes.Buffer
	left   int
	err    error
	writes int
}

func (l *limited) Write(p []byte) (int, error) {
	l.writes++
	if n := l.left; n < len(p) {
		l.left = 0
		l.Buffer.Write(p[:n])
		return n, l.err
	}
	l.left -= len(p)
	return l.Buffer.Write(p)
}

// limitedConn makes it a net.Conn, which is not one of the system's.
type limitedConn struct {
	net.Conn
	*limited
}

func (l limitedConn) Write(p []byte) (int, error) { return l.limited.Write(p) }

func TestWriterThatFailsAfterEveryByte(t *testing.T) {
	k := known[3]
	w := k.wire()
	for _, failure := range []error{errBroken, nil} {
		want := failure
		if failure == nil {
			want = io.ErrShortWrite
		}
		for cut := range w {
			for kind := range 3 {
				p := newBalanced(t)
				l := &limited{left: cut, err: failure}
				var stream io.ReadWriter = l
				if kind == 2 {
					stream = limitedConn{limited: l}
				}
				c := frame.NewConn(stream, frame.WithBufferPool(p))
				var f *frame.Frame
				if kind == 0 {
					f = frame.New(frame.WithBufferPool(p))
					k.setHeader(t, f)
					f.WritePayload(k.payload)
				} else {
					f = must(frame.Parse(w))
				}
				if err := c.Send(f); err != want {
					t.Fatalf("%d, %v after %d bytes: %v", kind, failure, cut, err)
				}
				if kind < 2 && !bytes.Equal(l.Bytes(), w[:cut]) {
					t.Fatalf("%d: %d bytes written, want %d", kind, l.Len(), cut)
				}
				k.is(t, f) // it is still the caller's
				l.left = 1 << 20
				again := c.Send(f)
				if cut == 0 && kind < 2 { // nothing went out, so the stream is as it was
					if again != nil || !bytes.Equal(l.Bytes(), w) {
						t.Fatalf("%d, after a failure before the first byte: %v", kind, again)
					}
				} else if kind < 2 || failure != nil && cut > 0 {
					if !errors.Is(again, want) || !strings.Contains(again.Error(), "earlier call") {
						t.Fatalf("%d, %v after %d bytes, again: %v", kind, failure, cut, again)
					}
					if l.writes > 2 {
						t.Fatal("written to after the failure")
					}
				}
				f.Release()
				pooltest.MustBalance(t, p)
			}
		}
	}
}

type badWriter int

func (b badWriter) Write(p []byte) (int, error) { return int(b), nil }

func TestBadWriters(t *testing.T) {
	for _, n := range []int{-1, 1000} {
		c := frame.NewConn(rw{w: badWriter(n)})
		f := frame.New()
		for _, want := range []string{"", "earlier call"} {
			err := c.Send(f)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint("invalid count ", n)) || !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
		}
	}
	// An error after the last byte leaves the stream between two frames.
	w := &late{}
	c := frame.NewConn(rw{w: w})
	f := frame.New()
	for range 2 {
		if err := c.Send(f); err != errBroken {
			t.Error(err)
		}
	}
	// A writer that panics does not lock others out.
	c = frame.NewConn(rw{})
	pooltest.MustPanic(t, "nil pointer", func() { c.Send(f) })
	for range 2 {
		if err := c.Send(f); err == nil || !strings.Contains(err.Error(), "earlier call panicked") {
			t.Error(err)
		}
	}
}

// late takes all and fails all the same.
type late struct{}

func (*late) Write(p []byte) (int, error) { return len(p), errBroken }

// counts is a net.Conn that says what it was told to say.
type counts struct {
	net.Conn
	n      []int
	writes int
}

func (c *counts) Write([]byte) (int, error) {
	c.writes++
	return c.n[c.writes-1], nil
}

func TestCountsOfAConnThatIsNotOfTheSystem(t *testing.T) {
	for _, test := range []struct {
		n      []int
		want   string
		writes int
	}{
		{[]int{11, 6}, io.ErrShortWrite.Error(), 1},
		{[]int{5, 5}, io.ErrShortWrite.Error(), 1},
		{[]int{100, 5}, "invalid count 100", 1},
		{[]int{12, 6}, "invalid count 6", 2},
		{[]int{12, -12}, "invalid count -12", 2},
		{[]int{12, 4}, io.ErrShortWrite.Error(), 2},
	} {
		w := &counts{n: test.n}
		c := frame.NewConn(w)
		f := must(frame.From(header(0), []byte("12345")))
		for range 2 { // and it sticks
			if err := c.Send(f); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: %v", test.n, err)
			}
		}
		if w.writes != test.writes {
			t.Errorf("%v: %d writes, want %d", test.n, w.writes, test.writes)
		}
	}
}

// script is a reader that does what it is told, one function a Read.
type script []func(p []byte) (int, error)

func (s *script) Read(p []byte) (int, error) {
	f := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return f(p)
}

func bytesOf(b []byte) func([]byte) (int, error) {
	return func(p []byte) (int, error) { return copy(p, b), nil }
}

func TestBadReaders(t *testing.T) {
	w := must(frame.Parse(known[3].wire()))
	whole := known[3].wire()
	h := len(whole) - len(w.Payload())
	for name, test := range map[string]struct {
		bad  func(p []byte) (int, error)
		want string
	}{
		"too much": {func(p []byte) (int, error) { return 1000, nil }, "invalid count 1000"},
		"negative": {func(p []byte) (int, error) { return -5, nil }, "invalid count -5"},
		"nothing":  {func(p []byte) (int, error) { return 0, nil }, io.ErrNoProgress.Error()},
		"scratch": {func(p []byte) (int, error) {
			fill(p)
			return 0, errBroken
		}, "broken"},
		"panic": {func(p []byte) (int, error) {
			fill(p)
			panic("the reader's")
		}, "earlier call panicked"},
	} {
		for _, cut := range []int{0, 1, 12, 13, h, h + 1} { // in all three parts of a frame
			for _, keep := range []int{0, 4096} {
				p := newBalanced(t)
				f := frame.New(frame.WithKeep(keep))
				// The first frame leaves a buffer to keep.
				s := &script{bytesOf(whole[:12]), bytesOf(whole[12:h]), bytesOf(whole[h:])}
				for _, part := range [][]byte{whole[:min(cut, 12)], whole[min(cut, 12):min(cut, h)], whole[min(cut, h):cut]} {
					if len(part) > 0 {
						*s = append(*s, bytesOf(part))
					}
				}
				*s = append(*s, test.bad)
				c := frame.NewConn(rw{r: s}, frame.WithBufferPool(p))
				if err := c.Receive(f); err != nil {
					t.Fatal(err)
				}
				receive := func() (err error) {
					defer func() {
						if recover() != nil {
							err = c.Receive(f) // which says what happened
						}
					}()
					return c.Receive(f)
				}
				if err := receive(); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s after %d bytes: %v", name, cut, err)
				}
				(&knownFrame{}).is(t, f)
				if got := must(f.Wire()); !bytes.Equal(got, known[0].wire()) {
					t.Errorf("%s after %d bytes: the frame is not empty", name, cut)
				}
				f.Release()
				pooltest.MustBalance(t, p)
			}
		}
	}
}

func TestKeptBuffersGoBackToTheirLender(t *testing.T) {
	a, b, own := newBalanced(t), newBalanced(t), newBalanced(t)
	var one, other bytes.Buffer
	conns := []*frame.Conn{
		frame.NewConn(&one, frame.WithBufferPool(a)), frame.NewConn(&other, frame.WithBufferPool(b)),
	}
	f := frame.New(frame.WithBufferPool(own), frame.WithKeep(4096))
	for range 20 {
		for i, lender := range []*balance.Pool{a, b} {
			f.WritePayload([]byte("hello"))
			if err := errors.Join(conns[i].Send(f), conns[i].Receive(f)); err != nil {
				t.Fatal(err)
			}
			lender.Put(f.Detach()) // as its doc says: the connection's
			f.WritePayload([]byte("mine"))
			own.Put(f.Detach())
			if err := errors.Join(conns[i].Send(f), conns[i].Receive(f)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.Release()
	pooltest.MustBalance(t, a, b, own)
	if own.Counts().Gets == 0 || a.Counts().Gets == 0 {
		t.Error("a pool was not used")
	}
}

// counting notes what is written.
type counting struct{ slices [][]byte }

func (c *counting) Write(p []byte) (int, error) {
	c.slices = append(c.slices, p)
	return len(p), nil
}

func (c *counting) Read([]byte) (int, error) { return 0, io.EOF }

func TestOneWritePerFrameAndNoCopy(t *testing.T) {
	for _, n := range []int{0, 1, 200, 65536, 16 << 20} {
		for options := range 11 {
			var w counting
			f := frame.New()
			payload := f.AllocPayload(n)
			if err := errors.Join(f.SetOptions(make([]uint32, options)...), frame.NewConn(&w).Send(f)); err != nil {
				t.Fatal(err)
			}
			if len(w.slices) != 1 {
				t.Fatalf("%d writes", len(w.slices))
			}
			out := w.slices[0]
			if len(out) != 12+4*options+n || n > 0 && &out[len(out)-n] != &payload[0] {
				t.Errorf("%d bytes and %d options: what was written does not lie in the payload's buffer", n, options)
			}
			f.Release()
		}
	}
	// The caller's memory: two slices, as they are.
	var w counting
	payload := []byte("mine")
	f := must(frame.From(header(0), payload))
	if err := frame.NewConn(&w).Send(f); err != nil {
		t.Fatal(err)
	}
	if len(w.slices) != 2 || &w.slices[1][0] != &payload[0] {
		t.Errorf("%d writes, or a copy", len(w.slices))
	}
}

// On a connection of the system the caller's header and payload go out at once: as
// one datagram, where there are such.
func TestCallersMemoryIsOneWritev(t *testing.T) {
	addr, err := net.ResolveUnixAddr("unixgram", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.DialUnix("unixgram", nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c := frame.NewConn(a)
	gone := make(chan struct{})
	func() {
		payload := bytes.Repeat([]byte("payload"), 10)
		runtime.AddCleanup(&payload[0], func(struct{}) { close(gone) }, struct{}{})
		if err := c.Send(must(frame.From(header(0), payload))); err != nil {
			t.Fatal(err)
		}
	}()
	got := make([]byte, 1000)
	n, err := l.Read(got)
	if err != nil || n != 12+70 {
		t.Errorf("%v, a datagram of %d bytes, want 82", err, n)
	}
	f := must(frame.From(header(0), []byte("x")))
	if per := testing.AllocsPerRun(100, func() {
		if err := c.Send(f); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Read(got); err != nil {
			t.Fatal(err)
		}
	}); per >= 1 {
		t.Errorf("%.0f allocations", per)
	}
	for range 100 { // the connection holds on to nothing
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the caller's payload is still alive")
}

func TestForwardingCopiesNothing(t *testing.T) {
	var w counting
	p := newBalanced(t)
	c := frame.NewConn(rw{bytes.NewReader(known[5].wire()), &w}, frame.WithBufferPool(p))
	f := frame.New()
	if err := c.Receive(f); err != nil {
		t.Fatal(err)
	}
	payload := f.Payload()
	if err := errors.Join(f.SetOptions(1, 2, 3), c.Send(f)); err != nil {
		t.Fatal(err)
	}
	if len(w.slices) != 1 || &w.slices[0][24] != &payload[0] {
		t.Error("copied")
	}
	f.Release()
	pooltest.MustBalance(t, p)
}

// watching notes what the pool had back while it was written to.
type watching struct {
	p    *balance.Pool
	puts []int
}

func (w *watching) Write(b []byte) (int, error) {
	w.puts = append(w.puts, w.p.Counts().Puts)
	return len(b), nil
}

func TestNothingIsPutBackBeforeWriteReturns(t *testing.T) {
	p := newBalanced(t)
	w := &watching{p: p}
	c := frame.NewConn(rw{w: w}, frame.WithBufferPool(p))
	f := frame.New(frame.WithBufferPool(p))
	f.WritePayload([]byte("x"))
	if err := errors.Join(c.Send(f), c.Send(f)); err != nil {
		t.Fatal(err)
	}
	if len(w.puts) != 2 || w.puts[0] != 0 || w.puts[1] != 0 || p.Counts().Puts != 0 || string(f.Payload()) != "x" {
		t.Errorf("puts during Send: %v, after it: %d", w.puts, p.Counts().Puts)
	}
	f.Release()
	pooltest.MustBalance(t, p)
}

// erigontech/erigon#19417: pooled objects kept connections alive.
func TestAFrameKeepsNoConnectionAlive(t *testing.T) {
	f := frame.New(frame.WithKeep(4096))
	gone := make(chan struct{})
	func() {
		r := bytes.NewReader(known[3].wire())
		runtime.AddCleanup(r, func(struct{}) { close(gone) }, struct{}{})
		if err := frame.NewConn(rw{r: r}).Receive(f); err != nil {
			t.Fatal(err)
		}
		f.Reset()
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			f.Release()
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the reader is still alive")
}

func TestAnnouncedLengths(t *testing.T) {
	for _, n := range []uint32{1<<31 - 53, 1<<31 - 1, 1 << 31, 1<<32 - 1, 64<<20 + 1} {
		p := newBalanced(t)
		c := frame.NewConn(rw{r: bytes.NewReader(header(n))}, frame.WithBufferPool(p))
		f := frame.New(frame.WithBufferPool(p))
		for range 2 {
			if err := c.Receive(f); !errors.Is(err, frame.ErrPayloadTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(n)) {
				t.Errorf("%d: %v", n, err)
			}
		}
		if got := p.Counts().Gets; got != 0 {
			t.Errorf("%d gets for %d bytes", got, n)
		}
	}
}

// What is taken on the peer's word alone, at its edge: 128 KiB with the headroom.
func TestFirstBufferOfAnAnnouncedLength(t *testing.T) {
	const edge = 128<<10 - frame.Headroom
	for n, want := range map[uint32]int{edge - 1: 128<<10 - 1, edge: 128 << 10, edge + 1: 8 << 10} {
		p := newBalanced(t)
		c := frame.NewConn(rw{r: bytes.NewReader(header(n))}, frame.WithBufferPool(p))
		if err := c.Receive(frame.New()); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
		if got := p.Counts().LargestGet; got != want {
			t.Errorf("%d bytes announced: a Get of %d, want %d", n, got, want)
		}
		pooltest.MustBalance(t, p)
	}
}

func TestKeepAcrossSizes(t *testing.T) {
	const edge = 128<<10 - frame.Headroom // the largest that is received into a kept buffer
	for _, test := range []struct {
		keep int
		n    []int
		gets int
	}{
		{128 << 10, []int{edge, edge, 10}, 1},
		{4096, []int{10, 200_000, 10}, 4}, // 200 000 in two stages
	} {
		var stream bytes.Buffer
		p := newBalanced(t)
		c := frame.NewConn(&stream, frame.WithBufferPool(p))
		f, out := frame.New(frame.WithKeep(test.keep)), frame.New()
		for _, n := range test.n {
			out.AllocPayload(n)
			if err := errors.Join(c.Send(out), c.Receive(f)); err != nil {
				t.Fatal(err)
			}
		}
		out.Release()
		f.Release()
		pooltest.MustBalance(t, p)
		if got := p.Counts().Gets; got != test.gets {
			t.Errorf("keep %d, payloads of %v: %d gets, want %d", test.keep, test.n, got, test.gets)
		}
	}
}

func TestReceiveGivesUpAtTheHundredthEmptyRead(t *testing.T) {
	w := known[3].wire()
	for empty, want := range map[int]error{99: nil, 100: io.ErrNoProgress} {
		s := script{}
		for range empty {
			s = append(s, func([]byte) (int, error) { return 0, nil })
		}
		r := io.MultiReader(readerFunc(func(p []byte) (int, error) {
			if len(s) == 0 {
				return 0, io.EOF
			}
			f := s[0]
			s = s[1:]
			return f(p)
		}), bytes.NewReader(w))
		f := frame.New()
		if err := frame.NewConn(rw{r: r}).Receive(f); err != want {
			t.Errorf("after %d empty reads: %v", empty, err)
		}
		f.Release()
	}
	// It is a hundred in a row that count.
	f := frame.New()
	long := append(header(1000), make([]byte, 1000)...)
	if err := frame.NewConn(rw{r: &pooltest.EverySecondEmpty{R: iotest.OneByteReader(bytes.NewReader(long))}}).Receive(f); err != nil {
		t.Error(err)
	}
	f.Release()
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAPanicOfTheReaderLeavesAFrameThatWorks(t *testing.T) {
	f := frame.New()
	c := frame.NewConn(rw{r: readerFunc(func(p []byte) (int, error) {
		for i := range p {
			p[i] = 0xFF
		}
		panic("the reader's")
	})})
	pooltest.MustPanic(t, "the reader's", func() { c.Receive(f) })
	if n := len(f.Options()); n > 10 {
		t.Errorf("%d options", n)
	}
	if _, err := f.Wire(); err != nil {
		t.Error(err)
	}
	f.Reset()
	(&knownFrame{}).is(t, f)
}

func TestAFailedWritevKeepsNothingAlive(t *testing.T) {
	a, _ := pair(t, "unix")
	if err := a.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	c := frame.NewConn(a)
	payload := func() weak.Pointer[byte] {
		b := make([]byte, 64<<10)
		if err := c.Send(must(frame.From(header(0), b))); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		return weak.Make(&b[0])
	}()
	for range 3 {
		runtime.GC()
	}
	if payload.Value() != nil {
		t.Error("the caller's payload is kept alive")
	}
	runtime.KeepAlive(c)
}

func TestMaxPayloadZero(t *testing.T) {
	var stream bytes.Buffer
	c := frame.NewConn(&stream, frame.WithMaxPayload(0))
	f := frame.New()
	if err := errors.Join(c.Send(f), c.Receive(f)); err != nil {
		t.Error(err)
	}
	f.WritePayload([]byte("x"))
	if err := c.Send(f); !errors.Is(err, frame.ErrPayloadTooLarge) {
		t.Error(err)
	}
	f.Release()
}

// How many Reads a frame takes is what its doc says.
func TestReadsPerFrame(t *testing.T) {
	for i, want := range []int{1, 2, 3, 3, 3} {
		r := &countingReader{r: bytes.NewReader(known[i].wire())}
		f := frame.New()
		if err := frame.NewConn(rw{r: r}).Receive(f); err != nil || r.reads != want {
			t.Errorf("%s: %v, %d Reads, want %d", known[i].name, err, r.reads, want)
		}
		f.Release()
	}
}

type countingReader struct {
	r     io.Reader
	reads int
}

func (c *countingReader) Read(p []byte) (int, error) {
	c.reads++
	return c.r.Read(p)
}

func TestNoGetBeforeTheOptionsArrive(t *testing.T) {
	w := known[3].wire()
	for cut := range 52 {
		p := newBalanced(t)
		if err := frame.NewConn(rw{r: bytes.NewReader(w[:cut])}, frame.WithBufferPool(p)).Receive(frame.New()); err == nil {
			t.Fatal("no error")
		}
		if p.Counts().Gets != 0 {
			t.Errorf("a Get after %d bytes of the header", cut)
		}
	}
}

func TestMaxPayloadBounds(t *testing.T) {
	const limit = 1000
	for n, want := range map[int]error{0: nil, limit - 1: nil, limit: nil, limit + 1: frame.ErrPayloadTooLarge, 10 * limit: frame.ErrPayloadTooLarge} {
		var stream bytes.Buffer
		p := newBalanced(t)
		c := frame.NewConn(&stream, frame.WithMaxPayload(limit), frame.WithBufferPool(p))
		f := frame.New(frame.WithBufferPool(p))
		f.AllocPayload(n)
		if err := f.SetOptions(1, 2, 3, 4, 5, 6, 7, 8, 9, 10); err != nil { // the header does not count
			t.Fatal(err)
		}
		if err := c.Send(f); !errors.Is(err, want) {
			t.Errorf("Send of %d: %v", n, err)
		}
		if want != nil {
			if stream.Len() != 0 {
				t.Errorf("refused, and %d bytes were written", stream.Len())
			}
			// A refusal is of the frame and not of the stream.
			f.WritePayload([]byte("next"))
			if err := errors.Join(c.Send(f), c.Receive(f)); err != nil || string(f.Payload()) != "next" {
				t.Errorf("after a refusal: %v", err)
			}
			// What the sender refuses, the receiver would have.
			unlimited := frame.NewConn(&stream)
			f.AllocPayload(n)
			if err := unlimited.Send(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Receive(f); !errors.Is(err, want) {
			t.Errorf("Receive of %d: %v", n, err)
		}
		if want == nil && len(f.Payload()) != n {
			t.Errorf("%d bytes, want %d", len(f.Payload()), n)
		}
		f.Release()
		pooltest.MustBalance(t, p)
	}
}

// stalled gives its bytes and then waits.
type stalled struct {
	r       io.Reader
	waiting func()
	release chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n == 0 {
		s.waiting()
		<-s.release
	}
	return n, err
}

func TestStalledPeersHoldLittle(t *testing.T) {
	const peers = 1000
	want := io.ErrUnexpectedEOF
	if bits.UintSize < 64 {
		want = frame.ErrPayloadTooLarge // more than an int holds
	}
	pool := pooltest.Check(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	release := make(chan struct{})
	var waiting, done sync.WaitGroup
	waiting.Add(peers)
	before := pooltest.Heap()
	for range peers {
		done.Go(func() {
			var once sync.Once
			arrived := func() { once.Do(waiting.Done) }
			defer arrived()
			s := &stalled{bytes.NewReader(header(0xFFFFFFFF)), arrived, release}
			c := frame.NewConn(rw{r: s}, frame.WithMaxPayload(4<<30), frame.WithBufferPool(pool))
			if err := c.Receive(frame.New()); !errors.Is(err, want) {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	runtime.GC()
	if held := (pooltest.HeapNow() - before) / peers; held > 136<<10 {
		t.Errorf("%d bytes held for each stalled peer", held)
	} else {
		t.Logf("%d bytes held for each stalled peer", held)
	}
	close(release)
	done.Wait()
}

func TestIdleConnectionsHoldNothing(t *testing.T) {
	p := newBalanced(t)
	const conns = 1000
	release := make(chan struct{})
	var waiting, done sync.WaitGroup
	waiting.Add(conns)
	for range conns {
		done.Go(func() {
			s := &stalled{bytes.NewReader(known[4].wire()), waiting.Done, release}
			c := frame.NewConn(rw{s, io.Discard}, frame.WithBufferPool(p))
			f := frame.New(frame.WithBufferPool(p))
			if err := errors.Join(c.Receive(f), c.Send(f)); err != nil {
				t.Error(err)
			}
			if err := c.Receive(f); err != io.EOF { // waits
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	if c := p.Counts(); c.Lent != 0 || c.Gets != conns {
		t.Errorf("%d bytes lent while all are idle, %d gets", c.Lent, c.Gets)
	}
	close(release)
	done.Wait()
	pooltest.MustBalance(t, p)
}

func TestALargeFrameLeavesNothingBehind(t *testing.T) {
	for _, keep := range []int{0, 4096} {
		var stream bytes.Buffer
		p := newBalanced(t)
		c := frame.NewConn(&stream, frame.WithBufferPool(p))
		out, in := frame.New(frame.WithBufferPool(p)), frame.New(frame.WithKeep(keep))
		out.AllocPayload(16 << 20)
		if err := errors.Join(c.Send(out), c.Receive(in)); err != nil {
			t.Fatal(err)
		}
		stream = bytes.Buffer{}
		for range 1000 {
			out.WritePayload(make([]byte, 100))
			if err := errors.Join(c.Send(out), c.Receive(in)); err != nil {
				t.Fatal(err)
			}
			if got := p.Counts().Lent; got > 8192 {
				t.Fatalf("keep %d: %d bytes lent for frames of 100", keep, got)
			}
		}
		out.Release()
		in.Release()
		pooltest.MustBalance(t, p)
	}
}

func TestEmptyPayloadTakesNoBuffer(t *testing.T) {
	var stream bytes.Buffer
	p := newBalanced(t)
	c := frame.NewConn(&stream, frame.WithBufferPool(p))
	f := frame.New(frame.WithBufferPool(p))
	if err := errors.Join(f.SetOptions(1, 2), c.Send(f), c.Receive(f)); err != nil {
		t.Fatal(err)
	}
	if got := p.Counts().Gets; got != 0 {
		t.Errorf("%d gets", got)
	}
}

func TestReaderThatPanics(t *testing.T) {
	for cut := range 300 {
		p := newBalanced(t)
		r := io.MultiReader(bytes.NewReader(append(header(1000), make([]byte, 1000)...)[:cut]), panicking{})
		c := frame.NewConn(rw{r: r}, frame.WithBufferPool(p))
		f := frame.New()
		pooltest.MustPanic(t, "the reader's", func() { c.Receive(f) })
		f.Release()
		pooltest.MustBalance(t, p)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("the reader's") }

type closable struct {
	bytes.Buffer
	closed int
}

func (c *closable) Close() error {
	c.closed++
	return errBroken
}

func TestClose(t *testing.T) {
	var s closable
	if err := frame.NewConn(&s).Close(); err != errBroken || s.closed != 1 {
		t.Errorf("%v, closed %d times", err, s.closed)
	}
	if err := frame.NewConn(&bytes.Buffer{}).Close(); err != nil {
		t.Error(err)
	}
}

// A double with buffers of exactly the length asked for.
func TestExactPool(t *testing.T) {
	p := pooltest.NewBalance(t, bufpool.Nop{})
	var stream bytes.Buffer
	c := frame.NewConn(&stream, frame.WithBufferPool(p))
	out, in := frame.New(frame.WithBufferPool(p)), frame.New(frame.WithBufferPool(p), frame.WithKeep(1000))
	for _, k := range known {
		out.WritePayload(k.payload)
		k.setHeader(t, out)
		if err := errors.Join(c.Send(out), c.Receive(in)); err != nil {
			t.Fatal(err)
		}
		k.is(t, in)
	}
	out.Release()
	in.Release()
	pooltest.MustBalance(t, p)
}
