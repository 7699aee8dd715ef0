// Command copylocks copies pools, which go vet must complain about.
package main

import (
	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

func main() {
	tiered := bufpool.Must(bufpool.NewTiered([]int{1}))
	binary := bufpool.Must(bufpool.NewBinaryTiered([]uint8{0}))
	stepped := bufpool.Must(bufpool.NewStepped(4, 4, 4))
	sized := bufpool.Must(bufpool.NewSized(1))
	zero := new(bufpool.Switch)
	local := bufpool.NewLocal(nil, 0)
	checked := bufpool.Must(check.New(local))
	buffer, slices := bufpool.NewBuffer(nil, 0), bufpool.NewSlices(nil, 0)
	a, b, c, d, e, f, g, h, i := *tiered, *binary, *stepped, *sized, *zero, *local, *checked, *buffer, *slices
	_, _, _, _, _, _, _, _, _ = &a, &b, &c, &d, &e, &f, &g, &h, &i
}
