package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gonum.org/v1/plot/vg"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func load(t *testing.T) *Results {
	t.Helper()
	in, err := os.Open("testdata/results.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	res, err := Read(in, "results.txt")
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestMarkdown(t *testing.T) {
	for file, write := range map[string]func(*Results, io.Writer) error{
		"tables.md":     (*Results).Tables,
		"conditions.md": (*Results).Conditions,
	} {
		var got bytes.Buffer
		if err := write(load(t), &got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs; run with -args -update and look at the difference. Got:\n%s", path, got.Bytes())
		}

		broken := errors.New("broken")
		if err := write(load(t), failingWriter{broken}); !errors.Is(err, broken) {
			t.Errorf("%s: the writer's error got lost: %v", file, err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestReadErrors(t *testing.T) {
	const good = "BenchmarkA/pool=x-2 1 1 ns/op\n"
	for name, test := range map[string]struct{ in, want string }{
		"empty":         {"", "f.txt: no benchmark results"},
		"garbage":       {"\x00\xff garbage\n{}\n", "f.txt: no benchmark results"},
		"only a name":   {"BenchmarkA/pool=x-2\n", "f.txt: no benchmark results"},
		"no count":      {good + "BenchmarkA/pool=x-2 many 1 ns/op\n", "f.txt:2: parsing iteration count"},
		"no value":      {good + good + "BenchmarkA/pool=x-2 1 fast ns/op\n", "f.txt:3: parsing measurement"},
		"no unit":       {good + "BenchmarkA/pool=x-2 1 1\n", "f.txt:2: missing units"},
		"no pool":       {"BenchmarkA/size=1-2 1 1 ns/op\n", "f.txt:1: A/size=1-2 has no pool="},
		"zero time":     {good + "BenchmarkA/pool=x-2 1 0 ns/op\n", "f.txt:2: sec/op is zero"},
		"negative":      {"BenchmarkA/pool=x-2 1 -1 ns/op\n", "f.txt:1: "},
		"not a number":  {"BenchmarkA/pool=x-2 1 NaN ns/op\n", "f.txt:1: "},
		"infinite":      {"BenchmarkA/pool=x-2 1 +Inf req/s\n", "f.txt:1: "},
		"unit metadata": {"Unit ns/op assume=exact\n", "f.txt: no benchmark results"},
	} {
		res, err := Read(strings.NewReader(test.in), "f.txt")
		if err == nil || res != nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, %v, want the error %q", name, res, err, test.want)
		}
	}

	broken := errors.New("broken")
	_, err := Read(io.MultiReader(strings.NewReader(good), iotest.ErrReader(broken)), "f.txt")
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "f.txt:1: ") {
		t.Errorf("got %v, want f.txt:1 and the reader's error", err)
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{3, 1, 2}, 2},
		{[]float64{100, 1, 3, 2}, 2.5},
	} {
		in := slices.Clone(test.in)
		if got := median(test.in); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.in, got, test.want)
		}
		if !slices.Equal(in, test.in) {
			t.Errorf("median changed %v to %v", in, test.in)
		}
	}
}

func TestScaled(t *testing.T) {
	for _, test := range []struct {
		v     float64
		units []prefix
		want  string
	}{
		{25.1e-9, seconds, "25.1 ns"},
		{0.25e-9, seconds, "0.250 ns"},
		{999.4e-9, seconds, "999 ns"},
		{999.6e-9, seconds, "1.00 µs"},
		{12.34e-3, seconds, "12.3 ms"},
		{5000, seconds, "5000 s"},
		{0, byteSizes, "0 B"},
		{999, byteSizes, "999 B"},
		{1023, byteSizes, "0.999 KiB"},
		{3 << 20, byteSizes, "3.00 MiB"},
		{1.234e6, counts, "1.23 M"},
		{9.999, numbers, "10.0"},
	} {
		if got := scaled(test.v, test.units); got != test.want {
			t.Errorf("scaled(%v) = %q, want %q", test.v, got, test.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct{ in, want []vg.Length }{
		{nil, nil},
		{[]vg.Length{10, 50}, []vg.Length{10, 50}},
		{[]vg.Length{50, 50}, []vg.Length{45, 55}},
		{[]vg.Length{0, 0, 50}, []vg.Length{0, 10, 50}},
		{[]vg.Length{99, 100}, []vg.Length{90, 100}},
	} {
		if got := spread(test.in, 10, 0, 100); !slices.Equal(got, test.want) {
			t.Errorf("spread(%v) = %v, want %v", test.in, got, test.want)
		}
	}
}

func TestCharts(t *testing.T) {
	pools := map[string][]string{
		"getput.svg":           {"W", "binary", "grpc-default", "local+binary"},
		"traffic-heap.svg":     {"stepped", "grpc-default", "control"},
		"traffic-misses.svg":   {"stepped", "grpc-default", "control", "gnet.ring"},
		"traffic-tradeoff.svg": {"stepped", "grpc-default", "control", "gnet.ring"},
	}
	dir := t.TempDir()
	old := filepath.Join(dir, "getput.svg")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := load(t).Charts(dir); err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if err := load(t).Charts(again); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(pools) {
		t.Errorf("got the files %v", entries)
	}
	for file, names := range pools {
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		texts := svgTexts(t, file, got)
		for _, name := range names {
			if !slices.Contains(texts, name) {
				t.Errorf("%s lacks %s", file, name)
			}
		}
		second, err := os.ReadFile(filepath.Join(again, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, second) {
			t.Errorf("%s differs the second time", file)
		}
	}
}

// svgTexts parses the whole document and returns its texts.
func svgTexts(t *testing.T, file string, svg []byte) []string {
	t.Helper()
	var texts []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
}

// Results with as little as possible must neither panic nor leave out the chart.
func TestChartsOfLittle(t *testing.T) {
	for name, in := range map[string]string{
		"getput":           "BenchmarkGetPut/pool=x-2 1 5 ns/op\n",
		"traffic-misses":   "BenchmarkTraffic/dist=d/pool=x-2 1 0 misses/1000\n",
		"traffic-heap":     "BenchmarkTraffic/dist=d/pool=x-2 1 0 heap-mean-B\n",
		"traffic-tradeoff": "BenchmarkTraffic/dist=d/pool=x-2 1 5 req/s 1 lent/asked\n",
		"":                 "BenchmarkTraffic/dist=d/pool=x-2 1 0 req/s 0 lent/asked\n",
	} {
		res, err := Read(strings.NewReader(in), "f.txt")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := res.Charts(dir); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		var want []string
		if name != "" {
			want = []string{filepath.Join(dir, name+".svg")}
		}
		if !slices.Equal(files, want) {
			t.Errorf("%q: got %v, want %v", name, files, want)
		}
	}
}

func TestChartsError(t *testing.T) {
	err := load(t).Charts(filepath.Join(t.TempDir(), "missing"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}

	// A failed replacement leaves no temporary file.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "getput.svg"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := load(t).Charts(dir); err == nil {
		t.Error("replaced a directory")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left %v", files)
	}
}
