package bufpool_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"weak"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// *Chain has these, and so what takes them takes a *Chain.
var _ interface {
	io.ReadWriter
	io.ReaderFrom
	io.WriterTo
	io.ByteReader
	io.ByteWriter
	io.StringWriter
} = (*bufpool.Chain)(nil)

// inChunks returns a Chain of data in chunks of so many bytes.
func inChunks(p bufpool.BufferPool, data []byte, chunk int) bufpool.Chain {
	c := bufpool.NewChain(p, chunk)
	if _, err := c.ReadN(bytes.NewReader(data), int64(len(data))); err != nil {
		panic(err)
	}
	return c
}

func content(t testing.TB, c *bufpool.Chain) string {
	t.Helper()
	part := c.Slice(0, c.Len())
	defer part.Release()
	data, err := io.ReadAll(&part)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func TestSmallWritesShareAChunk(t *testing.T) {
	p := newBalanced(t)
	c := bufpool.NewChain(p, 0)
	for range 100 {
		c.Write([]byte("0123456789"))
	}
	if gets := p.Counts().Gets; gets != 1 || c.Len() != 1000 {
		t.Errorf("%d chunks for %d bytes", gets, c.Len())
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

func TestZeroChain(t *testing.T) {
	p := newBalanced(t)
	defer bufpool.SetDefault(p)()
	var unused, c bufpool.Chain
	unused.Release()
	unused.Release()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	c.WriteString("hello")
	if got := content(t, &c); got != "hello" {
		t.Error(got)
	}
	c.Release()
	pooltest.MustBalance(t, p)
	pooltest.MustPanic(t, "bufpool: negative length -1", func() { bufpool.NewChain(nil, -1) })
	typed := bufpool.NewChain((*bufpool.Tiered)(nil), 0)
	typed.WriteString("x")
	typed.Release()
	pooltest.MustBalance(t, p)
}

// No more is asked for than the largest tier, where that is known, or than the caller
// says.
func TestChunksAreTheLargestTierAtMost(t *testing.T) {
	for _, base := range []bufpool.BufferPool{
		bufpool.Must(bufpool.NewSized(4096)),
		bufpool.NewLocal(bufpool.Must(bufpool.NewTiered([]int{100, 4096})), 1<<20),
		struct{ *bufpool.Stepped }{bufpool.Must(bufpool.NewStepped(64, 4096, 4))},
	} {
		var stats func() bufpool.Stats
		if s, ok := base.(interface{ Stats() bufpool.Stats }); ok {
			stats = s.Stats
		}
		c := bufpool.NewChain(base, 0)
		c.Write(make([]byte, 100_000))
		c.ReadFrom(bytes.NewReader(make([]byte, 100_000)))
		c.ReadN(bytes.NewReader(make([]byte, 100_000)), 100_000)
		c.Release()
		if got := stats(); got.OversizedGets != 0 {
			t.Errorf("%T: %+v", base, got)
		}
	}
	p := newBalanced(t)
	for _, chunk := range []int{1, 10, 1000, 1 << 20} {
		c := bufpool.NewChain(p, chunk)
		c.Write(make([]byte, 3000))
		c.ReadFrom(bytes.NewReader(make([]byte, 3000)))
		c.ReadN(bytes.NewReader(make([]byte, 3000)), 3000)
		if largest := p.Counts().LargestGet; largest > chunk {
			t.Errorf("%d bytes asked for, chunks are of %d", largest, chunk)
		}
		c.Release()
	}
	pooltest.MustBalance(t, p)
}

// cloudwego/netpoll#335: what was joined once is not joined again, nor kept twice.
func TestPeekJoinsOnce(t *testing.T) {
	p := newBalanced(t)
	data := pattern(100_000)
	c := inChunks(p, data, 1000)
	before := p.Counts()
	for range 1_000_000 {
		if head, err := c.Peek(2500); err != nil || len(head) != 2500 {
			t.Fatal(len(head), err)
		}
	}
	if got := p.Counts(); got.Gets != before.Gets+1 || got.Lent > before.Lent+4096 {
		t.Errorf("%+v, then %+v", before, got)
	}
	if got := content(t, &c); got != string(data) {
		t.Error("contents differ")
	}
	// Looking a little further each time copies each byte a few times.
	before = p.Counts()
	for n := range len(data) {
		if head, err := c.Peek(n); err != nil || !bytes.Equal(head, data[:n]) {
			t.Fatal(n, err)
		}
	}
	if got := p.Counts(); got.Gets > before.Gets+10 {
		t.Errorf("%d buffers", got.Gets-before.Gets)
	}
	exact := pooltest.NewBalance(t, bufpool.Nop{})
	e := inChunks(exact, data[:20_000], 1000)
	for n := range 20_000 {
		e.Peek(n)
	}
	if gets := exact.Counts().Gets; gets > 20+30 {
		t.Errorf("%d buffers of a pool without tiers", gets)
	}
	e.Release()
	if all, err := c.Peek(len(data) + 1); len(all) != len(data) || err != io.EOF {
		t.Error(len(all), err)
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

func TestContiguousIsTheChunkIfThereIsOne(t *testing.T) {
	p := newBalanced(t)
	c := bufpool.NewChain(p, 0)
	if got := c.Contiguous(); len(got) != 0 {
		t.Error(got)
	}
	c.WriteString("one chunk")
	head, _ := c.Peek(3)
	gets := p.Counts().Gets
	if got := c.Contiguous(); string(got) != "one chunk" || &got[0] != &head[0] || p.Counts().Gets != gets {
		t.Errorf("%q, %d gets", got, p.Counts().Gets-gets)
	}
	c.Release()
	data := pattern(50_000)
	c = inChunks(p, data, 4096)
	gets = p.Counts().Gets
	if got := c.Contiguous(); !bytes.Equal(got, data) || p.Counts().Gets != gets+1 || p.Counts().Lent != 65536 {
		t.Errorf("%d gets, %d bytes lent", p.Counts().Gets-gets, p.Counts().Lent)
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

// What is written to a Chain shows in no other, whichever have the same chunks.
func TestSharersDoNotWriteIntoEachOther(t *testing.T) {
	p := newBalanced(t)
	for _, chunk := range []int{3, 10, 0} {
		c := bufpool.NewChain(p, chunk)
		c.WriteString("0123456789")
		whole, middle, head := c.Slice(0, 10), c.Slice(3, 7), c.Split(4)
		chains := []*bufpool.Chain{&c, &whole, &middle, &head}
		want := []string{"456789", "0123456789", "3456", "0123"}
		for round := range 3 {
			for i, c := range chains {
				more := strings.Repeat(string(rune('a'+i)), 1+round*3)
				c.WriteString(more)
				c.WriteByte('!')
				want[i] += more + "!"
				c.Peek(len(want[i]) - 1)
				c.ReadFrom(strings.NewReader("~"))
				want[i] += "~"
			}
			for i, c := range chains {
				if got := content(t, c); got != want[i] {
					t.Errorf("chunk %d, round %d, chain %d: %q, want %q", chunk, round, i, got, want[i])
				}
			}
		}
		for _, c := range chains {
			c.Release()
		}
	}
	pooltest.MustBalance(t, p)
}

// quic-go/quic-go#1807: frames cut from one read go back with the last of them, in
// whichever order and from whichever goroutine.
func TestTheLastReferenceGivesTheChunkBack(t *testing.T) {
	p := newBalanced(t)
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}} {
		c := inChunks(p, pattern(500), 0)
		var frames []bufpool.Chain
		for range 4 {
			frames = append(frames, c.Split(100))
		}
		frames = append(frames, c)
		for i, k := range order {
			if p.Counts().Lent == 0 {
				t.Fatalf("back after %d of %d", i, len(order))
			}
			done := make(chan bool)
			go func() {
				if want := string(pattern(500)[100*k:][:100]); content(t, &frames[k]) != want {
					t.Error("contents differ")
				}
				frames[k].Release()
				close(done)
			}()
			<-done
		}
		if p.Counts().Lent != 0 {
			t.Error("not back")
		}
	}
	pooltest.MustBalance(t, p)
}

// Many readers of one message, all at once.
func TestSlicesAreIndependent(t *testing.T) {
	p := newBalanced(t)
	data := pattern(300_000)
	for range 20 {
		c := inChunks(p, data, 0)
		var wg sync.WaitGroup
		for i := range 8 {
			part := c.Slice(i*1000, len(data)-i*1000)
			wg.Go(func() {
				defer part.Release()
				want := data[i*1000 : len(data)-i*1000]
				switch i % 4 {
				case 0:
					if !bytes.Equal(part.Contiguous(), want) {
						t.Error("contents differ")
					}
				case 1:
					for k := 0; part.Len() > 0; k++ {
						n := min(1+k*977%5000, part.Len())
						frame := part.Split(n)
						if !bytes.Equal(frame.Contiguous(), want[:n]) {
							t.Error("contents differ")
						}
						want = want[n:]
						frame.Release()
					}
				case 2:
					var w bytes.Buffer
					if n, err := part.WriteTo(&w); n != int64(len(want)) || err != nil || !bytes.Equal(w.Bytes(), want) {
						t.Error(n, err)
					}
				case 3:
					part.Write(want)
					part.Discard(len(want))
					if got, _ := io.ReadAll(&part); !bytes.Equal(got, want) {
						t.Error("contents differ")
					}
				}
			})
		}
		c.Release()
		wg.Wait()
	}
	pooltest.MustBalance(t, p)
}

// Chains cut from each other and handed around, so that what they refer to is recycled
// by goroutines other than those that made it.
func TestChainsHandedAround(t *testing.T) {
	p := newBalanced(t)
	queue := make(chan *chainModel, 64)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 1))
			next := func() *chainModel {
				select {
				case m := <-queue:
					return m
				default:
					want := pattern(1 + rnd.IntN(3000))
					rnd.Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
					return &chainModel{inChunks(p, want, 100+rnd.IntN(2000)), want}
				}
			}
			handOn := func(m *chainModel) {
				select {
				case queue <- m:
				default:
					m.chain.Release()
				}
			}
			for range 2000 {
				m := next()
				n := rnd.IntN(len(m.want) + 1)
				switch rnd.IntN(6) {
				case 0:
					handOn(&chainModel{m.chain.Slice(n, len(m.want)), bytes.Clone(m.want[n:])})
				case 1:
					part := &chainModel{m.chain.Split(n), m.want[:n:n]}
					m.want = m.want[n:]
					handOn(part)
				case 2:
					m.chain.Write(m.want[:n])
					m.want = append(m.want[:len(m.want):len(m.want)], m.want[:n]...)
				case 3:
					m.chain.Discard(n)
					m.want = m.want[n:]
				case 4:
					if got, err := m.chain.Peek(n); err != nil || !bytes.Equal(got, m.want[:n]) {
						t.Error("contents differ", err)
					}
				case 5:
					stale := m.chain
					if !bytes.Equal(m.chain.Contiguous(), m.want) {
						t.Error("contents differ")
					}
					m.chain.Release()
					useStale(t, stale, rnd.IntN(100))
					continue
				}
				handOn(m)
			}
		})
	}
	wg.Wait()
	close(queue)
	for m := range queue {
		if !bytes.Equal(m.chain.Contiguous(), m.want) {
			t.Error("contents differ")
		}
		m.chain.Release()
	}
	pooltest.MustBalance(t, p)
}

