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
	sizes := []int{256, 4 << 10, 16 << 10, 64 << 10, 1 << 20}
	table := faults.Matrix([]func() bufpool.BufferPool{
		func() bufpool.BufferPool { return bufpool.Must(bufpool.NewTiered(sizes)) },
		func() bufpool.BufferPool { return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 1<<20))) },
		func() bufpool.BufferPool { return new(bufpool.Switch) },
		func() bufpool.BufferPool { return bufpool.Must(bufpool.NewStepped(256, 1<<20, 4)) },
	}, 4<<10, 10<<20, t.Errorf)
	t.Logf("reported of those that can exist, four sizes of four pools:\n%s", table)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), table) {
		t.Error("the table in the README is another one")
	}
}
