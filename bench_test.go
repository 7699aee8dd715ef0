package bufpool_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
	"github.com/bufpool/bufpool/internal/turns"
)

// W is what an interface around one sync.Pool costs at the least: our two
// methods and no routing. With the bare sync.Pool it is the yardstick of every
// row.
type W struct{ sync.Pool }

func (w *W) Get(length int) *[]byte {
	b := w.Pool.Get().(*[]byte)
	*b = (*b)[:length]
	return b
}

func (w *W) Put(b *[]byte) { w.Pool.Put(b) }

var sevenSizes = []int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 5 << 20, 10 << 20}

// contender is a pool in a benchmark. It is read from a table of interfaces, so
// that no call is devirtualised.
type contender struct {
	name string
	new  func(size int, opts ...bufpool.Option) bufpool.BufferPool
}

var contenders = []contender{
	{"W", func(size int, _ ...bufpool.Option) bufpool.BufferPool {
		return &W{sync.Pool{New: func() any { b := make([]byte, size); return &b }}}
	}},
	{"binary", func(_ int, opts ...bufpool.Option) bufpool.BufferPool {
		return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 16<<20), opts...))
	}},
	{"stepped", func(_ int, opts ...bufpool.Option) bufpool.BufferPool {
		return bufpool.Must(bufpool.NewStepped(32, 16<<20, 4, opts...))
	}},
	{"local", func(_ int, opts ...bufpool.Option) bufpool.BufferPool {
		binary := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 16<<20), opts...))
		return bufpool.NewLocal(binary, 64<<20)
	}},
	{"switch", func(_ int, opts ...bufpool.Option) bufpool.BufferPool {
		return bufpool.Must(bufpool.NewSwitch(opts...))
	}},
	{"tiered", func(_ int, opts ...bufpool.Option) bufpool.BufferPool {
		return bufpool.Must(bufpool.NewTiered(sevenSizes, opts...))
	}},
	{"sized", func(size int, opts ...bufpool.Option) bufpool.BufferPool {
		return bufpool.Must(bufpool.NewSized(size, opts...))
	}},
}

//go:noinline
func getPut(p bufpool.BufferPool, size, times int) {
	for range times {
		p.Put(p.Get(size))
	}
}

//go:noinline
func getPutBare(p *sync.Pool, times int) {
	for range times {
		p.Put(p.Get().(*[]byte))
	}
}

func newBare(size int) *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
}

// samples calls sample for each iteration, with the heap clean and collections
// off, and reports the medians of what it adds.
func samples(b *testing.B, sample func(turns.Ratios)) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	ratios := turns.Ratios{}
	for b.Loop() {
		runtime.GC()
		sample(ratios)
	}
	ratios.Report(b.ReportMetric)
}

// BenchmarkRatio compares Get+Put with a bare sync.Pool and with W. Each
// iteration is one sample: all pools are built anew, for where their memory
// happens to lie is worth a tenth, and take turns in short slices of time.
//
//	go test -run '^$' -bench Ratio -benchtime 30x
func BenchmarkRatio(b *testing.B) {
	for _, size := range []int{200, 4096, 33_000, 1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("op=getput/size=%d", size), func(b *testing.B) {
			samples(b, func(r turns.Ratios) {
				bare := newBare(size)
				fs := []func(int){func(times int) { getPutBare(bare, times) }}
				for _, c := range contenders {
					p := c.new(size)
					fs = append(fs, func(times int) { getPut(p, size, times) })
				}
				took := turns.Run(10, 2000, fs...)
				for i, c := range contenders {
					r.Add(c.name+"/bare", took[i+1], took[0])
					r.Add(c.name+"/W", took[i+1], took[1])
				}
			})
		})
	}
}

// BenchmarkHold compares pools from which several buffers are held at once: all
// are taken, then all are put back in the order in which they were taken.
//
//	go test -run '^$' -bench Hold -benchtime 30x
func BenchmarkHold(b *testing.B) {
	for _, size := range []int{200, 4096, 33_000, 1 << 20} {
		for _, n := range []int{2, 4, 16} {
			b.Run(fmt.Sprintf("op=hold/held=%d/size=%d", n, size), func(b *testing.B) {
				samples(b, func(r turns.Ratios) {
					held := make([]*[]byte, n)
					var fs []func(int)
					for _, c := range contenders {
						p := c.new(size)
						fs = append(fs, func(times int) { hold(p, size, held, times) })
					}
					took := turns.Run(10, max(50, 1000/n), fs...)
					for i, c := range contenders {
						r.Add(c.name+"/W", took[i], took[0])
						r.Add(c.name+"/binary", took[i], took[1])
					}
				})
			})
		}
	}
}

