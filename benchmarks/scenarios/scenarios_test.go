package scenarios

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bufpool/bufpool/benchmarks/report"
)

const csvHeader = "size_bytes,cumulative_fraction\n"

func TestDistribution(t *testing.T) {
	d, err := ReadDistribution(strings.NewReader(csvHeader+"10,0.5\n110,1.0\n"), "d", "d.csv")
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[float64]int{0: 10, 0.25: 10, 0.5: 10, 0.75: 60, 0.99999999: 109} {
		if got := d.Size(q); got != want {
			t.Errorf("Size(%g) = %d, want %d", q, got, want)
		}
	}
	sizes := d.Sizes(1000)
	if again := d.Sizes(1000); !slices.Equal(sizes, again) || slices.IsSorted(sizes) {
		t.Error("the order of Sizes is another each time, or none")
	}
	slices.Sort(sizes)
	if sizes[0] != 10 || sizes[499] != 10 || sizes[750] != 60 || sizes[999] != 109 {
		t.Errorf("quantiles %d, %d, %d, %d", sizes[0], sizes[499], sizes[750], sizes[999])
	}
}

func TestDistributionErrors(t *testing.T) {
	for name, test := range map[string]struct{ csv, want string }{
		"empty":           {"", "d.csv: the last cumulative fraction is not 1"},
		"no rows":         {csvHeader, "d.csv: the last cumulative fraction is not 1"},
		"other header":    {"a,b\n1,1\n", "d.csv:1: columns"},
		"no header":       {"1,1\n", "d.csv:1: columns"},
		"one column":      {csvHeader + "1\n", "d.csv: record on line 2"},
		"word":            {csvHeader + "one,1\n", "d.csv:2: size one"},
		"zero":            {csvHeader + "0,1\n", "d.csv:2: size 0"},
		"negative":        {csvHeader + "-4,1\n", "d.csv:2: size -4"},
		"no size":         {csvHeader + "NaN,1\n", "d.csv:2: size NaN"},
		"huge":            {csvHeader + "1e300,1\n", "d.csv:2: size 1e300"},
		"falling size":    {csvHeader + "9,0.5\n8,1\n", "d.csv:3: size 8"},
		"above one":       {csvHeader + "9,1.5\n", "d.csv:2: fraction 1.5"},
		"no fraction":     {csvHeader + "9,NaN\n", "d.csv:2: fraction NaN"},
		"falling":         {csvHeader + "8,0.5\n9,0.4\n10,1\n", "d.csv:3: fraction 0.4"},
		"not to the end":  {csvHeader + "8,0.5\n", "d.csv: the last cumulative fraction is not 1"},
		"quotes, no end":  {csvHeader + "\"8,0.5\n", "d.csv: "},
		"fraction of two": {csvHeader + "8,0.5,1\n", "d.csv: record on line 2"},
	} {
		d, err := ReadDistribution(strings.NewReader(test.csv), "d", "d.csv")
		if err == nil || d != nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestFilesBelow(t *testing.T) {
	dir := t.TempDir()
	if _, err := FilesBelow(dir, "x"); err == nil {
		t.Error("no error for a directory without files")
	}
	if _, err := FilesBelow(filepath.Join(dir, "none"), "x"); err == nil {
		t.Error("no error for a directory that is not there")
	}
	for name, size := range map[string]int{"empty": 0, "a": 10, "b": 30} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := FilesBelow(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{d.Size(0), d.Size(0.5), d.Size(0.75)}; !slices.Equal(got, []int{10, 10, 20}) {
		t.Errorf("sizes %d", got)
	}
}

// Every scenario writes results of every pool that takes part, which the report
// can read.
func TestEveryScenario(t *testing.T) {
	d, err := ReadDistribution(strings.NewReader(csvHeader+"1,0.1\n100,0.5\n70000,1\n"), "little", "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var names []string
	r := Run{
		Samples: 2, Requests: 2000, Distributions: []*Distribution{d}, Out: &out,
		Pools:    regexp.MustCompile("^(stepped|local.binary|make-slice|grpc-default|bytebufferpool)$"),
		Progress: func(name string) { names = append(names, name) },
	}
	if err := r.Do(); err != nil {
		t.Fatal(err)
	}
	results, err := report.Read(&out, "results")
	if err != nil {
		t.Fatal(err)
	}
	var tables bytes.Buffer
	if err := results.Tables(&tables); err != nil {
		t.Fatal(err)
	}
	if len(names) != 12 {
		t.Errorf("%d scenarios ran: %v", len(names), names)
	}
	for _, name := range names {
		if name == "CPUs" && !strings.Contains(tables.String(), name) {
			continue // on a machine with one
		}
		_, table, ok := strings.Cut(tables.String(), "### "+name)
		table, _, _ = strings.Cut(table, "###")
		for _, pool := range []string{"**stepped**", "make-slice", "grpc-default", "bytebufferpool"} {
			if !ok || !strings.Contains(table, pool) {
				t.Errorf("%s: no row of %s in\n%s", name, pool, table)
			}
		}
	}
}

func TestOnlySomeScenarios(t *testing.T) {
	var out bytes.Buffer
	r := Run{Samples: 1, Only: regexp.MustCompile("Foreign"), Pools: regexp.MustCompile("switch"), Out: &out}
	if err := r.Do(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 2 || !strings.Contains(out.String(), "BenchmarkForeign/capacity=5000/pool=W-") {
		t.Errorf("%s", &out)
	}
}

// What a sample of Traffic says is right where it can be known: nothing is pooled
// by make, and a buffer of 100 has twice or three times the bytes asked for.
func TestServe(t *testing.T) {
	sizes := make([]int, 6400)
	for i := range sizes {
		sizes[i] = 100
	}
	for _, c := range contenders() {
		s := c.new(100).serve(sizes)
		if s.requests != len(sizes) || s.asked != int64(100*len(sizes)) || s.lent < s.asked || s.took <= 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
		if strings.HasPrefix(c.name, "make") != (s.misses == len(sizes)) {
			t.Errorf("%s: %d misses of %d", c.name, s.misses, len(sizes))
		}
		if s.misses < 0 || s.misses > len(sizes) || math.IsNaN(s.heapMean) || s.heapPeak < s.heapMean {
			t.Errorf("%s: %+v", c.name, s)
		}
		if c.name == "binary" && s.lent != int64(256*len(sizes)) {
			t.Errorf("binary lent %d bytes for %d", s.lent, s.asked)
		}
	}
}
