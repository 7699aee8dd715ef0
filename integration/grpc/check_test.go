// Package grpc_test has gRPC's pools and ours do each other's work.
package grpc_test

import (
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/internal/faults"
)

// gRPC's own pools are checked like any other. They clear, route a Put of any
// capacity to some tier, and panic on nil.
func TestMatrixOfGRPCsPools(t *testing.T) {
	tiered := func() bufpool.BufferPool { return mem.NewTieredBufferPool(256, 4<<10, 16<<10, 32<<10, 1<<20) }
	binary := func() bufpool.BufferPool {
		p, err := mem.NewBinaryTieredBufferPool(8, 12, 14, 15, 20)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	table := faults.Matrix([]faults.Parent{
		{New: tiered, Tier: 4 << 10, Largest: 1 << 20},
		{New: binary, Tier: 4 << 10, Largest: 1 << 20},
	}, t.Errorf)
	t.Logf("reported of those that can exist, four sizes of two pools:\n%s", table)
}