//go:noinline
func hold(p bufpool.BufferPool, size int, held []*[]byte, times int) {
	for range times {
		for i := range held {
			held[i] = p.Get(size)
		}
		for _, b := range held {
			p.Put(b)
		}
	}
}

// BenchmarkFlat compares a pool with itself: its largest tier with its smallest,
// and BinaryTiered of 30 tiers with one of 3.
//
//	go test -run '^$' -bench Flat -benchtime 30x
func BenchmarkFlat(b *testing.B) {
	for _, c := range contenders[1:6] {
		b.Run("op=getput/tier=largest/vs=smallest/pool="+c.name, func(b *testing.B) {
			samples(b, func(r turns.Ratios) {
				p := c.new(0)
				sizes := p.(statser).Sizes()
				took := turns.Run(20, 2000,
					func(times int) { getPut(p, sizes[len(sizes)-1], times) },
					func(times int) { getPut(p, sizes[0], times) })
				r.Add("ratio", took[0], took[1])
			})
		})
	}
	for _, tiers := range []int{10, 30} {
		b.Run(fmt.Sprintf("op=getput/tiers=%d/vs=3/pool=binary", tiers), func(b *testing.B) {
			samples(b, func(r turns.Ratios) {
				many := bufpool.Exponents(1<<max(0, 20-tiers/2), 1<<29)[:tiers]
				var fs []func(int)
				for _, exponents := range [][]uint8{many, {8, 12, 20}} {
					var p bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(exponents))
					fs = append(fs, func(times int) { getPut(p, 1<<20, times) })
				}
				took := turns.Run(20, 2000, fs...)
				r.Add("ratio", took[0], took[1])
			})
		})
	}
}

// BenchmarkLookup compares the search for a tier alone, one for Get and one for
// Put at each size below 1<<19: a table with a scan of the same tiers, and Stepped
// with BinaryTiered from 256 B to 8 MiB.
//
//	go test -run '^$' -bench Lookup -benchtime 30x
func BenchmarkLookup(b *testing.B) {
	for _, exponents := range [][]uint8{
		{8, 12, 14, 15, 20}, // gRPC's defaults
		{8, 10, 12, 14, 15, 16, 17, 18, 20},
	} {
		b.Run(fmt.Sprintf("op=lookup/tiers=%d/pool=binary/vs=tiered", len(exponents)), func(b *testing.B) {
			binary := bufpool.Must(bufpool.NewBinaryTiered(exponents))
			tiered := bufpool.Must(bufpool.NewTiered(binary.Sizes()))
			compareLookups(b, binary.LookupAll, tiered.LookupAll)
		})
	}
	binary := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	for _, steps := range []int{4, 8} {
		b.Run(fmt.Sprintf("op=lookup/steps=%d/pool=stepped/vs=binary", steps), func(b *testing.B) {
			stepped := bufpool.Must(bufpool.NewStepped(256, 8<<20, steps))
			compareLookups(b, stepped.LookupAll, binary.LookupAll)
		})
	}
}

func compareLookups(b *testing.B, one, other func(sizes int) (found int)) {
	samples(b, func(r turns.Ratios) {
		const sizes = 1 << 19
		took := turns.Run(1, sizes, func(times int) { one(times) }, func(times int) { other(times) })
		r.Add("ratio", took[0], took[1])
		r.Add("one-ns", took[0], sizes*time.Nanosecond)
		r.Add("other-ns", took[1], sizes*time.Nanosecond)
	})
}

