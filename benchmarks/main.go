// Command benchmarks measures bufpool's pools and others in one run, and writes
// the results, tables and charts of them. In this directory:
//
//	go run . -o results
//
// Results are in the Go benchmark format, so that benchstat compares two runs:
//
//	go tool -modfile=../tools/go.mod benchstat -col /pool results/results.txt
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/bufpool/bufpool/benchmarks/report"
	"github.com/bufpool/bufpool/benchmarks/scenarios"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "benchmarks:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	var (
		flags    = flag.NewFlagSet("benchmarks", flag.ContinueOnError)
		out      = flags.String("o", "results", "write results.txt, tables.md and charts to this `directory`")
		samples  = flags.Int("samples", 10, "take `n` samples of each row")
		only     = flags.String("run", "", "run only scenarios whose name matches `regexp`")
		pools    = flags.String("pools", "", "measure only pools whose name matches `regexp`, and W")
		requests = flags.Int("requests", 0, "serve `n` requests in each sample of Traffic; 0 for a quarter of a second's")
		redraw   = flags.Bool("redraw", false, "measure nothing: make tables and charts of the results that are there")
		dists    []string
	)
	flags.SetOutput(stderr)
	flags.Func("dist", "draw the sizes of Traffic from a CSV `file` with the columns size_bytes,cumulative_fraction; may be repeated;\n"+
		"without it, they are those of the files below the Go tree", func(file string) error {
		dists = append(dists, file)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *samples < 1 || *requests < 0 {
		return errors.New("-samples must be 1 at least, -requests 0")
	}
	results := filepath.Join(*out, "results.txt")
	if *redraw {
		return present(results, *out)
	}
	r := scenarios.Run{Samples: *samples, Requests: *requests}
	var err error
	if r.Only, err = pattern(*only); err != nil {
		return err
	}
	if r.Pools, err = pattern(*pools); err != nil {
		return err
	}
	if r.Distributions, err = distributions(dists); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	start := time.Now()
	r.Progress = func(scenario string) {
		fmt.Fprintf(stderr, "%4.0fs %s\n", time.Since(start).Seconds(), scenario)
	}
	// Nothing is written before all is measured, so that what is there is of one
	// run and whole.
	var b bytes.Buffer
	r.Out = &b
	conditions(&b, args)
	if err := r.Do(); err != nil {
		return err
	}
	if err := os.WriteFile(results, b.Bytes(), 0o644); err != nil {
		return err
	}
	return present(results, *out)
}

func pattern(s string) (*regexp.Regexp, error) {
	if s == "" {
		return nil, nil
	}
	return regexp.Compile(s)
}

func distributions(files []string) (all []*scenarios.Distribution, err error) {
	if len(files) == 0 {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("go env GOROOT: %w (use -dist to name a file)", err)
		}
		d, err := scenarios.FilesBelow(strings.TrimSpace(string(root)), "go-tree")
		if err != nil {
			return nil, err
		}
		return append(all, d), nil
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		d, err := scenarios.ReadDistribution(f, name, file)
		f.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// conditions writes what the results depend on, as configuration lines of the
// format.
func conditions(w io.Writer, args []string) {
	command := []string{"go run ."}
	for _, arg := range args {
		command = append(command, filepath.Base(arg)) // where files are says nothing
	}
	fmt.Fprintf(w, "command: %s\n", strings.Join(command, " "))
	fmt.Fprintf(w, "date: %s\n", time.Now().UTC().Format(time.DateOnly))
	fmt.Fprintf(w, "go: %s\n", runtime.Version())
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\n", runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "cpu: %s\n", cpuModel())
	fmt.Fprintf(w, "cpus: %d\n", runtime.NumCPU())
	if commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output(); err == nil {
		fmt.Fprintf(w, "commit: %s\n", strings.TrimSpace(string(commit)))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		modules := scenarios.Modules()
		for _, dep := range info.Deps {
			if slices.Contains(modules, dep.Path) {
				fmt.Fprintf(w, "%s: %s\n", dep.Path, dep.Version)
			}
		}
	}
	fmt.Fprintln(w)
}

// cpuModel returns the processor's name where the system says it, as testing
// does.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "unknown"
}

// present makes tables and charts of results.
func present(results, dir string) error {
	f, err := os.Open(results)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := report.Read(f, results)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("# Results\n\nMade of [results.txt](results.txt) by the program one directory up: do not edit.\n\n")
	if err := r.Conditions(&b); err != nil {
		return err
	}
	b.WriteByte('\n')
	if err := r.Tables(&b); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), b.Bytes(), 0o644); err != nil {
		return err
	}
	return r.Charts(dir)
}
