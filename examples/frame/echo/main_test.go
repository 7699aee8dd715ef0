package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// someFiles makes a directory of files, and other things that are none.
func someFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, size := range []int{0, 1, 200, 4096, 65536 - frame.Headroom, 65536, 300_000, 3 << 20} {
		sub := filepath.Join(dir, fmt.Sprint("sub", i%3))
		if err := os.MkdirAll(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		data := bytes.Repeat([]byte{byte(i)}, size)
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint("file", i)), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// echo is run, in the second pass with -check.
func echo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if pooltest.Checked() {
		args = append([]string{"-check"}, args...)
	}
	return run(ctx, args, stdout, stderr)
}

func mustContain(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestAllInOneProcess(t *testing.T) {
	dir := someFiles(t)
	for _, pool := range poolNames {
		var out, diag strings.Builder
		if err := echo(t.Context(), []string{"-dir", dir, "-pool", pool, "-conns", "3"}, &out, &diag); err != nil {
			t.Errorf("%s: %v", pool, err)
		}
		// Of the files with bytes, 7 are loaded, and received twice in 10 stages
		// (see bufpool.ReadN: one of them in 2, another in 3).
		mustContain(t, out.String(), `pool +`+pool, `files +8,`, `bytes +3581\d\d\d`, `gets, puts +27, 27`, `peak lent +[1-9]`)
		if diag.Len() > 0 {
			t.Errorf("%s: progress without a terminal: %q", pool, diag.String())
		}
	}
}

func TestRepeat(t *testing.T) {
	var out strings.Builder
	if err := echo(t.Context(), []string{"-dir", someFiles(t), "-conns", "3", "-repeat", "5"}, &out, io.Discard); err != nil {
		t.Error(err)
	}
	mustContain(t, out.String(), `files +40,`, `gets, puts +135, 135`)
}

func TestCheck(t *testing.T) {
	dir := someFiles(t)
	for _, pool := range poolNames {
		var out, diag strings.Builder
		if err := run(t.Context(), []string{"-dir", dir, "-pool", pool, "-check", "-repeat", "3"}, &out, &diag); err != nil {
			t.Errorf("%s: %v", pool, err)
		}
		mustContain(t, out.String(), `files +24,`, `gets, puts +81, 81`, `checked +yes, 0 violations`)
		if diag.Len() > 0 {
			t.Errorf("%s: %s", pool, diag.String())
		}
	}
}

func TestCheckReportsAllThatIsWrong(t *testing.T) {
	var diag, out strings.Builder
	c, err := newChecked(new(bufpool.Switch), &diag)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.finish(); err != nil {
		t.Error(err)
	}
	p := balance.New(c.Pool) // as in run
	b, lost := p.Get(1000), p.Get(20_000)
	alias := *b
	p.Put(b)
	p.Put(b)
	alias[7] = 'x'
	err = c.finish()
	if err == nil {
		t.Fatal("no error")
	}
	mustContain(t, err.Error(),
		`2 violations, the first: check: double Put: 4096 bytes, 1000 asked for`,
		`1 buffers were not put back, one of them of 20000 of 65536 bytes, lent at:\n.*balance`, `main_test.go`)
	mustContain(t, diag.String(),
		`check: double Put: .*\nlent at:\n`, `\nput back at:\n`, `\nput again at:\n`,
		`check: write after Put: .*changed from byte 7 on: 78 dd`)
	if n := strings.Count(diag.String(), "main_test.go"); n < 6 { // three stacks of each
		t.Errorf("%d places in this file:\n%s", n, diag.String())
	}
	r := &report{checked: c}
	r.write(&out, p)
	mustContain(t, out.String(), `checked +yes, 2 violations`)
	p.Put(lost)
	if err := c.finish(); err == nil || strings.Contains(err.Error(), "not put back") {
		t.Error(err)
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := someFiles(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var out strings.Builder
	lines, diag := io.Pipe()
	stopped := make(chan error, 1)
	go func() { stopped <- echo(ctx, []string{"-listen", "127.0.0.1:0"}, &out, diag) }()
	var address string
	if _, err := fmt.Fscanf(lines, "serving on %s\n", &address); err != nil {
		t.Fatal(err)
	}
	go io.Copy(os.Stderr, lines) // violations, if there are any
	var sent strings.Builder
	if err := echo(t.Context(), []string{"-connect", address, "-dir", dir, "-pool", "switch"}, &sent, io.Discard); err != nil {
		t.Error(err)
	}
	mustContain(t, sent.String(), `files +8,`, `gets, puts +17, 17`)
	interrupt()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	mustContain(t, out.String(), `files +8,`, `gets, puts +10, 10`)
}

// faulty serves one frame a connection, after changing it.
func faulty(t *testing.T, change func(f *frame.Frame)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pool := frame.WithBufferPool(pooltest.Check(t, bufpool.Default()))
	done := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			rw, err := l.Accept()
			if err != nil {
				return
			}
			c, f := frame.NewConn(rw, pool), frame.New(pool)
			for c.Receive(f) == nil {
				if change(f); c.Send(f) != nil {
					break
				}
			}
			f.Release()
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestFaultsAreNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "the-file"), []byte("contents"), 0o666); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	closed := faulty(t, func(*frame.Frame) {})
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"changed byte": {
			[]string{"-dir", dir, "-connect", faulty(t, func(f *frame.Frame) { f.Payload()[3]++ })},
			"the-file: SHA-256 came back as",
		},
		"shorter": {
			[]string{"-dir", dir, "-connect", faulty(t, func(f *frame.Frame) { f.WritePayload(f.Payload()[:5]) })},
			"the-file: 5 bytes came back, want 8",
		},
		"another's": {
			[]string{"-dir", dir, "-connect", faulty(t, func(f *frame.Frame) { f.SetOptions(7, f.Options()[1]) })},
			"the-file: options came back as",
		},
		"too large":   {[]string{"-dir", dir, "-max-payload", "7"}, "the-file: frame: payload too large: 8 bytes"},
		"no files":    {[]string{"-dir", empty}, "no regular files below"},
		"no dir":      {[]string{"-dir", filepath.Join(dir, "missing")}, "missing"},
		"no server":   {[]string{"-dir", dir, "-connect", "127.0.0.1:1"}, "refused"},
		"bad address": {[]string{"-listen", "nonsense"}, "nonsense"},
		"pool":        {[]string{"-pool", "pond"}, `unknown pool "pond"`},
		"argument":    {[]string{"more"}, `unexpected argument "more"`},
		"both":        {[]string{"-listen", closed, "-connect", closed}, "exclude each other"},
		"conns":       {[]string{"-conns", "0"}, "-conns 0"},
		"repeat":      {[]string{"-repeat", "0"}, "-repeat 0"},
		"limit":       {[]string{"-max-payload", "-1"}, "-max-payload -1"},
		"flag":        {[]string{"-nonsense"}, "nonsense"},
	} {
		err := echo(t.Context(), test.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), "put back") || strings.Contains(err.Error(), "gets and")) {
			t.Errorf("%s: and buffers were lost: %v", name, err)
		}
	}
}

func TestALinkToTheDirectory(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(someFiles(t), link); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := echo(t.Context(), []string{"-dir", link}, &out, io.Discard); err != nil {
		t.Error(err)
	}
	mustContain(t, out.String(), `files +8,`)
}

func TestAServerThatCannotAcceptHangsUp(t *testing.T) {
	srv, err := serve(settings{maxPayload: 1000}, pooltest.Check(t, bufpool.Default()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", srv.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	srv.Close() // whatever the reason, Accept fails
	<-srv.broken
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	if err := srv.stop(); err != nil {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := echo(ctx, []string{"-dir", someFiles(t)}, io.Discard, io.Discard); err == nil {
		t.Error("no error")
	}
}