// grpc/grpc-go#8023, apache/geode#5703: released once too often, by one or by many.
func TestReleaseOnceTooOften(t *testing.T) {
	p := newBalanced(t)
	c := inChunks(p, pattern(100), 0)
	parts := make([]bufpool.Chain, 5)
	for i := range parts {
		parts[i] = c.Slice(0, 100)
	}
	for i := range parts {
		parts[i].Release()
		pooltest.MustPanic(t, "bufpool: stale Chain", parts[i].Release)
	}
	if got := content(t, &c); got != string(pattern(100)) {
		t.Error("contents differ")
	}
	c.Release()
	pooltest.MustPanic(t, "bufpool: stale Chain", c.Release)
	pooltest.MustBalance(t, p)

	for _, goroutines := range []int{64, 2} {
		for range 2000 / goroutines {
			c := inChunks(p, pattern(100), 0)
			var released atomic.Int32
			together(goroutines, func() {
				defer func() { recover() }()
				c.Release()
				released.Add(1)
			})
			if released.Load() != 1 {
				t.Errorf("released %d times", released.Load())
			}
		}
	}
	pooltest.MustBalance(t, p)
}

// together calls f in so many goroutines, which start when all of them are there.
func together(goroutines int, f func()) {
	var ready atomic.Int32
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			ready.Add(1)
			for spins := 0; ready.Load() < int32(goroutines); spins++ {
				if spins > 100 { // there may be one processor only
					runtime.Gosched()
				}
			}
			f()
		})
	}
	wg.Wait()
}

