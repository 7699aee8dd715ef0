package report

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

type point struct{ x, y float64 }

// bounds returns the ranges of the points.
func bounds(points []point) (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, p := range points {
		xmin, xmax = min(xmin, p.x), max(xmax, p.x)
		ymin, ymax = min(ymin, p.y), max(ymax, p.y)
	}
	return xmin, xmax, ymin, ymax
}

// seriesLines plots lines with their names at the right, moved apart where they
// would overlap. It implements plot.Plotter.
type seriesLines struct {
	series  []series
	columns int // the x values are 0 to columns-1
}

type series struct {
	name   string
	color  color.Color
	ours   bool
	points []point
}

// leader is the length of the line from a point to its label.
const leader = 26 * vg.Length(1)

func (l *seriesLines) DataRange() (xmin, xmax, ymin, ymax float64) {
	var all []point
	for _, s := range l.series {
		all = append(all, s.points...)
	}
	_, _, ymin, ymax = bounds(all)
	return 0, float64(max(1, l.columns-1)), ymin, ymax
}

func (l *seriesLines) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var width vg.Length
	for _, s := range l.series {
		width = max(width, textStyle(labelSize, s.ours, s.color).Width(s.name))
	}
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: leader + 4 + width}}}}
}

func (l *seriesLines) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	gridLines(c, p, false, true)
	at := func(pt point) vg.Point { return vg.Point{X: x(pt.x), Y: y(pt.y)} }

	order := slices.Clone(l.series)
	last := func(s series) vg.Length { return at(s.points[len(s.points)-1]).Y }
	slices.SortStableFunc(order, func(a, b series) int { return cmp.Compare(last(a), last(b)) })
	wanted := make([]vg.Length, len(order))
	for i, s := range order {
		wanted[i] = last(s)
	}
	placed := make(map[string]vg.Length)
	for i, y := range spread(wanted, labelSize+1.5, c.Min.Y, c.Max.Y) {
		placed[order[i].name] = y
	}

	for _, s := range l.series {
		width, radius, ink := vg.Length(0.9), vg.Length(1.6), grey
		if s.ours {
			width, radius, ink = 2, 2.8, s.color
		}
		line := draw.LineStyle{Color: s.color, Width: width}
		for i, pt := range s.points {
			if i > 0 && s.points[i-1].x == pt.x-1 {
				from, to := at(s.points[i-1]), at(pt)
				c.StrokeLine2(line, from.X, from.Y, to.X, to.Y)
			}
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: s.color, Radius: radius, Shape: draw.CircleGlyph{}}, at(pt))
		}
		end := at(s.points[len(s.points)-1])
		labelX := c.Max.X + leader
		thin := draw.LineStyle{Color: s.color, Width: 0.6}
		c.StrokeLines(thin, []vg.Point{
			{X: end.X + radius, Y: end.Y}, {X: c.Max.X + 6, Y: end.Y},
			{X: labelX - 4, Y: placed[s.name]}, {X: labelX, Y: placed[s.name]},
		})
		sty := textStyle(labelSize, s.ours, ink)
		fillCentred(&c, sty, vg.Point{X: labelX + 3, Y: placed[s.name]}, s.name)
	}
}

// spread moves ascending positions as little as it can so that they are at least
// gap apart and, if they fit, between low and high. The distances less the gaps
// must not descend, so this is isotonic regression: runs that descend become
// their mean.
func spread(wanted []vg.Length, gap, low, high vg.Length) []vg.Length {
	type run struct {
		sum vg.Length
		n   int
	}
	mean := func(r run) vg.Length { return r.sum / vg.Length(r.n) }
	var runs []run
	for i, y := range wanted {
		r := run{y - gap*vg.Length(i), 1}
		for len(runs) > 0 && mean(runs[len(runs)-1]) > mean(r) {
			before := runs[len(runs)-1]
			runs = runs[:len(runs)-1]
			r = run{before.sum + r.sum, before.n + r.n}
		}
		runs = append(runs, r)
	}
	high = max(low, high-gap*vg.Length(len(wanted)-1))
	var placed []vg.Length
	for _, r := range runs {
		y := min(max(mean(r), low), high)
		for range r.n {
			placed = append(placed, y+gap*vg.Length(len(placed)))
		}
	}
	return placed
}

// bars plots horizontal bars from the top down, with the names at the left and
// the values at the right. It implements plot.Plotter.
type bars struct {
	rows   []bar
	height int // rows to leave room for
	units  []prefix
	least  float64 // where bars of logarithmic length start; 0 for linear ones
}

// length is that of a bar, on the axis.
func (b *bars) length(v float64) float64 {
	if b.least == 0 {
		return v
	}
	return max(0, math.Log10(v/b.least))
}

type bar struct {
	name  string
	value float64
	mark  float64 // 0 for none
	color color.Color
	ours  bool
}

func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, r := range b.rows {
		xmax = max(xmax, b.length(r.value), b.length(r.mark))
	}
	if xmax == 0 {
		xmax = 1
	}
	return 0, xmax, 0, float64(b.height)
}

// text is what stands at the right of a bar.
func (b *bars) text(r bar) string {
	if r.mark == 0 {
		return scaled(r.value, b.units)
	}
	return scaled(r.value, b.units) + " | " + scaled(r.mark, b.units)
}

func (b *bars) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var left, right vg.Length
	for _, r := range b.rows {
		sty := textStyle(labelSize, r.ours, black)
		left = max(left, sty.Width(r.name))
		right = max(right, sty.Width(b.text(r)))
	}
	return []plot.GlyphBox{
		{X: 0, Rectangle: vg.Rectangle{Min: vg.Point{X: -left - 6}}},
		{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: right + 10}}},
	}
}

