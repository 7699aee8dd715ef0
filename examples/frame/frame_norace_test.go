//go:build !race

// These tests need every Put to be kept, which the race detector prevents on
// purpose: it makes sync.Pool drop one in four.

package frame_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
	"github.com/bufpool/bufpool/internal/pooltest"
)

var steadySizes = []int{1, 200, 1024, 64 << 10, 128<<10 - frame.Headroom, 128 << 10, 1_000_000, 8<<20 - frame.Headroom}

func TestSteadyTrafficOnlyHits(t *testing.T) {
	pooltest.Exactly(t)
	for _, n := range steadySizes {
		p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
		var stream bytes.Buffer
		stream.Grow(n + 100)
		c := frame.NewConn(&stream, frame.WithBufferPool(p))
		out, in := frame.New(frame.WithBufferPool(p)), frame.New(frame.WithBufferPool(p))
		misses := func() (n uint64) {
			for _, tier := range p.Stats().Tiers {
				n += tier.Misses
			}
			return n
		}
		payload := make([]byte, n)
		var first uint64
		for i := range min(1000, (256<<20)/n) {
			out.Reset()
			out.WritePayload(payload)
			if err := errors.Join(c.Send(out), c.Receive(in)); err != nil {
				t.Fatal(err)
			}
			stream.Reset()
			if i == 0 {
				first = misses()
			}
		}
		out.Release()
		in.Release()
		s := p.Stats()
		if d := s.Dropped; d.Undersized+d.Between+d.Oversized+d.Empty+s.OversizedGets != 0 {
			t.Errorf("%d bytes: %+v", n, s)
		}
		if got := misses(); got != first {
			t.Errorf("%d bytes: %d misses, %d in the first cycle", n, got, first)
		}
	}
}

func TestSendAndReceiveDoNotAllocate(t *testing.T) {
	pooltest.Exactly(t)
	for _, n := range append(steadySizes, 0) {
		for _, options := range [][]uint32{nil, {1, 2}} {
			out := frame.New()
			payload := make([]byte, n)
			out.WritePayload(payload)
			if err := out.SetOptions(options...); err != nil {
				t.Fatal(err)
			}
			wire := bytes.Clone(must(out.Wire()))
			times := min(1000, (64<<20)/(n+1))

			sink := frame.NewConn(rw{w: io.Discard})
			var r bytes.Reader
			source := frame.NewConn(rw{r: &r})
			in := frame.New()
			mine := must(frame.Parse(wire))
			for what, f := range map[string]func() error{
				"Send": func() error { return sink.Send(out) },
				"Reset, WritePayload, Send": func() error {
					out.Reset()
					out.WritePayload(payload)
					return errors.Join(out.SetOptions(options...), sink.Send(out))
				},
				"Send of the caller's memory": func() error { return sink.Send(mine) },
				"Receive": func() error {
					r.Reset(wire)
					err := source.Receive(in)
					in.Options()
					return err
				},
			} {
				if per := pooltest.Allocs(func() {
					for range times {
						if err := f(); err != nil {
							t.Fatal(err)
						}
					}
				}); per != 0 {
					t.Errorf("%s, %d bytes, %d options: %.0f allocations in %d calls", what, n, len(options), per, times)
				}
			}
			out.Release()
			in.Release()
		}
	}
}