// gorilla/websocket#134: no use of a handle that was released reaches who has what it
// referred to now. What a Chain refers to is recycled at once, if it is at all.
func TestStaleChains(t *testing.T) {
	p := newBalanced(t)
	var stale []bufpool.Chain
	for range 10 {
		c := inChunks(p, pattern(100), 0)
		part, head := c.Slice(10, 20), c.Split(5)
		stale = append(stale, c, part, head)
		c.Release()
		part.Release()
		head.Release()
	}
	for range 10 {
		live := inChunks(p, pattern(100), 0)
		part := live.Slice(0, 50)
		for _, s := range stale {
			for how := range staleUses {
				useStale(t, s, how)
			}
		}
		if content(t, &live) != string(pattern(100)) || content(t, &part) != string(pattern(50)) {
			t.Error("contents differ")
		}
		live.Release()
		part.Release()
	}
	pooltest.MustBalance(t, p)
}

// What is recycled of a Chain keeps neither chunks, which no pool has here, nor the
// pool: one collection frees them, where a sync.Pool would keep until the second what
// it holds.
func TestReleasedChainsKeepNothing(t *testing.T) {
	a, b := socketPair(t, "tcp")
	go io.Copy(io.Discard, b)
	pool := &remembering{}
	lost := weak.Make(pool)
	c := inChunks(pool, pattern(5000), 1000)
	part := c.Slice(0, 5000)
	head := part.Split(100)
	closed, _ := socketPair(t, "tcp")
	closed.Close()
	if _, err := part.WriteTo(closed); err == nil {
		t.Error("written to a closed connection")
	}
	if _, err := c.WriteTo(a); err != nil {
		t.Error(err)
	}
	part.Peek(2500)
	lent := pool.lent
	if len(lent) != 5+1 {
		t.Errorf("%d buffers lent", len(lent))
	}
	part.Release()
	head.Release()
	c.Release()
	pool = nil
	runtime.GC()
	for i, l := range lent {
		if l.Value() != nil {
			t.Errorf("buffer %d is kept", i)
		}
	}
	if lost.Value() != nil {
		t.Error("the pool is kept")
	}
	runtime.KeepAlive(&c)
	runtime.KeepAlive(&part)
}

