package bufpool_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// chainModel is a Chain and what is to be in it.
type chainModel struct {
	chain bufpool.Chain
	want  []byte
}

// FuzzChain does to Chains and to plain slices what the program says. Chains are cut
// and shared, read and written on; those that were released are used again, which must
// be noticed.
func FuzzChain(f *testing.F) {
	addPrograms(f, 30, 400)
	f.Fuzz(func(t *testing.T, code []byte) {
		// Each step compares everything: long programs take their time squared.
		runChains(t, &program{code[:min(len(code), 1000)]})
	})
}

func runChains(t *testing.T, p *program) {
	pool := pooltest.NewBalance(t, poison{fuzzPool(p.next())})
	chunk := []int{0, 1, 10, 600, 1024, 5000}[p.next()%6]
	live := []*chainModel{{chain: bufpool.NewChain(pool, chunk)}}
	var stale []bufpool.Chain
	for len(p.code) > 0 {
		i := p.next() % len(live)
		m := live[i]
		c, what := &m.chain, ""
		switch p.next() % 17 {
		case 0:
			what = "Write"
			data := p.bytes(p.size())
			if n, err := c.Write(data); n != len(data) || err != nil {
				t.Fatal(what, n, err)
			}
			m.want = append(m.want, data...)
		case 1:
			what = "WriteString"
			data := string(p.bytes(p.size()))
			if n, err := c.WriteString(data); n != len(data) || err != nil {
				t.Fatal(what, n, err)
			}
			m.want = append(m.want, data...)
		case 2:
			what = "WriteByte"
			b := byte(p.next())
			if err := c.WriteByte(b); err != nil {
				t.Fatal(what, err)
			}
			m.want = append(m.want, b)
		case 3:
			what = "Read"
			got, r := make([]byte, p.size()), bytes.NewBuffer(m.want)
			wanted := make([]byte, len(got))
			n, err := c.Read(got)
			if wantN, wantErr := r.Read(wanted); n != wantN || err != wantErr || !bytes.Equal(got, wanted) {
				t.Fatal(what, len(got), n, err, wantN, wantErr)
			}
			m.want = m.want[n:]
		case 4:
			what = "ReadByte"
			b, err := c.ReadByte()
			if len(m.want) == 0 {
				if err != io.EOF {
					t.Fatal(what, err)
				}
			} else if b != m.want[0] || err != nil {
				t.Fatal(what, b, err)
			} else {
				m.want = m.want[1:]
			}
		case 5:
			what = "Peek"
			n := p.size()
			got, err := c.Peek(n)
			if n > len(m.want) != (err == io.EOF) || !bytes.Equal(got, m.want[:min(n, len(m.want))]) || len(got) != cap(got) {
				t.Fatal(what, n, len(m.want), len(got), err)
			}
		case 6:
			what = "Contiguous"
			if got := c.Contiguous(); !bytes.Equal(got, m.want) || len(got) != cap(got) {
				t.Fatal(what, len(got))
			}
		case 7:
			what = "Discard"
			n := p.size()
			discarded, err := c.Discard(n)
			if n > len(m.want) != (err == io.EOF) || discarded != min(n, len(m.want)) {
				t.Fatal(what, n, len(m.want), discarded, err)
			}
			m.want = m.want[discarded:]
		case 8:
			what = "Slice"
			from, to := p.size(), p.size()
			if from > to || to > len(m.want) {
				pooltest.MustPanic(t, "bufpool: Slice [", func() { c.Slice(from, to) })
				from, to = from%(len(m.want)+1), len(m.want)
			}
			live = append(live, &chainModel{c.Slice(from, to), bytes.Clone(m.want[from:to])})
		case 9:
			what = "Split"
			n := p.size()
			if n > len(m.want) {
				pooltest.MustPanic(t, "bufpool: Split at ", func() { c.Split(n) })
				n %= len(m.want) + 1
			}
			live = append(live, &chainModel{c.Split(n), bytes.Clone(m.want[:n])})
			m.want = m.want[n:]
		case 10:
			what = "ReadFrom"
			r := p.reader()
			again := *r
			var want bytes.Buffer
			got := outcomeOf(func() (int64, error) { return c.ReadFrom(r) })
			if wanted := outcomeOf(func() (int64, error) { return want.ReadFrom(&again) }); got != wanted {
				t.Fatal(what, got, wanted)
			}
			m.want = append(m.want, want.Bytes()...)
		case 11:
			what = "ReadFrom with a limit"
			r := p.reader()
			r.end %= endNegative
			limit := p.size()
			all := r.data
			c.SetReadLimit(int64(limit))
			n, err := c.ReadFrom(r)
			c.SetReadLimit(math.MaxInt64)
			if len(all) > limit {
				all = all[:limit]
				if !errors.Is(err, bufpool.ErrTooLarge) || r.at != limit+1 {
					t.Fatal(what, limit, err, r.at)
				}
			}
			if n != int64(len(all)) {
				t.Fatal(what, limit, len(all), n)
			}
			m.want = append(m.want, all...)
		case 12:
			what = "ReadN"
			r := p.reader()
			n, data := p.size(), r.data
			again := *r
			buf := make([]byte, n)
			got := outcomeOf(func() (int64, error) { return c.ReadN(r, int64(n)) })
			wanted := outcomeOf(func() (int64, error) { k, err := io.ReadFull(&again, buf); return int64(k), err })
			lies := n > len(data) && (r.end == endNegative || r.end == endTooMany) // io.ReadFull believes it
			if lies && !got.panicked || !lies && got != wanted {
				t.Fatal(what, n, len(data), got, wanted)
			}
			m.want = append(m.want, data[:min(n, len(data))]...)
		case 13:
			what = "ReadFrom of a LimitedReader"
			data, n := p.bytes(p.size()), p.size()
			l := &io.LimitedReader{R: bytes.NewReader(data), N: int64(n) - 1}
			if got, err := c.ReadFrom(l); got != int64(min(len(data), max(n-1, 0))) || err != nil {
				t.Fatal(what, len(data), n-1, got, err)
			}
			m.want = append(m.want, data[:min(len(data), max(n-1, 0))]...)
		case 14:
			what = "WriteTo"
			w, _ := p.writer()
			before := bytes.Clone(w.data)
			got := outcomeOf(func() (int64, error) { return c.WriteTo(w) })
			switch {
			case got.panicked:
				if w.end < endNegative || !bytes.Equal(w.data, append(bytes.Clone(m.want), before...)[:len(w.data)]) {
					t.Fatal(what, got, w.end)
				}
			case got.err != nil:
				if w.end == endOK || got.n > int64(len(m.want)) || !bytes.Equal(w.data[:got.n], m.want[:got.n]) {
					t.Fatal(what, got, w.end)
				}
			default:
				if got.n != int64(len(m.want)) || !bytes.Equal(w.data[:got.n], m.want) {
					t.Fatal(what, got)
				}
				m.want = nil
			}
		case 15:
			what = "Release"
			stale = append(stale, *c)
			c.Release()
			if live = append(live[:i], live[i+1:]...); len(live) == 0 {
				live = append(live, &chainModel{chain: bufpool.NewChain(pool, chunk)})
			}
		case 16:
			what = "use of a stale Chain"
			if len(stale) > 0 {
				useStale(t, stale[p.next()%len(stale)], p.next())
			}
		}
		for _, m := range live {
			if m.chain.Len() != len(m.want) {
				t.Fatalf("after %s: %d bytes, want %d", what, m.chain.Len(), len(m.want))
			}
			if part := m.chain.Slice(0, len(m.want)); len(m.want) > 0 {
				if got, err := io.ReadAll(&part); err != nil || !bytes.Equal(got, m.want) {
					t.Fatalf("after %s: %d bytes differ, %v", what, len(m.want), err)
				}
				part.Release()
			} else {
				part.Release()
			}
		}
		if len(live) > 20 {
			live[0].chain.Release()
			live = live[1:]
		}
	}
	for _, m := range live {
		m.chain.Release()
	}
	pooltest.MustBalance(t, pool)
}

