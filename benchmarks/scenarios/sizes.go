package scenarios

import (
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
)

// Distribution is a distribution of message sizes: the inverse of its cumulative
// fraction, linear between points.
type Distribution struct {
	Name   string
	points []point
}

type point struct {
	size     float64
	fraction float64 // of the messages that are no larger
}

// most bounds the sizes, far below what an int holds.
const most = min(1<<40, math.MaxInt/2)

// ReadDistribution reads a CSV file with a header line and the columns size_bytes
// and cumulative_fraction, both ascending. Its errors name the file and the line.
func ReadDistribution(r io.Reader, name, file string) (*Distribution, error) {
	d := &Distribution{Name: name}
	c := csv.NewReader(r)
	c.FieldsPerRecord = 2
	c.Comment = '#'
	header := true
	for {
		row, err := c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := c.FieldPos(0)
		if header {
			if row[0] != "size_bytes" || row[1] != "cumulative_fraction" {
				return nil, fmt.Errorf("%s:%d: columns %q, want size_bytes,cumulative_fraction", file, line, row)
			}
			header = false
			continue
		}
		var p point
		var errs [2]error
		p.size, errs[0] = strconv.ParseFloat(row[0], 64)
		p.fraction, errs[1] = strconv.ParseFloat(row[1], 64)
		last := point{size: 1}
		if n := len(d.points); n > 0 {
			last = d.points[n-1]
		}
		switch {
		case errs[0] != nil || !(p.size >= last.size && p.size <= most):
			return nil, fmt.Errorf("%s:%d: size %s, want a number from %g to %d", file, line, row[0], last.size, most)
		case errs[1] != nil || !(p.fraction >= last.fraction && p.fraction <= 1):
			return nil, fmt.Errorf("%s:%d: fraction %s, want a number from %g to 1", file, line, row[1], last.fraction)
		}
		d.points = append(d.points, p)
	}
	if n := len(d.points); n == 0 || d.points[n-1].fraction != 1 {
		return nil, fmt.Errorf("%s: the last cumulative fraction is not 1", file)
	}
	return d, nil
}

// FilesBelow is the distribution of the sizes of the files below dir.
func FilesBelow(dir, name string) (*Distribution, error) {
	var sizes []float64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Size() > 0 {
			sizes = append(sizes, float64(info.Size()))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("no files below %s", dir)
	}
	slices.Sort(sizes)
	d := &Distribution{Name: name}
	for i, size := range sizes {
		d.points = append(d.points, point{size, float64(i+1) / float64(len(sizes))})
	}
	return d, nil
}

// Size returns the size below which a fraction q of the messages are, 0 <= q < 1.
func (d *Distribution) Size(q float64) int {
	i, _ := slices.BinarySearchFunc(d.points, q, func(p point, q float64) int {
		if p.fraction < q {
			return -1
		}
		return 1
	})
	if i == 0 {
		return int(d.points[0].size)
	}
	a, b := d.points[i-1], d.points[i]
	return int(a.size + (b.size-a.size)*(q-a.fraction)/(b.fraction-a.fraction))
}

// Sizes returns the n quantiles (i+½)/n, in an order that is random but always the
// same.
func (d *Distribution) Sizes(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = d.Size((float64(i) + 0.5) / float64(n))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	rnd.Shuffle(n, func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}
