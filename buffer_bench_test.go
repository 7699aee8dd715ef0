package bufpool_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httputil"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/turns"
)

// steps returns random lengths whose sum is size.
func steps(size, most int) []int {
	rnd := rand.New(rand.NewPCG(11, 12))
	var all []int
	for size > 0 {
		n := min(1+rnd.IntN(most), size)
		all = append(all, n)
		size -= n
	}
	return all
}

// BenchmarkBuffer compares filling a Buffer in random steps with filling a
// bytes.Buffer: one that is reused and has all the room it needs, with Grow called
// first; and a new one each time, without.
//
//	go test -run '^$' -bench Buffer -benchtime 30x
func BenchmarkBuffer(b *testing.B) {
	for _, size := range []int{1, 200, 4096, 64 << 10, 1 << 20} {
		for _, most := range []int{16, 1024} {
			b.Run(fmt.Sprintf("op=append/size=%d/steps=%d", size, most), func(b *testing.B) {
				all, data := steps(size, most), make([]byte, most)
				samples(b, func(r turns.Ratios) {
					var p bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
					ours, theirs := bufpool.NewBuffer(p, 0), new(bytes.Buffer)
					took := turns.Run(10, max(3, 300_000/(size+1000)),
						func(times int) {
							for range times {
								ours.Grow(size)
								fillBuffer(ours, all, data)
								ours.Reset()
							}
							ours.Release()
						},
						func(times int) {
							for range times {
								theirs.Grow(size)
								fillBytesBuffer(theirs, all, data)
								theirs.Reset()
							}
						},
						func(times int) {
							for range times {
								fillBuffer(ours, all, data)
								ours.Release()
							}
						},
						func(times int) {
							for range times {
								fresh := new(bytes.Buffer)
								fillBytesBuffer(fresh, all, data)
							}
						})
					r.Add("grown/reused", took[0], took[1])
					r.Add("new/fresh", took[2], took[3])
				})
			})
		}
	}
}

//go:noinline
func fillBuffer(b *bufpool.Buffer, steps []int, data []byte) {
	for _, n := range steps {
		b.Write(data[:n])
	}
}

//go:noinline
func fillBytesBuffer(b *bytes.Buffer, steps []int, data []byte) {
	for _, n := range steps {
		b.Write(data[:n])
	}
}

// BenchmarkRelay compares ways to move a message of 10 MiB from one socket to another:
// by a Chain, by one buffer of the pool, and by ReadN.
//
//	go test -run '^$' -bench Relay -benchtime 20x
func BenchmarkRelay(b *testing.B) {
	const size = 10 << 20
	for _, network := range []string{"tcp", "unix"} {
		for _, chunk := range []int{16 << 10, 64 << 10, 128 << 10, 0, 512 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("op=relay/network=%s/chunk=%d", network, chunk), func(b *testing.B) {
				ends := newRelay(b, network, size)
				in, out := ends.in, ends.out
				relay := func(f func()) func(int) {
					return func(times int) {
						for range times {
							ends.next <- true
							f()
							<-ends.drained
						}
					}
				}
				var p bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 16<<20)))
				samples(b, func(r turns.Ratios) {
					took := turns.Run(5, 3,
						relay(func() {
							c := bufpool.NewChain(p, chunk)
							c.ReadN(in, size)
							c.WriteTo(out)
							c.Release()
						}),
						relay(func() {
							buf := p.Get(size)
							io.ReadFull(in, *buf)
							out.Write(*buf)
							p.Put(buf)
						}),
						relay(func() {
							buf, _ := bufpool.ReadN(p, in, size, 0)
							out.Write(*buf)
							p.Put(buf)
						}))
					r.Add("throughput/one", took[1], took[0])
					r.Add("throughput/ReadN", took[2], took[0])
				})
			})
		}
	}
}

// boxed is the slice pool of many a proxy.
type boxed struct {
	pool sync.Pool
	size int
}

func (s *boxed) Get() []byte {
	if b, ok := s.pool.Get().([]byte); ok {
		return b
	}
	return make([]byte, s.size)
}

func (s *boxed) Put(b []byte) {
	//lint:ignore SA6002 the allocation is what is compared
	s.pool.Put(b)
}

// BenchmarkSlices compares Slices with a sync.Pool of plain slices, whose headers are
// allocated on each Put, and with Get and Put of the pool itself.
//
//	go test -run '^$' -bench Slices -benchtime 30x
func BenchmarkSlices(b *testing.B) {
	const size = 32 << 10
	samples(b, func(r turns.Ratios) {
		binary := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
		var p bufpool.BufferPool = binary
		pools := []httputil.BufferPool{
			bufpool.NewSlices(p, size), bufpool.NewSlices(struct{ bufpool.BufferPool }{binary}, size), &boxed{size: size},
		}
		fs := []func(int){func(times int) { getPut(p, size, times) }}
		for _, s := range pools {
			fs = append(fs, func(times int) {
				for range times {
					s.Put(s.Get())
				}
			})
		}
		took := turns.Run(10, 2000, fs...)
		r.Add("own/pool", took[1], took[0])
		r.Add("any/pool", took[2], took[0])
		r.Add("boxed/pool", took[3], took[0])
	})
}