// staleUses are all that can be done with a Chain.
var staleUses = []func(c *bufpool.Chain){
	func(c *bufpool.Chain) { c.Release() },
	func(c *bufpool.Chain) { c.Len() },
	func(c *bufpool.Chain) { c.Read(make([]byte, 1)) },
	func(c *bufpool.Chain) { c.Read(nil) },
	func(c *bufpool.Chain) { c.ReadByte() },
	func(c *bufpool.Chain) { c.Peek(0) },
	func(c *bufpool.Chain) { c.Peek(1) },
	func(c *bufpool.Chain) { c.Contiguous() },
	func(c *bufpool.Chain) { c.Discard(1) },
	func(c *bufpool.Chain) { c.Slice(0, 0) },
	func(c *bufpool.Chain) { c.Split(0) },
	func(c *bufpool.Chain) { c.Write(nil) },
	func(c *bufpool.Chain) { c.Write(make([]byte, 2000)) },
	func(c *bufpool.Chain) { c.WriteString("x") },
	func(c *bufpool.Chain) { c.WriteByte(1) },
	func(c *bufpool.Chain) { c.ReadFrom(bytes.NewReader([]byte("x"))) },
	func(c *bufpool.Chain) { c.ReadN(bytes.NewReader([]byte("x")), 1) },
	func(c *bufpool.Chain) { c.WriteTo(io.Discard) },
	func(c *bufpool.Chain) { c.SetReadLimit(1) },
}

func useStale(t testing.TB, c bufpool.Chain, how int) {
	t.Helper()
	pooltest.MustPanic(t, "bufpool: stale Chain", func() { staleUses[how%len(staleUses)](&c) })
}
