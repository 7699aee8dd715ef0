package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/faults"
)

// TestMatrix commits every fault under every circumstance, and compares the table of
// what was reported with the README's.
func TestMatrix(t *testing.T) {
	const most = 256 << 10
	table := faults.Matrix([]faults.Parent{
		{New: func() bufpool.BufferPool { return bufpool.Must(bufpool.NewTiered([]int{256, 4096, most})) }, Tier: 4096, Largest: most},
		{New: func() bufpool.BufferPool { return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, most))) }, Tier: 4096, Largest: most},
		{New: func() bufpool.BufferPool { return bufpool.Must(bufpool.NewStepped(256, most, 4)) }, Tier: 5120, Largest: most},
		{New: func() bufpool.BufferPool { return new(bufpool.Switch) }, Tier: 16 << 10, Largest: 10 << 20},
	}, t.Errorf)
	t.Logf("reported of those that can exist, four sizes of four pools:\n%s", table)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), table) {
		t.Error("the table in the README is another one")
	}
}
