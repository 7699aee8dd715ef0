// Package messages compares bufpool.Chain with gRPC's mem.BufferSlice.
package messages

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/turns"
)

// Both are on the same pool, which is ours: gRPC's own clears what it lends.
var pool bufpool.BufferPool = bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))

const (
	size  = 64 << 10
	chunk = 16 << 10
)

var content = bytes.Repeat([]byte("0123456789abcdef"), size/16)

// newChain and newSlice return a message of 64 KiB in four chunks.
func newChain() bufpool.Chain {
	c := bufpool.NewChain(pool, chunk)
	for at := 0; at < size; at += chunk {
		c.Write(content[at : at+chunk])
	}
	return c
}

func newSlice() (s mem.BufferSlice) {
	for at := 0; at < size; at += chunk {
		s = append(s, mem.Copy(content[at:at+chunk], pool))
	}
	return s
}

// operation does the same with either, so many times.
type operation struct {
	name        string
	chain, grpc func(times int)
}

func operations() []operation {
	small := []byte("ten bytes.")
	c, s := newChain(), newSlice()
	// Of other messages, for the parts that a message has out cost the others a little.
	c2, busy := newChain(), newChain()
	across := c2.Slice(chunk-8, size)
	held := busy.Slice(0, 1)
	_ = held
	var reader, peeked mem.Reader
	peeked.Reset(s)
	reader.Reset(s)
	reader.Discard(chunk - 8)
	var parts [][]byte
	out := make([]byte, 1000)
	var header [16]byte
	source := new(bytes.Reader)
	var plain io.Reader = struct{ io.Reader }{source} // a bytes.Reader would write itself

	return []operation{
		{"writes=100/bytes=10", func(times int) {
			for range times {
				c := bufpool.NewChain(pool, 0)
				for range 100 {
					c.Write(small)
				}
				c.Release()
			}
		}, func(times int) {
			for range times {
				var s mem.BufferSlice
				w := mem.NewWriter(&s, pool)
				for range 100 {
					w.Write(small)
				}
				s.Free()
			}
		}},
		{"write/bytes=10000", func(times int) {
			for range times {
				c := bufpool.NewChain(pool, 0)
				c.Write(content[:10_000])
				c.Release()
			}
		}, func(times int) {
			for range times {
				var s mem.BufferSlice
				w := mem.NewWriter(&s, pool)
				w.Write(content[:10_000])
				s.Free()
			}
		}},
		{"slice/of=one chunk", func(times int) {
			for range times {
				part := c.Slice(100, 1000)
				part.Release()
			}
		}, func(times int) {
			for range times {
				part := s[0].Slice(100, 1000)
				part.Free()
			}
		}},
		{"slice/of=one chunk/others=1", func(times int) {
			for range times {
				part := busy.Slice(100, 1000)
				part.Release()
			}
		}, func(times int) {
			for range times {
				part := s[0].Slice(100, 1000)
				part.Free()
			}
		}},
		{"slice/of=two chunks", func(times int) {
			for range times {
				part := c.Slice(chunk-1000, chunk+1000)
				part.Release()
			}
		}, func(times int) {
			for range times {
				part := mem.BufferSlice{s[0].Slice(chunk-1000, chunk), s[1].Slice(0, 1000)}
				part.Free()
			}
		}},
		{"slice/of=all", func(times int) {
			for range times {
				all := c.Slice(0, size)
				all.Release()
			}
		}, func(times int) {
			// A copy of the slice, as one needs who is to free it on his own.
			for range times {
				all := append(mem.BufferSlice(nil), s...)
				all.Ref()
				all.Free()
			}
		}},
		{"split/pieces=60", func(times int) {
			for range times {
				rest := c.Slice(0, size)
				for range 60 {
					piece := rest.Split(1000)
					piece.Release()
				}
				rest.Release()
			}
		}, func(times int) {
			for range times {
				i := 0
				// Not from 0 on: that would be s[0] itself, to be cut in two.
				rest := s[0].Slice(1, chunk)
				for range 60 {
					if rest.Len() < 1000 {
						rest.Free()
						i++
						rest = s[i].Slice(1, chunk)
					}
					var piece mem.Buffer
					piece, rest = mem.SplitUnsafe(rest, 1000)
					piece.Free()
				}
				rest.Free()
			}
		}},
		{"peek/bytes=16", func(times int) {
			for range times {
				header, _ := c.Peek(16)
				_ = header[15]
			}
		}, func(times int) {
			for range times {
				parts, _ = peeked.Peek(16, parts[:0])
				_ = parts[0][15]
			}
		}},
		{"peek/bytes=16/across=chunks", func(times int) {
			for range times {
				header, _ := across.Peek(16)
				_ = header[15]
			}
		}, func(times int) {
			for range times {
				parts, _ = reader.Peek(16, parts[:0])
				copy(header[copy(header[:], parts[0]):], parts[1]) // to have it in one
				_ = header[15]
			}
		}},
		{"peek/bytes=16/across=chunks/first=true", func(times int) {
			for range times {
				part := c.Slice(chunk-8, chunk+8)
				header, _ := part.Peek(16)
				_ = header[15]
				part.Release()
			}
		}, func(times int) {
			for range times {
				part := mem.BufferSlice{s[0].Slice(chunk-8, chunk), s[1].Slice(0, 8)}
				r := part.Reader()
				parts, _ = r.Peek(16, parts[:0])
				copy(header[copy(header[:], parts[0]):], parts[1])
				_ = header[15]
				r.Close()
				part.Free()
			}
		}},
		{"discard/pieces=60", func(times int) {
			for range times {
				all := c.Slice(0, size)
				for range 60 {
					all.Discard(1000)
				}
				all.Release()
			}
		}, func(times int) {
			var r mem.Reader
			for range times {
				r.Reset(s)
				for range 60 {
					r.Discard(1000)
				}
			}
			r.Close()
		}},
		{"read/pieces=60", func(times int) {
			for range times {
				all := c.Slice(0, size)
				for range 60 {
					all.Read(out)
				}
				all.Release()
			}
		}, func(times int) {
			var r mem.Reader
			for range times {
				r.Reset(s)
				for range 60 {
					r.Read(out)
				}
			}
			r.Close()
		}},
		{"readbyte/bytes=1000", func(times int) {
			for range times {
				all := c.Slice(0, size)
				for range 1000 {
					all.ReadByte()
				}
				all.Release()
			}
		}, func(times int) {
			var r mem.Reader
			for range times {
				r.Reset(s)
				for range 1000 {
					r.ReadByte()
				}
			}
			r.Close()
		}},
		{"contiguous/chunks=4", func(times int) {
			for range times {
				all := c.Slice(0, size)
				all.Contiguous()
				all.Release()
			}
		}, func(times int) {
			for range times {
				b := s.MaterializeToBuffer(pool)
				b.Free()
			}
		}},
		{"readfrom/bytes=65536", func(times int) {
			for range times {
				source.Reset(content)
				c := bufpool.NewChain(pool, 0)
				c.ReadFrom(plain)
				c.Release()
			}
		}, func(times int) {
			for range times {
				source.Reset(content)
				s, _ := mem.ReadAll(plain, pool)
				s.Free()
			}
		}},
	}
}

