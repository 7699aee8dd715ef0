// Command echo sends every file below a directory through the frame codec and
// back, over real connections with pooled buffers, and checks what returns.
//
//	go run ./examples/frame/echo                      all in one process, the Go tree's source
//	go run ./examples/frame/echo -dir . -pool switch  other files, another pool
//	go run ./examples/frame/echo -check -repeat 10    ten times, checked for misuse of the pool
//	go run ./examples/frame/echo -listen :9000        the server alone, until it is interrupted
//	go run ./examples/frame/echo -connect host:9000   the client alone
//
// It reports what was moved and what the pool did, and fails, with a message that
// names the fault, if any file comes back changed, any buffer is not given back,
// or anything else goes wrong. With -check every buffer goes through package check,
// and what that finds is printed to the standard error and is such a fault.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/balance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	dir, pool       string
	listen, connect string
	maxPayload      int64
	conns, repeat   int
	check           bool
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("echo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.dir, "dir", "", "send the regular files below this `directory` (default the Go tree's src)")
	f.StringVar(&s.pool, "pool", "default", "`pool` to borrow from: "+strings.Join(poolNames, ", "))
	f.StringVar(&s.listen, "listen", "", "only serve, on this TCP `address`, until interrupted")
	f.StringVar(&s.connect, "connect", "", "only send, to a server at this TCP `address`")
	f.Int64Var(&s.maxPayload, "max-payload", 64<<20, "largest payload in `bytes`")
	f.IntVar(&s.conns, "conns", 64, "`number` of connections")
	f.IntVar(&s.repeat, "repeat", 1, "send all files so many `times`")
	f.BoolVar(&s.check, "check", false, "look for misuse of the pool: for double Puts, uses after Put, overruns and leaks")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.listen != "" && s.connect != "":
		return s, errors.New("-listen and -connect exclude each other")
	case s.conns < 1:
		return s, fmt.Errorf("-conns %d is below 1", s.conns)
	case s.repeat < 1:
		return s, fmt.Errorf("-repeat %d is below 1", s.repeat)
	case s.maxPayload < 0:
		return s, fmt.Errorf("-max-payload %d is negative", s.maxPayload)
	}
	return s, nil
}

var poolNames = []string{"default", "binary", "tiered", "switch", "nop"}

func newPool(name string) (bufpool.BufferPool, error) {
	switch name {
	case "default":
		return bufpool.Default(), nil
	case "binary":
		return bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))
	case "tiered":
		return bufpool.NewTiered([]int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20})
	case "switch":
		return bufpool.NewSwitch()
	case "nop":
		return bufpool.Nop{}, nil
	}
	return nil, fmt.Errorf("unknown pool %q: want one of %s", name, strings.Join(poolNames, ", "))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	base, err := newPool(s.pool)
	if err != nil {
		return err
	}
	r := newReport(s)
	if s.check {
		if r.checked, err = newChecked(base, stderr); err != nil {
			return err
		}
		base = r.checked.Pool
	}
	pool := balance.New(base) // outermost: it counts what is lent, and not what is in quarantine

	address := s.connect
	var srv *server
	if s.connect == "" {
		if srv, err = serve(s, pool); err != nil {
			return err
		}
		address = srv.Addr().String()
		if s.listen != "" {
			fmt.Fprintln(stderr, "serving on", address)
		}
	}

	var failed error
	if s.listen == "" {
		failed = send(ctx, s, pool, address, &r.sent, progress(stderr))
	} else {
		select {
		case <-ctx.Done():
		case <-srv.broken:
		}
	}
	if srv != nil {
		failed = errors.Join(failed, srv.stop())
		if s.listen != "" {
			r.sent = srv.total()
		}
	}
	// Whatever happened, every buffer must be back.
	failed = errors.Join(failed, pool.Err())
	if c := pool.Counts(); c.Gets != c.Puts {
		failed = errors.Join(failed, fmt.Errorf("%d gets and %d puts", c.Gets, c.Puts))
	}
	if r.checked != nil {
		failed = errors.Join(failed, r.checked.finish())
	}
	r.write(stdout, pool)
	return failed
}

// files lists the regular files below dir, and says if there are none.
func files(dir string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(dir) // WalkDir does not enter a link
	if err != nil {
		return nil, err
	}
	var paths []string
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no regular files below %s", dir)
	}
	return paths, err
}

// goSource returns the directory of the Go tree's source.
func goSource() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w (use -dir to name a directory)", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src"), nil
}

// listen opens the server's address: loopback, unless the flags name another.
func listen(s settings) (net.Listener, error) {
	address := s.listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	return net.Listen("tcp", address)
}
