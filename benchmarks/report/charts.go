package report

import (
	"bytes"
	"cmp"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	chartWidth = 600 * vg.Length(1) // points: 800 pixels of CSS
	rowHeight  = 11.5 * vg.Length(1)
	titleSpace = 24 * vg.Length(1)
)

var (
	black = rgb(0x1f2328)
	grey  = rgb(0x59636e)
	grid  = rgb(0xe4e7eb)
)

// A figure is the content of one file: panels under a common title.
type figure struct {
	name   string // of the file, without extension
	title  string
	height vg.Length
	panels [][]*plot.Plot // rows of equal length, nil where there is none
}

// Charts writes the charts into the directory, which must exist: getput.svg,
// traffic-heap.svg, traffic-misses.svg and traffic-tradeoff.svg. Each replaces
// its predecessor atomically. A chart that the results have no data for is not
// written.
func (r *Results) Charts(dir string) error {
	for _, f := range r.figures() {
		if err := replace(filepath.Join(dir, f.name+".svg"), f.svg()); err != nil {
			return err
		}
	}
	return nil
}

func (r *Results) figures() []*figure {
	var figures []*figure
	if s := r.find("GetPut"); s != nil && slices.Contains(s.units, unitTime) {
		figures = append(figures, getPutFigure(s))
	}
	s := r.find(traffic)
	if s == nil {
		return figures
	}
	figures = append(figures,
		barFigure(s, "traffic-heap",
			"Heap: mean (bar, first number) and peak (mark, second), less is better",
			unitHeapMean, unitHeapPeak, byteSizes, 0),
		barFigure(s, "traffic-misses",
			"Misses per 1000 requests, log scale, less is better",
			unitMisses, "", numbers, 0.01),
		tradeoffFigure(s))
	return slices.DeleteFunc(figures, func(f *figure) bool { return len(f.panels) == 0 })
}

// getPutFigure has a line for each pool over the columns, which are the sizes in
// ascending order, evenly spaced because they are few and far from even.
func getPutFigure(s *scenario) *figure {
	columns := bySize(s.columns)
	p := newPlot()
	lines := &seriesLines{columns: len(columns)}
	var marks plot.ConstantTicks
	for i, c := range columns {
		marks = append(marks, plot.Tick{Value: float64(i), Label: sizeLabel(c)})
	}
	for _, pool := range s.pools {
		l := series{name: pool, color: poolColor(pool, s.pools), ours: isOurs(pool)}
		for i, c := range columns {
			if v, ok := c.median(pool, unitTime); ok {
				l.points = append(l.points, point{float64(i), math.Log10(v)})
			}
		}
		if l.points != nil {
			lines.series = append(lines.series, l)
		}
	}
	// Ours are drawn last, over the others.
	slices.SortStableFunc(lines.series, func(a, b series) int { return compareBool(a.ours, b.ours) })

	p.X.Tick.Marker = marks
	p.X.Label.Text = "length of the buffer"
	p.Y.Label.Text = "time per Get and Put, log scale, less is better"
	p.Y.Tick.Marker = logTicks(seconds)
	p.Add(lines)
	widen(&p.Y)
	return &figure{
		name:   "getput",
		title:  "Get and Put of one buffer",
		height: titleSpace + max(290, rowHeight*vg.Length(len(lines.series)+6)),
		panels: [][]*plot.Plot{{p}},
	}
}

