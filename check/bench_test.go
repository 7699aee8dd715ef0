package check_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/turns"
)

// wrapper does what the least of all wrappers does: it calls its parent.
type wrapper struct{ bufpool.BufferPool }

func (w *wrapper) Get(length int) *[]byte { return w.BufferPool.Get(length) }
func (w *wrapper) Put(b *[]byte)          { w.BufferPool.Put(b) }

func parent() bufpool.BufferPool {
	return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
}

func checked(opts ...check.Option) func() bufpool.BufferPool {
	return func() bufpool.BufferPool { return bufpool.Must(check.New(parent(), opts...)) }
}

// modes are read from a table of interfaces, so that no call is devirtualised. share
// is how many operations a turn has, as a share of the unchecked pool's.
var modes = []struct {
	name  string
	share int
	new   func() bufpool.BufferPool
}{
	{"unchecked", 1, parent},
	{"wrapper", 1, func() bufpool.BufferPool { return &wrapper{parent()} }},
	{"off", 1, checked(check.WithSample(0))},
	{"wasOn", 1, func() bufpool.BufferPool {
		p := bufpool.Must(check.New(parent()))
		for range 1000 {
			p.Put(p.Get(4096))
		}
		if err := p.SetSample(0); err != nil {
			panic(err)
		}
		return p
	}},
	{"sample1000", 1, checked(check.WithSample(1000), check.WithQuarantine(1<<20))},
	{"sample1000noProfile", 1, checked(check.WithSample(1000), check.WithQuarantine(1<<20), check.WithoutProfile())},
	{"sample10000", 1, checked(check.WithSample(10_000), check.WithQuarantine(1<<20))},
	{"full", 100, checked()},
	{"fullNoQuarantine", 100, checked(check.WithQuarantine(0))},
}

// BenchmarkGetPut is what one Get and Put cost in each mode.
func BenchmarkGetPut(b *testing.B) {
	for _, size := range []int{200, 4096, 1 << 20} {
		for _, mode := range modes {
			b.Run(fmt.Sprintf("op=getput/mode=%s/size=%d", mode.name, size), func(b *testing.B) {
				p := mode.new()
				b.ReportAllocs()
				for b.Loop() {
					p.Put(p.Get(size))
				}
			})
		}
	}
}

// BenchmarkRatio is what that is by the unchecked pool's, in turns.
//
//	go test -run '^$' -bench Ratio -benchtime 100x ./check
func BenchmarkRatio(b *testing.B) {
	for _, size := range []int{200, 4096, 1 << 20} {
		b.Run(fmt.Sprintf("op=getput/size=%d", size), func(b *testing.B) {
			var fs []func(int)
			for _, mode := range modes {
				p := mode.new()
				fs = append(fs, func(times int) {
					for range times / mode.share {
						p.Put(p.Get(size))
					}
				})
			}
			ratios := turns.Ratios{}
			for b.Loop() {
				took := turns.Run(1, 20_000, fs...)
				for i, mode := range modes {
					if i > 0 {
						ratios.Add(mode.name+"/unchecked", took[i]*time.Duration(mode.share), took[0])
					}
				}
			}
			ratios.Report(b.ReportMetric)
		})
	}
}