// remembering pools nothing and remembers what it lent.
type remembering struct {
	bufpool.Nop
	lent []weak.Pointer[byte]
}

func (r *remembering) Get(n int) *[]byte {
	b := r.Nop.Get(n)
	r.lent = append(r.lent, weak.Make(&(*b)[0]))
	return b
}

// What was read is not kept by the Chain that had it.
func TestAnEmptyChainKeepsNothing(t *testing.T) {
	pool := &remembering{}
	c := bufpool.NewChain(pool, 64)
	for range 500 {
		c.Write(make([]byte, 64*4))
		c.Discard(64*4 - 1)
		c.Peek(65)
	}
	c.Discard(c.Len())
	runtime.GC()
	for i, l := range pool.lent {
		if l.Value() != nil {
			t.Errorf("buffer %d of %d is kept", i, len(pool.lent))
		}
	}
	c.Release()
}

// The list of a long Chain is not recycled with what it was in.
func TestALongListDoesNotStay(t *testing.T) {
	out, sink := socketPair(t, "tcp")
	go io.Copy(io.Discard, sink)
	before := pooltest.Heap()
	c := bufpool.NewChain(bufpool.Must(bufpool.NewSized(1)), 1)
	c.Write(make([]byte, 100_000))
	if _, err := c.WriteTo(out); err != nil {
		t.Error(err)
	}
	c.Release()
	if grown := pooltest.Heap() - before; grown > 1<<20 {
		t.Errorf("%d bytes", grown)
	}
	runtime.KeepAlive(&c) // and with it what is recycled of it
}

