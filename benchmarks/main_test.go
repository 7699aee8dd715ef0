package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	dist := filepath.Join(dir, "some.csv")
	if err := os.WriteFile(dist, []byte("size_bytes,cumulative_fraction\n100,0\n5000,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "a", "b")
	args := []string{"-o", out, "-samples", "1", "-requests", "1000", "-run", "GetPut|Traffic", "-pools", "stepped|make", "-dist", dist}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile(filepath.Join(out, "results.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"command: go run . -o b -samples 1", "-dist some.csv", "date: 2", "go: go1", "google.golang.org/grpc: v", "vitess.io/vitess: v",
		"BenchmarkGetPut/size=200/pool=stepped-", "BenchmarkTraffic/dist=some/pool=make-",
	} {
		if !strings.Contains(string(results), want) {
			t.Errorf("results lack %q", want)
		}
	}
	if strings.Contains(string(results), dir) {
		t.Error("results name a directory of this machine")
	}
	page, err := os.ReadFile(filepath.Join(out, "README.md"))
	if err != nil || !strings.Contains(string(page), "### Traffic, some") {
		t.Errorf("%v\n%s", err, page)
	}
	for _, chart := range []string{"getput", "traffic-heap", "traffic-misses", "traffic-tradeoff"} {
		if _, err := os.Stat(filepath.Join(out, chart+".svg")); err != nil {
			t.Error(err)
		}
	}

	// Drawn anew, it is the same.
	if err := os.Remove(filepath.Join(out, "README.md")); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-o", out, "-redraw"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(out, "README.md")); err != nil || string(again) != string(page) {
		t.Errorf("-redraw: %v\n%s", err, again)
	}
}

// A mistake costs nothing that was there.
func TestRunErrors(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, "results.txt")
	if err := os.WriteFile(results, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-samples", "0"}, {"-requests", "-1"}, {"-run", "("}, {"-pools", "["}, {"-dist", filepath.Join(dir, "none.csv")}, {"-dist", results},
		{"-unknown"}, {"-redraw"}, {"-run", "NoSuchScenario"}, {"extra"},
	} {
		if err := run(append([]string{"-o", dir}, args...), io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if got, _ := os.ReadFile(results); string(got) != "precious" {
		t.Errorf("results.txt is now %q", got)
	}
}
