package check_test

import (
	"fmt"
	"testing"

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

// modes are read from a table of interfaces, so that no call is devirtualised.
var modes = []struct {
	name string
	new  func() bufpool.BufferPool
}{
	{"unchecked", parent},
	{"wrapper", func() bufpool.BufferPool { return &wrapper{parent()} }},
	{"off", checked(check.WithSample(0))},
	{"wasOn", func() bufpool.BufferPool {
		p := bufpool.Must(check.New(parent()))
		for range 1000 {
			p.Put(p.Get(4096))
		}
		if err := p.SetSample(0); err != nil {
			panic(err)
		}
		return p
	}},
	{"sample1000", checked(check.WithSample(1000))},
	{"sample100", checked(check.WithSample(100))},
	{"full", checked()},
	{"fullNoQuarantine", checked(check.WithQuarantine(0))},
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
func BenchmarkRatio(b *testing.B) {
	for _, size := range []int{200, 4096, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			var fs []func(int)
			for _, mode := range modes[:6] {
				p := mode.new()
				fs = append(fs, func(times int) {
					for range times {
						p.Put(p.Get(size))
					}
				})
			}
			ratios := turns.Ratios{}
			for b.Loop() {
				took := turns.Run(1, 20_000, fs...)
				for i, mode := range modes[1:6] {
					ratios.Add(mode.name+"/unchecked", took[i+1], took[0])
				}
			}
			ratios.Report(b.ReportMetric)
		})
	}
}