func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	gridLines(c, p, true, false)
	right := b.GlyphBoxes(p)[1].Max.X
	for i, r := range b.rows {
		mid := y(float64(b.height-i) - 0.5)
		half := (y(1) - y(0)) * 0.34
		c.FillPolygon(r.color, []vg.Point{
			{X: x(0), Y: mid - half}, {X: x(b.length(r.value)), Y: mid - half},
			{X: x(b.length(r.value)), Y: mid + half}, {X: x(0), Y: mid + half},
		})
		if r.mark > 0 {
			thin := draw.LineStyle{Color: r.color, Width: 0.8}
			c.StrokeLine2(thin, x(b.length(r.value)), mid, x(b.length(r.mark)), mid)
			thick := draw.LineStyle{Color: black, Width: 1.6}
			c.StrokeLine2(thick, x(b.length(r.mark)), mid-half-0.5, x(b.length(r.mark)), mid+half+0.5)
		}
		ink := grey
		if r.ours {
			ink = r.color
		}
		name := textStyle(labelSize, r.ours, ink)
		name.XAlign = draw.XRight
		fillCentred(&c, name, vg.Point{X: x(0) - 5, Y: mid}, r.name)
		value := textStyle(labelSize, r.ours, black)
		value.XAlign = draw.XRight
		fillCentred(&c, value, vg.Point{X: c.Max.X + right, Y: mid}, b.text(r))
	}
}

// labelled plots points with their names next to them, where they overlap neither
// each other nor a point. It implements plot.Plotter.
type labelled struct {
	points []namedPoint // in the order in which they choose a place
}

type namedPoint struct {
	name string
	point
	color color.Color
	ours  bool
}

func (l *labelled) DataRange() (xmin, xmax, ymin, ymax float64) {
	var all []point
	for _, p := range l.points {
		all = append(all, p.point)
	}
	return bounds(all)
}

func (l *labelled) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	gridLines(c, p, true, true)

	const margin = 2 // on both sides of a label
	var taken []vg.Rectangle
	for _, pt := range l.points {
		taken = append(taken, around(vg.Point{X: x(pt.x), Y: y(pt.y)}, 3.5, 3.5))
	}
	for _, pt := range slices.Backward(l.points) {
		at := vg.Point{X: x(pt.x), Y: y(pt.y)}
		radius := vg.Length(2.4)
		if pt.ours {
			radius = 3.6
		}
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: pt.color, Radius: radius, Shape: draw.CircleGlyph{}}, at)
	}
	for _, pt := range l.points {
		at := vg.Point{X: x(pt.x), Y: y(pt.y)}
		ink := grey
		if pt.ours {
			ink = pt.color
		}
		sty := textStyle(labelSize, pt.ours, ink)
		box := place(at, sty.Width(pt.name)+2*margin, labelSize, c.Rectangle, taken)
		taken = append(taken, box)
		near := vg.Point{X: min(max(at.X, box.Min.X), box.Max.X), Y: min(max(at.Y, box.Min.Y), box.Max.Y)}
		if math.Hypot(float64(near.X-at.X), float64(near.Y-at.Y)) > 7 {
			c.StrokeLine2(draw.LineStyle{Color: pt.color, Width: 0.5}, at.X, at.Y, near.X, near.Y)
		}
		fillCentred(&c, sty, vg.Point{X: box.Min.X + margin, Y: (box.Min.Y + box.Max.Y) / 2}, pt.name)
	}
}

// place returns a box of that size close to the point, within the area, that
// overlaps the least of what is taken: nothing, if there is room. It tries all
// directions, to the right first, and then farther away.
func place(at vg.Point, width, height vg.Length, area vg.Rectangle, taken []vg.Rectangle) vg.Rectangle {
	const directions = 16
	var best vg.Rectangle
	least := math.Inf(1)
	for distance := vg.Length(5); distance < 120; distance += 5 {
		for i := range directions {
			// 0, 1, -1, 2, -2, ...: away from the right to both sides.
			turn := (i + 1) / 2
			if i%2 == 0 {
				turn = -turn
			}
			sin, cos := math.Sincos(2 * math.Pi * float64(turn) / directions)
			box := around(vg.Point{
				X: at.X + vg.Length(cos)*(distance+width/2),
				Y: at.Y + vg.Length(sin)*(distance+height/2),
			}, width/2, height/2)
			if box.Min.X < area.Min.X || box.Max.X > area.Max.X || box.Min.Y < area.Min.Y || box.Max.Y > area.Max.Y {
				continue
			}
			var overlap float64
			for _, t := range taken {
				w := min(box.Max.X, t.Max.X) - max(box.Min.X, t.Min.X)
				h := min(box.Max.Y, t.Max.Y) - max(box.Min.Y, t.Min.Y)
				if w > 0 && h > 0 {
					overlap += float64(w * h)
				}
			}
			if overlap == 0 {
				return box
			}
			if overlap < least {
				least, best = overlap, box
			}
		}
	}
	return best
}

// around returns the rectangle around a point.
func around(p vg.Point, x, y vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: p.X - x, Y: p.Y - y}, Max: vg.Point{X: p.X + x, Y: p.Y + y}}
}

// fillCentred writes text so that its small letters are centred on the point's
// height.
func fillCentred(c *draw.Canvas, sty draw.TextStyle, at vg.Point, s string) {
	at.Y -= sty.Font.Size * 0.3
	c.FillText(sty, at, s)
}

// gridLines draws a line across the canvas at each mark of the axes.
func gridLines(c draw.Canvas, p *plot.Plot, vertical, horizontal bool) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: grid, Width: 0.6}
	if vertical {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			c.StrokeLine2(line, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
	if horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			c.StrokeLine2(line, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
}
