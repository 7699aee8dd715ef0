package report

import (
	"math"
	"slices"
	"strconv"
)

// A prefix is a unit's name and its size in the base unit.
type prefix struct {
	name string
	size float64
}

var (
	seconds   = []prefix{{" ns", 1e-9}, {" µs", 1e-6}, {" ms", 1e-3}, {" s", 1}}
	byteSizes = []prefix{{" B", 1}, {" KiB", 1 << 10}, {" MiB", 1 << 20}, {" GiB", 1 << 30}, {" TiB", 1 << 40}}
	numbers   = []prefix{{"", 1}}
	counts    = []prefix{{"", 1}, {" k", 1e3}, {" M", 1e6}, {" G", 1e9}}
)

// scaled returns v with three significant digits in the unit of the list, which
// is ascending, that leaves less than a thousand.
func scaled(v float64, units []prefix) string {
	u := unitOf(v, units)
	return digits3(v/u.size) + u.name
}

// scaledShort is scaled without the zeros that only show precision, for the
// marks of an axis.
func scaledShort(v float64, units []prefix) string {
	u := unitOf(v, units)
	return plain(v/u.size) + u.name
}

func unitOf(v float64, units []prefix) prefix {
	i := slices.IndexFunc(units, func(u prefix) bool { return round3(v/u.size) < 1000 })
	if i < 0 {
		i = len(units) - 1
	}
	return units[i]
}

// digits3 returns v with three significant digits, and zero as such.
func digits3(v float64) string {
	if v == 0 {
		return "0"
	}
	v = round3(v)
	exp := int(math.Floor(math.Log10(v)))
	return strconv.FormatFloat(v, 'f', max(0, 2-exp), 64)
}

// plain returns v rounded to three significant digits, in as few as it needs.
func plain(v float64) string {
	return strconv.FormatFloat(round3(v), 'f', -1, 64)
}

// round3 rounds to three significant digits. It goes through the decimal
// representation because that is what gets shown.
func round3(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return r
}
