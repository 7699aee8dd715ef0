package report

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

const labelSize = 8.5 * vg.Length(1)

// newPlot returns a plot without data in the style of all charts.
func newPlot() *plot.Plot {
	p := plot.New()
	p.Title.TextStyle.Font = sans(9.5, true)
	p.Title.TextStyle.Color = black
	p.Title.Padding = 4
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(labelSize, false)
		a.Label.TextStyle.Color = grey
		a.Label.Padding = 3
		a.Tick.Label.Font = sans(labelSize, false)
		a.Tick.Label.Color = black
		a.Tick.Length = 3
		a.Tick.LineStyle.Color = grey
		a.LineStyle.Color = grey
		a.Padding = 3
	}
	return p
}

func sans(size vg.Length, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

func textStyle(size vg.Length, bold bool, c color.Color) text.Style {
	return text.Style{Color: c, Font: sans(size, bold), Handler: plot.DefaultTextHandler}
}

// widen makes room at both ends of an axis.
func widen(a *plot.Axis) {
	margin := max(0.06*(a.Max-a.Min), 0.01)
	a.Min -= margin
	a.Max += margin
}

// linearTicks marks round values in the units.
type linearTicks []prefix

func (units linearTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	unit := unitOf(high, units).size
	step := niceStep((high-low)/unit/4) * unit
	// Counting in integers keeps the marks from drifting.
	for i := int(math.Ceil(low / step)); float64(i)*step <= high; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: scaledShort(v, units)})
	}
	return ticks
}

// logTicks marks round values in the units on an axis of decimal logarithms. The
// axis has the logarithms rather than plot.LogScale since plot would put the
// label where the mean of the ends is.
type logTicks []prefix

func (units logTicks) Ticks(low, high float64) []plot.Tick {
	from, to := math.Pow(10, low), math.Pow(10, high)
	if to/from < 8 {
		ticks := linearTicks(units).Ticks(from, to)
		for i := range ticks {
			ticks[i].Value = math.Log10(ticks[i].Value)
		}
		return ticks
	}
	steps := []float64{1, 2, 5}
	if to/from > 1e4 {
		steps = steps[:1]
	}
	var ticks []plot.Tick
	for exp := int(math.Floor(low)); exp <= int(high)+1; exp++ {
		for _, step := range steps {
			v := step * math.Pow10(exp)
			if from <= v && v <= to {
				ticks = append(ticks, plot.Tick{Value: math.Log10(v), Label: scaledShort(v, units)})
			}
		}
	}
	return ticks
}

// barTicks are logTicks for bars that start at a least value instead of 0.
type barTicks struct {
	least float64
	units logTicks
}

func (t barTicks) Ticks(low, high float64) []plot.Tick {
	start := math.Log10(t.least)
	ticks := t.units.Ticks(low+start, high+start)
	for i := range ticks {
		ticks[i].Value -= start
	}
	return ticks
}

// niceStep returns the least of 1, 2 and 5 times a power of ten that is not below
// the step.
func niceStep(step float64) float64 {
	pow := math.Pow10(int(math.Floor(math.Log10(step))))
	for _, n := range []float64{1, 2, 5} {
		if n*pow >= step {
			return n * pow
		}
	}
	return 10 * pow
}
