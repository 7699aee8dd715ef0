package bufpool_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// onlyReader and onlyWriter hide all else.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

// golang/go#32276: a buffer is taken only if it is used, and the result is io.Copy's.
func TestCopyTakesABufferWhereItNeedsOne(t *testing.T) {
	p := newBalanced(t)
	data := pattern(100_000)
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, out := socketPair(t, "tcp")
	in2, out2 := socketPair(t, "tcp")
	go func() { in.Write(data); in.Close() }()
	go io.Copy(io.Discard, in2)
	for _, c := range []struct {
		name string
		dst  io.Writer
		src  io.Reader
		gets int
	}{
		{"bytes.Reader to plain", onlyWriter{io.Discard}, bytes.NewReader(data), 0},
		{"plain to *os.File", file, onlyReader{bytes.NewReader(data)}, 0},
		{"TCP to TCP", out2, out, 0},
		{"plain to plain", onlyWriter{io.Discard}, onlyReader{bytes.NewReader(data)}, 1},
		{"plain to plain *os.File", onlyWriter{file}, onlyReader{bytes.NewReader(data)}, 1},
		{"limited to plain", onlyWriter{io.Discard}, io.LimitReader(bytes.NewReader(data), 1<<40), 1},
	} {
		before := p.Counts().Gets
		if n, err := bufpool.Copy(c.dst, c.src, p); n != int64(len(data)) || err != nil {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		if gets := p.Counts().Gets - before; gets != c.gets {
			t.Errorf("%s: %d gets, want %d", c.name, gets, c.gets)
		}
		pooltest.MustBalance(t, p)
	}
	if largest := p.Counts().LargestGet; largest != 32<<10 {
		t.Errorf("%d bytes asked for", largest)
	}
}

// SagerNet/sing#76: one buffer, however much there is to copy.
func TestCopyTakesOneBuffer(t *testing.T) {
	p := newBalanced(t)
	const size = 100 << 20
	if n, err := bufpool.Copy(onlyWriter{io.Discard}, &zeros{size}, p); n != size || err != nil {
		t.Error(n, err)
	}
	if gets := p.Counts().Gets; gets != 1 {
		t.Errorf("%d gets", gets)
	}
	pooltest.MustBalance(t, p)
}

// Of a LimitedReader, no more than is left.
func TestCopyOfALimitedReader(t *testing.T) {
	for n, asked := range map[int64]int{-1: 1, 0: 1, 1: 1, 1000: 1000, 32<<10 - 1: 32<<10 - 1, 32 << 10: 32 << 10, 1 << 40: 32 << 10} {
		q := newBalanced(t)
		got, err := bufpool.Copy(onlyWriter{io.Discard}, &io.LimitedReader{R: bytes.NewReader(pattern(40_000)), N: n}, q)
		if got != max(0, min(n, 40_000)) || err != nil || q.Counts().LargestGet != asked {
			t.Errorf("%d: copied %d, %v, %d bytes asked for", n, got, err, q.Counts().LargestGet)
		}
		pooltest.MustBalance(t, q)
	}
}

// A count above what was asked for panics, as in io.Copy, even if the buffer has the
// capacity.
func TestCopyOfTooMany(t *testing.T) {
	p := newBalanced(t)
	for _, n := range []int64{10, 40_000} {
		pooltest.MustPanic(t, "slice bounds out of range", func() {
			io.Copy(onlyWriter{io.Discard}, &io.LimitedReader{R: &scripted{end: endTooMany}, N: n})
		})
		pooltest.MustPanic(t, "slice bounds out of range", func() {
			bufpool.Copy(onlyWriter{io.Discard}, &io.LimitedReader{R: &scripted{end: endTooMany}, N: n}, p)
		})
	}
	pooltest.MustBalance(t, p)
}

func TestCopyUsesTheDefault(t *testing.T) {
	p := newBalanced(t)
	defer bufpool.SetDefault(p)()
	var w strings.Builder
	if n, err := bufpool.Copy(&w, onlyReader{strings.NewReader("hello")}, nil); n != 5 || err != nil || w.String() != "hello" {
		t.Error(n, err, w.String())
	}
	if p.Counts().Gets != 1 {
		t.Error(p.Counts())
	}
	pooltest.MustBalance(t, p)
}

// golang/go#12450: a reader that keeps what it was passed is found out.
func TestCheckFindsAReaderThatKeepsItsSlice(t *testing.T) {
	var found []check.Violation
	p := bufpool.Must(check.New(new(bufpool.Switch), check.WithReport(func(v check.Violation) { found = append(found, v) })))
	r := &keeper{}
	bufpool.Copy(onlyWriter{io.Discard}, r, p)
	p.Verify()
	if len(found) > 0 {
		t.Fatal(found)
	}
	r.kept[17] = 'x' // late
	p.Verify()
	if len(found) != 1 || found[0].Kind != check.WriteAfterPut {
		t.Error(found)
	}
}

type keeper struct{ kept []byte }

func (k *keeper) Read(p []byte) (int, error) {
	k.kept = p
	return 0, io.EOF
}