// A checked pool has nothing to say.
func TestChainIsCleanUnderCheck(t *testing.T) {
	p := check.ForTest(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	for _, chunk := range []int{10, 1000, 0} {
		c := inChunks(p, pattern(3000), chunk)
		c.Write(pattern(5000))
		part, head := c.Slice(100, 7000), c.Split(2000)
		part.Peek(6000)
		c.WriteString("more than was asked for")
		c.ReadFrom(bytes.NewReader(pattern(5000)))
		c.Contiguous()
		part.Read(make([]byte, 5000))
		for _, c := range []*bufpool.Chain{&head, &c, &part} {
			c.Release()
		}
	}
}

// socketPair returns two ends of a connection.
func socketPair(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "socket")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	if a, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	b = <-accepted
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// relay is what stands at both ends of one that moves messages of size bytes from in to
// out: one of them comes for each value in next, and is out at the next in drained.
type relay struct {
	in, out       net.Conn
	next, drained chan bool
}

func newRelay(t testing.TB, network string, size int) relay {
	source, in := socketPair(t, network)
	out, sink := socketPair(t, network)
	r := relay{in, out, make(chan bool), make(chan bool)}
	t.Cleanup(func() { close(r.next) })
	go func() {
		data := make([]byte, size)
		for range r.next {
			source.Write(data)
		}
	}()
	go func() {
		buf := make([]byte, 256<<10)
		for n := 0; ; {
			m, err := sink.Read(buf)
			if err != nil {
				return
			}
			if n += m; n == size {
				n = 0
				r.drained <- true
			}
		}
	}()
	return r
}

// A message of 10 MiB from a socket to another, in little more memory than it has.
func TestRelay(t *testing.T) {
	const size = 10 << 20
	for _, network := range []string{"tcp", "unix"} {
		for name, readFrom := range map[string]func(c *bufpool.Chain, r io.Reader) (int64, error){
			"ReadN":    func(c *bufpool.Chain, r io.Reader) (int64, error) { return c.ReadN(r, size) },
			"ReadFrom": func(c *bufpool.Chain, r io.Reader) (int64, error) { return c.ReadFrom(r) },
			"limited": func(c *bufpool.Chain, r io.Reader) (int64, error) {
				return c.ReadFrom(&io.LimitedReader{R: r, N: size})
			},
		} {
			p := pooltest.NewBalance(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
			source, in := socketPair(t, network)
			out, sink := socketPair(t, network)
			data := pattern(size)
			go func() {
				source.Write(data)
				source.Close()
			}()
			sum := make(chan uint32)
			go func() {
				h := crc32.NewIEEE()
				io.Copy(h, sink)
				sum <- h.Sum32()
			}()
			c := bufpool.NewChain(p, 0)
			if n, err := readFrom(&c, in); n != size || err != nil {
				t.Error(n, err)
			}
			if n, err := c.WriteTo(out); n != size || err != nil || c.Len() != 0 {
				t.Error(n, err, c.Len())
			}
			out.Close()
			if <-sum != crc32.ChecksumIEEE(data) {
				t.Error("contents differ")
			}
			if c := p.Counts(); c.Lent != 0 || c.PeakLent > size*105/100 {
				t.Errorf("%s, %s: %d bytes lent, %d at most", network, name, c.Lent, c.PeakLent)
			} else {
				t.Logf("%s, %s: %.3f of the message lent", network, name, float64(c.PeakLent)/size)
			}
			c.Release()
			pooltest.MustBalance(t, p)
		}
	}
}

// One writev: the kernel sees one message.
func TestWriteToIsOneWritev(t *testing.T) {
	address := &net.UnixAddr{Net: "unixgram", Name: filepath.Join(t.TempDir(), "socket")}
	in, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Skip(err)
	}
	defer in.Close()
	out, err := net.DialUnix("unixgram", nil, address)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := newBalanced(t)
	data := pattern(10_000)
	c := inChunks(p, data, 100)
	if n, err := c.WriteTo(out); n != 10_000 || err != nil {
		t.Fatal(n, err)
	}
	got := make([]byte, 20_000)
	if n, err := in.Read(got); n != len(data) || err != nil || !bytes.Equal(got[:n], data) {
		t.Errorf("a datagram of %d bytes, %v", n, err)
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

// counting is a connection with a Write of its own, which must be called.
type counting struct {
	*net.TCPConn
	written int
}

func (c *counting) Write(p []byte) (int, error) {
	c.written += len(p)
	return c.TCPConn.Write(p)
}

func TestWriteToCallsTheWriteOfAWrapper(t *testing.T) {
	a, b := socketPair(t, "tcp")
	go io.Copy(io.Discard, b)
	w := &counting{TCPConn: a.(*net.TCPConn)}
	c := inChunks(nil, pattern(10_000), 1000)
	defer c.Release()
	if n, err := c.WriteTo(w); n != 10_000 || err != nil || w.written != 10_000 {
		t.Error(n, err, w.written)
	}
}

// With an error, the next one gets the whole.
func TestWriteToLeavesTheChainOnError(t *testing.T) {
	p := newBalanced(t)
	data := pattern(1 << 20)
	c := inChunks(p, data, 10_000)
	c.Discard(5)
	data = data[5:]
	for room := range 40 {
		for e := endError; e < ends; e++ {
			w := &scripted{data: make([]byte, room*1000), end: e}
			o := outcomeOf(func() (int64, error) { return c.WriteTo(w) })
			if o.panicked != (e >= endNegative) || !o.panicked && (o.n != int64(room*1000) || o.err == nil) || c.Len() != len(data) {
				t.Fatal(room, e, o, c.Len())
			}
		}
	}
	// A socket whose other end closes after some of it.
	a, b := socketPair(t, "tcp")
	go func() {
		io.CopyN(io.Discard, b, 1000)
		b.(*net.TCPConn).SetLinger(0)
		b.Close()
	}()
	var err error
	for range 100 {
		more := c.Slice(0, c.Len())
		if _, err = more.WriteTo(a); err != nil {
			if got := content(t, &more); got != string(data) {
				t.Error("contents differ after an error of a socket")
			}
		}
		more.Release()
		if err != nil {
			break
		}
	}
	if err == nil {
		t.Error("no error from a closed socket")
	}
	var w bytes.Buffer
	if n, err := c.WriteTo(&w); n != int64(len(data)) || err != nil || !bytes.Equal(w.Bytes(), data) || c.Len() != 0 {
		t.Error(n, err)
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

// fosrl/newt#277: cleared the moment they go back.
func TestChainUnderClearOnPut(t *testing.T) {
	p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 4096), bufpool.WithClear(bufpool.ClearOnPut)))
	secret := bytes.Repeat([]byte("secret"), 1000)
	for name, give := range map[string]func(c *bufpool.Chain){
		"Release":    func(c *bufpool.Chain) { c.Release() },
		"Discard":    func(c *bufpool.Chain) { c.Discard(6000) },
		"Read":       func(c *bufpool.Chain) { c.Read(make([]byte, 6000)) },
		"WriteTo":    func(c *bufpool.Chain) { c.WriteTo(io.Discard) },
		"Contiguous": func(c *bufpool.Chain) { c.Contiguous() },
	} {
		c := inChunks(p, secret, 1000)
		shared := c.Slice(0, 10)
		view, _ := c.Peek(1000)
		give(&c)
		if string(view[:6]) != "secret" {
			t.Errorf("%s: cleared while it is shared", name)
		}
		shared.Release()
		if len(bytes.Trim(view, "\x00")) > 0 {
			t.Errorf("%s: %q", name, view)
		}
	}
}

// A forged length costs one chunk, however large it is.
func TestChainReadNTrustsNoLength(t *testing.T) {
	p := newBalanced(t)
	c := bufpool.NewChain(p, 0)
	for _, n := range []int64{1 << 31, math.MaxInt64} {
		r := &pollingReader{data: pattern(300_000), step: 10_000, poll: func(sent, _ int) {
			most := 128 << 10
			if sent >= most {
				most = sent + 256<<10
			}
			if lent := p.Counts().Lent; lent > int64(most) {
				t.Fatalf("%d bytes lent with %d sent", lent, sent)
			}
		}}
		if got, err := c.ReadN(r, n); got != 300_000 || err != io.ErrUnexpectedEOF {
			t.Error(got, err)
		}
		c.Discard(c.Len())
		r.sent = 0
		if got, err := c.ReadFrom(&io.LimitedReader{R: r, N: n}); got != 300_000 || err != nil {
			t.Error(got, err)
		}
		if got, err := c.ReadN(strings.NewReader(""), n); got != 0 || err != io.EOF {
			t.Error(got, err)
		}
		c.Discard(c.Len())
	}
	if n, err := c.ReadN(nil, 0); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := c.ReadN(nil, -5); n != 0 || !errors.Is(err, bufpool.ErrNegativeLength) || !strings.Contains(err.Error(), "-5") {
		t.Error(n, err)
	}
	if c := p.Counts(); c.Lent != 0 {
		t.Errorf("an empty Chain holds %d bytes", c.Lent)
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

// So does a reader that stalls, of which no length is known.
func TestChainReadFromTakesWhatArrived(t *testing.T) {
	p := newBalanced(t)
	for _, step := range []int{100, 1000, 1 << 20} {
		c := bufpool.NewChain(p, 0)
		r := &pollingReader{data: pattern(300_000), step: step}
		r.poll = func(sent, room int) {
			if lent := p.Counts().Lent; lent > int64(max(1024, 4*sent)) {
				t.Fatalf("%d bytes lent with %d sent", lent, sent)
			}
			if room < 512 {
				t.Fatalf("room for %d bytes", room)
			}
		}
		if n, err := c.ReadFrom(r); n != 300_000 || err != nil {
			t.Error(n, err)
		}
		c.Release()
	}
	pooltest.MustBalance(t, p)
}

func TestChainReadFromAnErraticReader(t *testing.T) {
	p := newBalanced(t)
	data := pattern(100_000)
	for name, r := range readers {
		c := bufpool.NewChain(p, 0)
		n, err := c.ReadFrom(r(bytes.NewReader(data)))
		_, wantErr := new(bytes.Buffer).ReadFrom(r(bytes.NewReader(data)))
		// How much came before an error depends, of some, on what was asked for.
		if n < 1 || err == nil && n < int64(len(data)) || fmt.Sprint(err) != fmt.Sprint(wantErr) || content(t, &c) != string(data[:n]) {
			t.Errorf("%s: %d, %v, want %v", name, n, err, wantErr)
		}
		c.Release()
	}
	c := bufpool.NewChain(p, 0)
	for _, read := range []func(io.Reader) (int64, error){
		c.ReadFrom, func(r io.Reader) (int64, error) { return c.ReadN(r, 10) },
	} {
		if n, err := read(iotest.ErrReader(nil)); n != 0 || err != io.ErrNoProgress {
			t.Error(n, err)
		}
		pooltest.MustPanic(t, "broken", func() { read(&scripted{end: endPanic}) })
		if lent := p.Counts().Lent; lent != 0 {
			t.Errorf("%d bytes lent after a panic", lent)
		}
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

// A pool that fails leaves what there was.
func TestChainOverAPoolThatPanics(t *testing.T) {
	p := newBalanced(t)
	c := bufpool.NewChain(failing{p}, 10_000)
	c.WriteString("kept")
	c.Write(make([]byte, 1020))
	for _, f := range []func(){
		func() { c.Write(make([]byte, 5000)) },
		func() { c.ReadN(bytes.NewReader(make([]byte, 5000)), 5000) },
	} {
		pooltest.MustPanic(t, "failing", f)
		if got := content(t, &c); got != "kept"+string(make([]byte, 1020)) {
			t.Error(len(got))
		}
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

func TestChainBoundsPanic(t *testing.T) {
	p := newBalanced(t)
	c := inChunks(p, pattern(100), 30)
	for want, f := range map[string]func(){
		"bufpool: Slice [-1:5] of 100 bytes":   func() { c.Slice(-1, 5) },
		"bufpool: Slice [6:5] of 100 bytes":    func() { c.Slice(6, 5) },
		"bufpool: Slice [50:101] of 100 bytes": func() { c.Slice(50, 101) },
		"bufpool: Split at -1 of 100 bytes":    func() { c.Split(-1) },
		"bufpool: Split at 101 of 100 bytes":   func() { c.Split(101) },
		"bufpool: negative length -1":          func() { c.Discard(-1) },
		"bufpool: negative length -2":          func() { c.Peek(-2) },
		"bufpool: negative limit -3":           func() { c.SetReadLimit(-3) },
	} {
		pooltest.MustPanic(t, want, f)
	}
	if got := content(t, &c); got != string(pattern(100)) {
		t.Error("contents differ")
	}
	c.Release()
	pooltest.MustBalance(t, p)
}

// A queue that never empties has as many links as chunks, and no more.
func TestAChainThatNeverEnds(t *testing.T) {
	p := balance.New(bufpool.Must(bufpool.NewSized(1000)))
	c := bufpool.NewChain(p, 1000)
	c.Write(make([]byte, 10_000))
	heap := pooltest.Heap()
	for range 200_000 {
		c.Write(make([]byte, 100))
		c.Discard(100)
	}
	if grown := pooltest.Heap() - heap; grown > 100_000 {
		t.Errorf("grown by %d bytes", grown)
	}
	// Parts of parts, each released when the next is there.
	for range 100_000 {
		next := c.Slice(0, c.Len())
		c.Release()
		c = next
	}
	if grown := pooltest.Heap() - heap; grown > 100_000 {
		t.Errorf("grown by %d bytes", grown)
	}
	c.Release()
	pooltest.MustBalance(t, p)
}