// BenchmarkMessage has both do the same in turns. A ratio below 1 is for the Chain.
//
//	go test -run '^$' -bench . -benchtime 30x ./messages
func BenchmarkMessage(b *testing.B) {
	for _, op := range operations() {
		b.Run("op="+op.name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			var ratios, chain, grpc []float64
			for b.Loop() {
				runtime.GC()
				ns := turns.PerOp(21, 100*time.Microsecond, op.chain, op.grpc)
				ratios, chain, grpc = append(ratios, ns[0]/ns[1]), append(chain, ns[0]), append(grpc, ns[1])
			}
			b.ReportMetric(turns.Median(ratios), "chain/grpc")
			b.ReportMetric(turns.Median(chain), "chain-ns")
			b.ReportMetric(turns.Median(grpc), "grpc-ns")
			b.ReportMetric(allocs(op.chain), "chain-allocs")
			b.ReportMetric(allocs(op.grpc), "grpc-allocs")
			b.ReportMetric(0, "ns/op") // of all that was compared together: says nothing
		})
	}
}

// allocs returns how many allocations one operation makes.
func allocs(f func(times int)) float64 {
	const times = 1000
	return testing.AllocsPerRun(1, func() { f(times) }) / times
}

// Both do what they are compared for.
func TestOperations(t *testing.T) {
	for _, op := range operations() {
		for what, f := range map[string]func(int){"chain": op.chain, "grpc": op.grpc} {
			t.Run(fmt.Sprintf("%s/%s", op.name, what), func(t *testing.T) { f(3) })
		}
	}
}
