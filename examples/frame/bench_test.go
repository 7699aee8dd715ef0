package frame_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
	"github.com/bufpool/bufpool/internal/pooltest"
	"github.com/bufpool/bufpool/internal/turns"
)

var benchSizes = []int{200, 1024, 64 << 10, 1_000_000}

// copying does what a codec without headroom does, even one that reuses all of
// its buffers: the body is read into a pooled buffer and copied into the frame's
// own payload; header and payload are copied into one pooled buffer to be written
// at once.
type copying struct {
	rw      io.ReadWriter
	pool    bufpool.BufferPool
	header  [12]byte
	payload []byte
}

func (c *copying) receive() error {
	if _, err := io.ReadFull(c.rw, c.header[:]); err != nil {
		return err
	}
	if crc32.ChecksumIEEE(c.header[:6]) != binary.LittleEndian.Uint32(c.header[6:]) {
		return frame.ErrChecksum
	}
	b := c.pool.Get(int(binary.LittleEndian.Uint32(c.header[2:])))
	defer c.pool.Put(b)
	if _, err := io.ReadFull(c.rw, *b); err != nil {
		return err
	}
	c.payload = append(c.payload[:0], *b...)
	return nil
}

func (c *copying) send() error {
	c.header[0] = 3
	binary.LittleEndian.PutUint32(c.header[2:], uint32(len(c.payload)))
	binary.LittleEndian.PutUint32(c.header[6:], crc32.ChecksumIEEE(c.header[:6]))
	b := c.pool.Get(len(c.header) + len(c.payload))
	defer c.pool.Put(b)
	copy((*b)[copy(*b, c.header[:]):], c.payload)
	_, err := c.rw.Write(*b)
	return err
}

// BenchmarkCodec compares the frame with a codec that copies, in memory. Each
// iteration is one sample, in which all take turns.
//
//	go test -run '^$' -bench Codec -benchtime 30x ./examples/frame
func BenchmarkCodec(b *testing.B) {
	for _, size := range benchSizes {
		payload := make([]byte, size)
		pool := bufpool.Default()
		wire := append(header(uint32(size)), payload...)
		times := max(10, 20_000_000/(size+20_000))

		b.Run(fmt.Sprintf("op=receive/size=%d", size), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			ratios := turns.Ratios{}
			receive := func(c *frame.Conn, r *bytes.Reader, f *frame.Frame) func(int) {
				return func(times int) {
					for range times {
						r.Reset(wire)
						if err := c.Receive(f); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			for b.Loop() {
				runtime.GC()
				var r bytes.Reader
				c := frame.NewConn(rw{r: &r})
				plain, keeping := frame.New(), frame.New(frame.WithKeep(8192))
				base := copying{rw: rw{r: &r}, pool: pool}
				took := turns.Run(10, times,
					func(times int) {
						for range times {
							r.Reset(wire)
							if err := base.receive(); err != nil {
								b.Fatal(err)
							}
						}
					},
					receive(c, &r, plain),
					receive(c, &r, keeping))
				ratios.Add("frame/copying", took[1], took[0])
				ratios.Add("keep8192/copying", took[2], took[0])
				plain.Release()
				keeping.Release()
			}
			ratios.Report(b.ReportMetric)
		})

		b.Run(fmt.Sprintf("op=send/size=%d", size), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			ratios := turns.Ratios{}
			for b.Loop() {
				runtime.GC()
				c := frame.NewConn(rw{w: io.Discard})
				f, again := frame.New(), frame.New()
				f.WritePayload(payload)
				base := copying{rw: rw{w: io.Discard}, pool: pool, payload: payload}
				took := turns.Run(10, times,
					func(times int) {
						for range times {
							if err := base.send(); err != nil {
								b.Fatal(err)
							}
						}
					},
					func(times int) {
						for range times {
							if err := c.Send(f); err != nil {
								b.Fatal(err)
							}
						}
					},
					func(times int) {
						for range times {
							again.Reset()
							again.WritePayload(payload)
							if err := c.Send(again); err != nil {
								b.Fatal(err)
							}
						}
					})
				ratios.Add("frame/copying", took[1], took[0])
				ratios.Add("write+frame/copying", took[2], took[0])
				f.Release()
				again.Release()
			}
			ratios.Report(b.ReportMetric)
		})
	}
}

// BenchmarkFrame has the plain figures and the allocations.
func BenchmarkFrame(b *testing.B) {
	for _, size := range append(benchSizes, 8<<20-frame.Headroom) {
		wire := append(header(uint32(size)), make([]byte, size)...)
		b.Run(fmt.Sprintf("op=receive/size=%d", size), func(b *testing.B) {
			var r bytes.Reader
			c, f := frame.NewConn(rw{r: &r}), frame.New()
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				r.Reset(wire)
				if err := c.Receive(f); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("op=send/size=%d", size), func(b *testing.B) {
			c, f := frame.NewConn(rw{w: io.Discard}), frame.New()
			f.AllocPayload(size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := c.Send(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEcho sends a frame over a real connection and receives it back. Below
// 1 KiB the system calls are nearly all of it.
func BenchmarkEcho(b *testing.B) {
	for _, network := range []string{"tcp", "unix"} {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("op=echo/network=%s/size=%d", network, size), func(b *testing.B) {
				addr := "127.0.0.1:0"
				if network == "unix" {
					addr = filepath.Join(b.TempDir(), "s")
				}
				l, err := net.Listen(network, addr)
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				var served sync.WaitGroup
				served.Go(func() {
					rw, err := l.Accept()
					if err != nil {
						b.Error(err)
						return
					}
					c, f := frame.NewConn(rw), frame.New()
					defer c.Close()
					for c.Receive(f) == nil && c.Send(f) == nil {
					}
				})
				rw, err := net.Dial(network, l.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				c, f := frame.NewConn(rw), frame.New()
				b.ReportAllocs()
				b.SetBytes(2 * int64(size))
				for b.Loop() {
					f.AllocPayload(size)
					if err := c.Send(f); err != nil {
						b.Fatal(err)
					}
					if err := c.Receive(f); err != nil {
						b.Fatal(err)
					}
				}
				f.Release()
				c.Close()
				served.Wait()
			})
		}
	}
}

// BenchmarkHeld reports the heap that 64 concurrent receives of 200-byte frames
// take; connections, frames and goroutines are set up first.
func BenchmarkHeld(b *testing.B) {
	const conns = 64
	wire := append(header(200), make([]byte, 200)...)
	b.Run(fmt.Sprintf("op=receive/size=200/conns=%d", conns), func(b *testing.B) {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		var grown int64
		for b.Loop() {
			pool := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
			var ready, received, done sync.WaitGroup
			start, finish := make(chan struct{}), make(chan struct{})
			ready.Add(conns)
			received.Add(conns)
			for range conns {
				done.Go(func() {
					c, f := frame.NewConn(rw{r: bytes.NewReader(wire)}, frame.WithBufferPool(pool)), frame.New()
					ready.Done()
					<-start
					if err := c.Receive(f); err != nil {
						b.Error(err)
					}
					received.Done()
					<-finish
					f.Release()
				})
			}
			ready.Wait()
			runtime.GC()
			before := pooltest.HeapNow()
			close(start)
			received.Wait()
			grown = max(grown, pooltest.HeapNow()-before)
			close(finish)
			done.Wait()
		}
		b.ReportMetric(float64(grown)/1e6, "MB")
		b.ReportMetric(0, "ns/op")
	})
}
