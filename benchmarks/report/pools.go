package report

import (
	"image/color"
	"slices"
)

// ours are bufpool's own pools, each with the colour it has in every chart: dark
// enough for white, and told apart by the colour-blind as far as nine can be.
var ours = []struct {
	name  string
	color color.Color
}{
	{"binary", rgb(0x0072b2)},
	{"default", rgb(0xd55e00)},
	{"stepped", rgb(0x00875f)},
	{"tiered", rgb(0xc2267c)},
	{"switch", rgb(0x6a3d9a)},
	{"sized", rgb(0x9a6b00)},
	{"local+binary", rgb(0x1f9ede)},
	{"local+stepped", rgb(0x4aa82e)},
	{"local", rgb(0x7a3b1d)},
}

// muted are the colours of the rivals, in turn.
var muted = []color.Color{
	rgb(0x9aa0a6), rgb(0xb0a18f), rgb(0x93a890), rgb(0xab98b3), rgb(0x8aa3b0), rgb(0xb59a9a),
}

func isOurs(pool string) bool {
	_, ok := ourColor(pool)
	return ok
}

func ourColor(pool string) (color.Color, bool) {
	for _, o := range ours {
		if o.name == pool {
			return o.color, true
		}
	}
	return nil, false
}

// poolColor returns the colour of a pool among the pools of a scenario.
func poolColor(pool string, pools []string) color.Color {
	if c, ok := ourColor(pool); ok {
		return c
	}
	rivals := slices.DeleteFunc(slices.Clone(pools), isOurs)
	return muted[max(0, slices.Index(rivals, pool))%len(muted)]
}

func rgb(hex uint32) color.Color {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}
