package bufpool_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// FuzzBuffer does to a Buffer and to a bytes.Buffer what the program says.
func FuzzBuffer(f *testing.F) {
	addPrograms(f, 30, 400)
	f.Fuzz(func(t *testing.T, code []byte) {
		// Each step compares everything: long programs take their time squared.
		runBuffer(t, &program{code[:min(len(code), 1000)]})
	})
}

func runBuffer(t *testing.T, p *program) {
	pool := pooltest.NewBalance(t, poison{fuzzPool(p.next())})
	headroom := p.next() % 70
	b := bufpool.NewBuffer(pool, headroom)
	var want bytes.Buffer
	read := false // something was read since the contents last stood at their start
	for len(p.code) > 0 {
		if b.Len() > 100_000 {
			b.Truncate(0)
			want.Reset()
			read = false
		}
		op, what := p.next()%21, ""
		switch op {
		case 0:
			what = "Write"
			data := p.bytes(p.size())
			n, err := b.Write(data)
			wantN, _ := want.Write(data)
			if n != wantN || err != nil {
				t.Fatal(what, n, err)
			}
		case 1:
			what = "WriteString"
			data := string(p.bytes(p.size()))
			n, err := b.WriteString(data)
			wantN, _ := want.WriteString(data)
			if n != wantN || err != nil {
				t.Fatal(what, n, err)
			}
		case 2:
			what = "WriteByte"
			c := byte(p.next())
			if err := b.WriteByte(c); err != nil {
				t.Fatal(what, err)
			}
			want.WriteByte(c)
		case 3:
			what = "WriteRune"
			r := rune(p.next() * p.next() * 20)
			n, err := b.WriteRune(r)
			if wantN, wantErr := want.WriteRune(r); n != wantN || err != wantErr {
				t.Fatal(what, n, err)
			}
		case 4:
			what = "Read"
			got := make([]byte, p.size())
			wanted := make([]byte, len(got))
			n, err := b.Read(got)
			wantN, wantErr := want.Read(wanted)
			if n != wantN || err != wantErr || !bytes.Equal(got, wanted) {
				t.Fatal(what, len(got), n, err, wantN, wantErr)
			}
			read = true
		case 5:
			what = "ReadByte"
			c, err := b.ReadByte()
			if wantC, wantErr := want.ReadByte(); c != wantC || err != wantErr {
				t.Fatal(what, c, err, wantC, wantErr)
			}
			read = true
		case 6:
			what = "Next"
			n := p.size()
			if got, wanted := b.Next(n), want.Next(n); !bytes.Equal(got, wanted) || cap(got) != len(got) {
				t.Fatal(what, n, got, wanted)
			}
			read = true
		case 7:
			what = "Peek"
			n := p.size()
			got, err := b.Peek(n)
			if wanted, wantErr := want.Peek(n); err != wantErr || !bytes.Equal(got, wanted) || cap(got) != len(got) {
				t.Fatal(what, n, err, wantErr)
			}
		case 8:
			what = "Truncate"
			n := p.size() - 3
			got := outcomeOf(func() (int64, error) { b.Truncate(n); return 0, nil })
			if wanted := outcomeOf(func() (int64, error) { want.Truncate(n); return 0, nil }); got != wanted {
				t.Fatal(what, n, got, wanted)
			}
		case 9:
			what = "Grow"
			n := p.size()
			b.Grow(n)
			if b.Available() < n {
				t.Fatal(what, n, b.Available())
			}
			capacity := b.Cap()
			b.Write(p.bytes(n))
			want.Write(p.bytes(n))
			if b.Cap() != capacity {
				t.Fatal(what, "was not enough")
			}
		case 10:
			what = "Reset"
			b.Reset()
			want.Reset()
			if b.Cap() > 4096 {
				t.Fatal("Reset kept", b.Cap())
			}
			read = false
		case 11:
			what = "ReadFrom"
			r := p.reader()
			again := *r
			got := outcomeOf(func() (int64, error) { return b.ReadFrom(r) })
			if wanted := outcomeOf(func() (int64, error) { return want.ReadFrom(&again) }); got != wanted {
				t.Fatal(what, got, wanted)
			}
		case 12:
			what = "WriteTo"
			w, again := p.writer()
			before := b.Len()
			got := outcomeOf(func() (int64, error) { return b.WriteTo(w) })
			if w.end == endNegative && before > len(w.data) {
				// bytes.Buffer goes back by one byte, which may not be there.
				if !got.panicked || b.Len() != before {
					t.Fatal(what, "of a negative count:", got, b.Len())
				}
				break
			}
			wanted := outcomeOf(func() (int64, error) { return want.WriteTo(again) })
			if got != wanted || w.calls != again.calls || !bytes.Equal(w.data, again.data) {
				t.Fatal(what, got, wanted)
			}
			read = true
		case 13:
			what = "AvailableBuffer"
			n := p.size()
			b.Write(append(b.AvailableBuffer(), p.bytes(n)...))
			want.Write(p.bytes(n))
		case 14:
			what = "Release"
			b.Release()
			want.Reset()
			read = false
			if b.Cap() != 0 || b.Available() != 0 {
				t.Fatal(what, b.Cap())
			}
			b.Release()
		case 15:
			what = "Detach"
			n := b.Len()
			d := b.Detach()
			if d != nil {
				contents := (*d)[len(*d)-n:]
				if len(*d)-n > headroom || !bytes.Equal(contents, want.Bytes()) {
					t.Fatal(what, len(*d), n, headroom)
				}
				b.Write(p.bytes(100)) // not into what was detached
				if !bytes.Equal(contents, want.Bytes()) {
					t.Fatal(what, "the contents changed")
				}
				b.Truncate(0)
				pool.Put(d)
			} else if n > 0 {
				t.Fatal(what, "lost", n)
			}
			want.Reset()
			read = false
		case 16:
			what = "Clone and String"
			if c := b.Clone(); !bytes.Equal(c, want.Bytes()) || c == nil || b.String() != want.String() {
				t.Fatal(what)
			}
		case 17:
			what = "Prepend"
			n := p.size()
			data := append(p.bytes(n), want.Bytes()...)
			if got := b.Prepend(n); len(got) != n || cap(got) != n {
				t.Fatal(what, n, len(got), cap(got))
			} else {
				copy(got, data)
			}
			want = bytes.Buffer{}
			want.Write(data)
			read = true
		case 18:
			what = "Write of its own contents"
			if read || b.Len() > 10_000 {
				continue
			}
			b.Write(b.Bytes())
			want.Write(bytes.Clone(want.Bytes()))
		case 19:
			what = "ReadFrom with a limit"
			r := p.reader()
			limit := p.size()
			before, all, panics := b.Len(), r.data, r.end == endNegative || r.end == endTooMany || r.end == endPanic
			b.SetReadLimit(int64(limit))
			got := outcomeOf(func() (int64, error) { return b.ReadFrom(r) })
			b.SetReadLimit(math.MaxInt64)
			switch {
			case len(all) > limit:
				all = all[:limit]
				if got.n != int64(limit) || got.err == nil || got.panicked || r.at != limit+1 {
					t.Fatal(what, limit, got, r.at)
				}
			case panics != got.panicked, !panics && got.n != int64(len(all)):
				t.Fatal(what, limit, len(all), got)
			}
			if b.Len() != before+len(all) {
				t.Fatal(what, before, limit, len(all), b.Len())
			}
			want.Write(all)
		case 20:
			what = "Grow of what cannot be"
			for _, n := range []int{-1, math.MaxInt - b.Len() - headroom + 1} {
				if n > 0 && b.Len()+headroom == 0 {
					continue // may be had, on 32-bit platforms
				}
				before := b.Cap()
				if o := outcomeOf(func() (int64, error) { b.Grow(n); return 0, nil }); !o.panicked || b.Cap() != before {
					t.Fatal(what, n, o)
				}
			}
		}
		if !bytes.Equal(b.Bytes(), want.Bytes()) || b.Len() != want.Len() {
			t.Fatalf("after %s: %d bytes, want %d", what, b.Len(), want.Len())
		}
		if got := b.Bytes(); cap(got) != len(got) || b.Available()+b.Len() > b.Cap() {
			t.Fatalf("after %s: %d of %d, %d available", what, b.Len(), b.Cap(), b.Available())
		}
	}
	b.Release()
	pooltest.MustBalance(t, pool)
}
