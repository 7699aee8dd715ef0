package frame_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/bufpool/bufpool/examples/frame"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// FuzzParse: whatever Parse takes, it takes whole, and makes again.
func FuzzParse(f *testing.F) {
	for _, k := range known[:4] {
		f.Add(k.wire())
		f.Add(k.wire()[1:])
		f.Add(append(k.wire(), 0))
	}
	f.Add(header(0xFFFFFFFF))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		g, err := frame.Parse(data)
		if err != nil {
			if !errors.Is(err, frame.ErrHeader) && !errors.Is(err, frame.ErrChecksum) {
				t.Fatal(err)
			}
			return
		}
		w := must(g.Wire())
		if !bytes.Equal(w, data) {
			t.Fatalf("got %x of %x", w, data)
		}
		g.Release()
		if !bytes.Equal(data, before) {
			t.Fatal("the caller's memory was changed")
		}
	})
}

// FuzzReceive reads a stream of arbitrary bytes. What it receives must be what
// Parse makes of the same bytes, and no buffer may be lost.
func FuzzReceive(f *testing.F) {
	for _, k := range known[:4] {
		f.Add(append(k.wire(), known[2].wire()...), false)
		f.Add(k.wire()[:len(k.wire())-1], true)
	}
	f.Add(append(header(0xFFFFFFFF), 1, 2, 3), true)
	f.Add(append(header(1<<20), 1, 2, 3), false)
	f.Fuzz(func(t *testing.T, data []byte, slowly bool) {
		const limit = 1 << 21
		p := newBalanced(t)
		var r io.Reader = bytes.NewReader(data)
		if slowly {
			r = iotest.OneByteReader(r)
		}
		c := frame.NewConn(rw{r: r}, frame.WithBufferPool(p), frame.WithMaxPayload(limit))
		g := frame.New(frame.WithBufferPool(p))
		rest := data
		for {
			err := c.Receive(g)
			if err == nil {
				w := must(g.Wire())
				if len(w) > len(rest) || !bytes.Equal(w, rest[:len(w)]) {
					t.Fatalf("received %x of %x", w, rest)
				}
				want, err := frame.Parse(rest[:len(w)])
				if err != nil || !bytes.Equal(want.Payload(), g.Payload()) || !slices.Equal(want.Options(), g.Options()) {
					t.Fatalf("Parse: %v", err)
				}
				rest = rest[len(w):]
				continue
			}
			if (err == io.EOF) != (len(rest) == 0) {
				t.Fatalf("%v with %d bytes left", err, len(rest))
			}
			if _, err := frame.Parse(rest); err == nil && len(rest) <= limit {
				t.Fatalf("what is left is a frame, and yet %v", err)
			}
			if again := c.Receive(g); !errors.Is(again, err) {
				t.Fatalf("%v, then %v", err, again)
			}
			break
		}
		pooltest.MustBalance(t, p)
		if c := p.Counts(); c.PeakLent > 32*int64(len(data))+256<<10 {
			t.Fatalf("%d bytes lent for a stream of %d", c.PeakLent, len(data))
		}
	})
}

// FuzzRoundTrip sends what can be said and receives it.
func FuzzRoundTrip(f *testing.F) {
	f.Add(byte(1), byte(2), byte(3), []byte{1, 2, 3, 4, 5}, []byte("payload"), uint16(0))
	f.Add(byte(15), byte(255), byte(255), bytes.Repeat([]byte{9}, 44), []byte{}, uint16(4096))
	f.Fuzz(func(t *testing.T, version, flags, bits byte, options, payload []byte, keep uint16) {
		k := knownFrame{version: version, flags: flags, stream: bits, payload: payload}
		for ; len(options) >= 4; options = options[4:] {
			k.options = append(k.options, uint32(options[0])<<24|uint32(options[1])<<16|uint32(options[2])<<8|uint32(options[3]))
		}
		p := newBalanced(t)
		out, in := frame.New(frame.WithBufferPool(p), frame.WithKeep(int(keep))), frame.New(frame.WithKeep(int(keep)))
		if errors.Join(out.SetVersion(version), out.SetOptions(k.options...)) != nil {
			if version <= 15 && len(k.options) <= 10 {
				t.Fatal("refused")
			}
			return
		}
		var stream bytes.Buffer
		c := frame.NewConn(&stream, frame.WithBufferPool(p))
		for range 2 {
			out.WritePayload(payload)
			k.setHeader(t, out)
			mine, err := frame.Parse(bytes.Clone(must(out.Wire())))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []*frame.Frame{out, mine} {
				if err := errors.Join(c.Send(f), c.Receive(in)); err != nil {
					t.Fatal(err)
				}
				k.is(t, in)
			}
			out.Reset()
		}
		out.Release()
		in.Release()
		pooltest.MustBalance(t, p)
	})
}
