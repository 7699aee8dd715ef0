package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

var (
	pngFrom = flag.String("png-from", "", "read results from this `file` and render their charts as PNG")
	pngTo   = flag.String("png-to", "", "the `directory` for -png-from")
)

// TestPNG renders charts for looking at them, on request only:
//
//	go test -run=TestPNG ./report -args -png-from=FILE -png-to=DIR
func TestPNG(t *testing.T) {
	if *pngFrom == "" {
		t.Skip("no -png-from")
	}
	in, err := os.Open(*pngFrom)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	res, err := Read(in, *pngFrom)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.figures() {
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(chartWidth, f.height), vgimg.UseDPI(96))}
		f.draw(draw.New(c))
		out, err := os.Create(filepath.Join(*pngTo, f.name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := c.WriteTo(out); err != nil {
			t.Fatal(err)
		}
	}
}
