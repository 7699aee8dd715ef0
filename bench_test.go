package bufpool_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bufpool/bufpool"
)

// W is what an interface around one sync.Pool costs at the least: our two
// methods and no routing. Together with the bare sync.Pool it is the yardstick
// of every row.
type W struct {
	pool sync.Pool
	size int
}

func (w *W) Get(length int) *[]byte {
	if b, _ := w.pool.Get().(*[]byte); b != nil {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, w.size)
	return &b
}

func (w *W) Put(b *[]byte) { w.pool.Put(b) }

// newMake allocates for each Get, as code without a pool does.
func newMake(int) bufpool.BufferPool { return bufpool.Nop{} }

var sevenSizes = []int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 5 << 20, 10 << 20}

// contender is a pool in a benchmark. It is held in an interface, and read from
// a table, so that no call is devirtualised.
type contender struct {
	name string
	new  func(size int) bufpool.BufferPool
}

var contenders = []contender{
	{"W", func(size int) bufpool.BufferPool { return &W{size: size} }},
	{"binary", func(int) bufpool.BufferPool {
		return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 16<<20)))
	}},
	{"switch", func(int) bufpool.BufferPool { return bufpool.Must(bufpool.NewSwitch()) }},
	{"tiered", func(int) bufpool.BufferPool { return bufpool.Must(bufpool.NewTiered(sevenSizes)) }},
	{"sized", func(size int) bufpool.BufferPool { return bufpool.Must(bufpool.NewSized(size)) }},
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

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// BenchmarkRatio compares Get+Put with a bare sync.Pool and with W. Each
// iteration is one sample: all pools are built anew, for where their memory
// happens to lie is worth a tenth, and take turns in short slices of time. The
// result is the median over the samples of time divided by time.
//
//	go test -run '^$' -bench Ratio -benchtime 30x
func BenchmarkRatio(b *testing.B) {
	const times, turns = 2000, 10
	for _, size := range []int{200, 4096, 33_000, 1 << 20, 10 << 20} {
		ratios := map[string][]float64{}
		b.Run(fmt.Sprintf("op=getput/size=%d", size), func(b *testing.B) {
			clear(ratios)
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			for b.Loop() {
				runtime.GC()
				bare := newBare(size)
				getPutBare(bare, 100)
				pools := make([]bufpool.BufferPool, len(contenders))
				for i, c := range contenders {
					pools[i] = c.new(size)
					getPut(pools[i], size, 100)
				}
				var bareTime time.Duration
				took := make([]time.Duration, len(contenders))
				for range turns {
					start := time.Now()
					getPutBare(bare, times)
					bareTime += time.Since(start)
					for i, p := range pools {
						start = time.Now()
						getPut(p, size, times)
						took[i] += time.Since(start)
					}
				}
				for i, c := range contenders {
					ratios[c.name+"/bare"] = append(ratios[c.name+"/bare"], float64(took[i])/float64(bareTime))
					ratios[c.name+"/W"] = append(ratios[c.name+"/W"], float64(took[i])/float64(took[0]))
				}
				ratios["bare-ns"] = append(ratios["bare-ns"], float64(bareTime)/times/turns)
			}
			for name, r := range ratios {
				b.ReportMetric(median(r), name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// race times the functions in turns, each turn doing times operations, and
// returns what each took in all.
func race(turns, times int, fs ...func(times int)) []time.Duration {
	took := make([]time.Duration, len(fs))
	for _, f := range fs {
		f(times / 10)
	}
	for range turns {
		for i, f := range fs {
			start := time.Now()
			f(times)
			took[i] += time.Since(start)
		}
	}
	return took
}

// BenchmarkFlat compares a pool with itself: its largest tier with its
// smallest, and BinaryTiered of 30 tiers with one of 3. Samples as in
// BenchmarkRatio.
//
//	go test -run '^$' -bench Flat -benchtime 30x
func BenchmarkFlat(b *testing.B) {
	exponents := func(e ...uint8) func() bufpool.BufferPool {
		return func() bufpool.BufferPool { return bufpool.Must(bufpool.NewBinaryTiered(e)) }
	}
	binary := exponents(bufpool.Exponents(256, 8<<20)...)
	few, many := exponents(8, 12, 20), exponents(bufpool.Exponents(1, 1<<29)...)
	for _, c := range []struct {
		name     string
		new, vs  func() bufpool.BufferPool
		size, to int
	}{
		{"pool=binary/tier=largest/vs=smallest", binary, binary, 8 << 20, 256},
		{"pool=switch/tier=largest/vs=smallest", contenders[2].pool, contenders[2].pool, 10 << 20, 4 << 10},
		{"pool=tiered/tier=largest/vs=smallest", contenders[3].pool, contenders[3].pool, 10 << 20, 4 << 10},
		{"pool=binary/tiers=30/vs=3", many, few, 1 << 20, 1 << 20},
	} {
		b.Run("op=getput/"+c.name, func(b *testing.B) {
			var ratios []float64
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			for b.Loop() {
				runtime.GC()
				p, q := c.new(), c.vs()
				if strings.Contains(c.name, "tier=") {
					q = p
				}
				took := race(20, 2000,
					func(times int) { getPut(p, c.size, times) },
					func(times int) { getPut(q, c.to, times) })
				ratios = append(ratios, float64(took[0])/float64(took[1]))
			}
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func (c contender) pool() bufpool.BufferPool { return c.new(4096) }

// BenchmarkLookup compares the search for a tier alone, one for Get and one for
// Put at each size below 1<<19, in pools of the same tiers.
//
//	go test -run '^$' -bench Lookup -benchtime 30x
func BenchmarkLookup(b *testing.B) {
	const sizes = 1 << 19
	for _, exponents := range [][]uint8{
		{8, 12, 14, 15, 20}, // gRPC's defaults
		{8, 10, 12, 14, 15, 16, 17, 18, 20},
	} {
		b.Run(fmt.Sprintf("op=lookup/pool=binary/vs=tiered/tiers=%d", len(exponents)), func(b *testing.B) {
			binary := bufpool.Must(bufpool.NewBinaryTiered(exponents))
			tiered := bufpool.Must(bufpool.NewTiered(binary.Sizes()))
			var ratios []float64
			var took []time.Duration
			found := 0
			for b.Loop() {
				took = race(1, sizes, func(times int) {
					for n := range times {
						if binary.LookupGet(n) {
							found++
						}
						if binary.LookupPut(n) {
							found++
						}
					}
				}, func(times int) {
					for n := range times {
						if tiered.LookupGet(n) {
							found++
						}
						if tiered.LookupPut(n) {
							found++
						}
					}
				})
				ratios = append(ratios, float64(took[0])/float64(took[1]))
			}
			b.ReportMetric(float64(took[0])/sizes, "binary-ns")
			b.ReportMetric(float64(took[1])/sizes, "tiered-ns")
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}
