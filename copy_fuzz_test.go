package bufpool_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// scriptedFrom and scriptedTo have a fast path, which io.Copy and Copy must take.
type scriptedFrom struct{ *scripted }

func (s scriptedFrom) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(struct{ io.Writer }{s.scripted}, r)
	return n + 1000, err // to tell that it was here
}

type scriptedTo struct{ *scripted }

func (s scriptedTo) WriteTo(w io.Writer) (int64, error) {
	n, err := io.Copy(w, struct{ io.Reader }{s.scripted})
	return n + 2000, err
}

// FuzzCopy has Copy and io.Copy copy the same.
func FuzzCopy(f *testing.F) {
	addPrograms(f, 100, 12)
	f.Fuzz(func(t *testing.T, code []byte) {
		p := &program{code}
		pool := pooltest.NewBalance(t, poison{fuzzPool(p.next())})
		in, out, again := p.reader(), (*scripted)(nil), (*scripted)(nil)
		in.data = p.bytes(len(in.data) * (1 + p.next()%40)) // some above 32 KiB
		in.step *= 1 + p.next()%40
		if in.end == endNegative {
			in.end = endError // io.Copy takes it for an empty read, and goes on for ever
		}
		inAgain := *in
		out, again = p.writer()
		shape, limit := p.next(), int64(p.size())-1
		wrap := func(in, out *scripted) (io.Reader, io.Writer) {
			var r io.Reader = in
			var w io.Writer = out
			if shape&1 != 0 {
				r = scriptedTo{in}
			}
			if shape&2 != 0 {
				w = scriptedFrom{out}
			}
			if shape&4 != 0 {
				r = &io.LimitedReader{R: r, N: limit}
			}
			return r, w
		}
		r, w := wrap(in, out)
		got := outcomeOf(func() (int64, error) { return bufpool.Copy(w, r, pool) })
		r, w = wrap(&inAgain, again)
		wanted := outcomeOf(func() (int64, error) { return io.Copy(w, r) })
		honest := in.end != endTooMany // else some bytes are whatever was in the buffer
		if got != wanted || honest && !bytes.Equal(out.data, again.data) || in.at != inAgain.at || in.calls != inAgain.calls || out.calls != again.calls {
			t.Errorf("%v, want %v; read %d in %d calls, want %d in %d; written in %d calls, want %d",
				got, wanted, in.at, in.calls, inAgain.at, inAgain.calls, out.calls, again.calls)
		}
		fast := shape&2 != 0 || shape&1 != 0 && shape&4 == 0
		if gets := pool.Counts().Gets; fast && gets != 0 || !fast && gets != 1 {
			t.Errorf("%d gets, fast path: %v", gets, fast)
		}
		pooltest.MustBalance(t, pool)
	})
}