// bySize returns the columns ascending by size, those without one last.
func bySize(columns []*column) []*column {
	size := func(c *column) int {
		v, _ := c.value("size")
		n, err := strconv.Atoi(v)
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	columns = slices.Clone(columns)
	slices.SortStableFunc(columns, func(a, b *column) int { return cmp.Compare(size(a), size(b)) })
	return columns
}

// sizeLabel is the label of the column, with a unit where it is only a size.
func sizeLabel(c *column) string {
	v, _ := c.value("size")
	if n, err := strconv.Atoi(v); err == nil && c.label == "size="+v {
		return scaledShort(float64(n), byteSizes)
	}
	return c.label
}

// barFigure has a panel for each distribution, with a bar for each pool, the
// shortest on top. The unit of the mark may be empty.
// The bars start at 0, or are logarithmic and start at the least value.
func barFigure(s *scenario, name, title, unit, markUnit string, units []prefix, least float64) *figure {
	var panels []*plot.Plot
	rows := 0
	var all []*bars
	for _, c := range s.columns {
		b := &bars{units: units, least: least}
		for _, pool := range c.sorted(s.pools, unit, false) {
			v, ok := c.median(pool, unit)
			if !ok {
				continue
			}
			r := bar{name: pool, value: v, color: rgb(0xb4bac1)}
			if col, ok := ourColor(pool); ok {
				r.color, r.ours = col, true
			}
			if m, ok := c.median(pool, markUnit); ok {
				r.mark = m
			}
			b.rows = append(b.rows, r)
		}
		if b.rows == nil {
			continue
		}
		rows = max(rows, len(b.rows))
		p := newPlot()
		p.Title.Text = c.title()
		p.X.Tick.Marker = linearTicks(units)
		if least > 0 {
			p.X.Tick.Marker = barTicks{least, units}
		}
		p.Y.Tick.Marker = plot.ConstantTicks{}
		p.Y.LineStyle.Width = 0
		p.Y.Padding = 0
		panels = append(panels, p)
		all = append(all, b)
	}
	for i, b := range all {
		b.height = rows
		panels[i].Add(b)
	}
	f := &figure{name: name, title: title, panels: tile(panels)}
	f.height = titleSpace + vg.Length(len(f.panels))*(rowHeight*vg.Length(rows)+52)
	return f
}

// tradeoffFigure has a panel for each distribution, with a point for each pool.
// Both scales are logarithmic since one pool that wastes a lot would press all
// others together.
func tradeoffFigure(s *scenario) *figure {
	var panels [][]*plot.Plot
	for _, c := range s.columns {
		pts := &labelled{}
		for _, pool := range s.pools {
			x, okX := c.median(pool, unitLent)
			y, okY := c.median(pool, unitRequests)
			if okX && okY && x > 0 && y > 0 {
				pts.points = append(pts.points, namedPoint{pool, point{math.Log10(x), math.Log10(y)}, poolColor(pool, s.pools), isOurs(pool)})
			}
		}
		if pts.points == nil {
			continue
		}
		// The labels of ours are placed first, where they fit best.
		slices.SortStableFunc(pts.points, func(a, b namedPoint) int { return compareBool(b.ours, a.ours) })
		p := newPlot()
		p.Title.Text = c.title()
		p.X.Label.Text = "bytes lent per byte asked, log scale, less is better"
		p.Y.Label.Text = "requests/s, log scale"
		p.X.Tick.Marker = logTicks(numbers)
		p.Y.Tick.Marker = logTicks(counts)
		p.Add(pts)
		widen(&p.X)
		widen(&p.Y)
		panels = append(panels, []*plot.Plot{p})
	}
	return &figure{
		name:   "traffic-tradeoff",
		title:  "Requests per second against the memory lent for them: best at the top left",
		height: titleSpace + 260*vg.Length(len(panels)),
		panels: panels,
	}
}

// tile arranges panels in two columns, or one for a single panel.
func tile(panels []*plot.Plot) [][]*plot.Plot {
	if len(panels) > 1 && len(panels)%2 == 1 {
		panels = append(panels, nil)
	}
	return slices.Collect(slices.Chunk(panels, max(1, min(2, len(panels)))))
}

// draw draws the figure onto a canvas of its size.
func (f *figure) draw(c draw.Canvas) {
	c.FillPolygon(color.White, []vg.Point{
		c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y},
	})
	sty := textStyle(11, true, black)
	sty.YAlign = draw.YTop
	c.FillText(sty, vg.Point{X: c.Min.X + 8, Y: c.Max.Y - 6}, f.title)

	tiles := draw.Tiles{
		Rows: len(f.panels), Cols: len(f.panels[0]),
		PadX: 16, PadY: 14, PadLeft: 8, PadRight: 8, PadTop: 2, PadBottom: 8,
	}
	for i, row := range plot.Align(f.panels, tiles, draw.Crop(c, 0, 0, 0, -titleSpace)) {
		for j, canvas := range row {
			if p := f.panels[i][j]; p != nil {
				p.Draw(canvas)
			}
		}
	}
}

func (f *figure) svg() []byte {
	c := vgsvg.New(chartWidth, f.height)
	f.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	// Few readers have Liberation installed, which everything is laid out with,
	// but Arial and Helvetica have the same widths.
	return bytes.ReplaceAll(b.Bytes(),
		[]byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// replace writes a file so that a reader sees the old content or the new one.
func replace(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimSuffix(filepath.Base(path), ".svg")+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