// BenchmarkHeld reports the heap that buffers for 200 bytes take, one held by
// each of so many goroutines, which are started and parked first.
func BenchmarkHeld(b *testing.B) {
	for _, c := range []contender{
		{"default", func(int, ...bufpool.Option) bufpool.BufferPool {
			return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
		}},
		{"switch", func(int, ...bufpool.Option) bufpool.BufferPool { return new(bufpool.Switch) }},
		{"one-mebibyte", func(int, ...bufpool.Option) bufpool.BufferPool {
			return bufpool.Must(bufpool.NewTiered([]int{1 << 20, 5 << 20, 10 << 20}))
		}},
	} {
		for _, goroutines := range []int{8, 64, 256} {
			b.Run(fmt.Sprintf("op=hold/size=200/goroutines=%d/pool=%s", goroutines, c.name), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(8, runtime.GOMAXPROCS(0))))
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				var grown float64
				for b.Loop() {
					grown = max(grown, float64(held(c.new(0), goroutines)))
				}
				b.ReportMetric(grown/1e6, "MB")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// held returns by how much the heap grows with the Gets alone.
func held(p bufpool.BufferPool, goroutines int) int64 {
	var ready, got, done sync.WaitGroup
	start, finish := make(chan struct{}), make(chan struct{})
	ready.Add(goroutines)
	got.Add(goroutines)
	for range goroutines {
		done.Go(func() {
			ready.Done()
			<-start
			b := p.Get(200)
			got.Done()
			<-finish
			p.Put(b)
		})
	}
	ready.Wait()
	runtime.GC()
	before := pooltest.HeapNow()
	close(start)
	got.Wait()
	grown := pooltest.HeapNow() - before
	close(finish)
	done.Wait()
	return grown
}

// BenchmarkGetPut has the plain figures, for benchstat: a bare sync.Pool and a
// make beside our pools, clearing ones too.
//
//	go test -run '^$' -bench GetPut -count 10 | benchstat -col /pool -
func BenchmarkGetPut(b *testing.B) {
	sizes := []int{8, 64, 512, 4096, 33_000, 1 << 20}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("op=getput/size=%d/clear=never/pool=bare", size), func(b *testing.B) {
			p := newBare(size)
			b.ReportAllocs()
			for b.Loop() {
				p.Put(p.Get().(*[]byte))
			}
		})
		b.Run(fmt.Sprintf("op=getput/size=%d/clear=never/pool=make", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := make([]byte, size)
				sink = &s
			}
		})
	}
	for _, size := range sizes { // without a header of its own
		b.Run(fmt.Sprintf("op=getput/size=%d/clear=never/pool=slice", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkSlice = make([]byte, size)
			}
		})
	}
	for _, mode := range []struct {
		name string
		opt  bufpool.Option
	}{
		{"never", bufpool.WithClear(bufpool.ClearNever)},
		{"get", bufpool.WithClear(bufpool.ClearOnGet)},
		{"put", bufpool.WithClear(bufpool.ClearOnPut)},
	} {
		for _, size := range sizes {
			for _, c := range contenders {
				if c.name == "W" && mode.name != "never" {
					continue
				}
				b.Run(fmt.Sprintf("op=getput/size=%d/clear=%s/pool=%s", size, mode.name, c.name), func(b *testing.B) {
					p := c.new(size, mode.opt)
					b.ReportAllocs()
					for b.Loop() {
						p.Put(p.Get(size))
					}
				})
			}
		}
	}
}

// BenchmarkClear shows what clearing costs goes by: nothing without it, the
// length asked for on Get, the capacity put back on Put.
func BenchmarkClear(b *testing.B) {
	for _, mode := range []bufpool.Clear{bufpool.ClearNever, bufpool.ClearOnGet, bufpool.ClearOnPut} {
		for _, tier := range []int{256, 64 << 10, 8 << 20} {
			b.Run(fmt.Sprintf("op=getput/size=20/tier=%d/clear=%v", tier, mode), func(b *testing.B) {
				var p bufpool.BufferPool = bufpool.Must(bufpool.NewSized(tier, bufpool.WithClear(mode)))
				for b.Loop() {
					p.Put(p.Get(20))
				}
			})
		}
	}
}

// BenchmarkParallel shows what more processors cost.
//
//	go test -run '^$' -bench Parallel -cpu 1,2,4,8
func BenchmarkParallel(b *testing.B) {
	for _, c := range contenders {
		b.Run("op=getput/size=4096/pool="+c.name, func(b *testing.B) {
			p := c.new(4096)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					p.Put(p.Get(4096))
				}
			})
		})
	}
}

// BenchmarkMiss compares a Get that has to allocate with the make in it.
func BenchmarkMiss(b *testing.B) {
	for _, size := range []int{256, 4096, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("op=miss/size=%d", size), func(b *testing.B) {
			ratios := turns.Ratios{}
			var p bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
			for b.Loop() {
				took := turns.Run(10, max(10, (4<<20)/size), func(times int) {
					for range times {
						sink = p.Get(size)
					}
				}, func(times int) {
					for range times {
						s := make([]byte, size)
						sink = &s
					}
				})
				ratios.Add("miss/make", took[0], took[1])
			}
			ratios.Report(b.ReportMetric)
		})
	}
}

var (
	sink      *[]byte
	sinkSlice []byte
)
