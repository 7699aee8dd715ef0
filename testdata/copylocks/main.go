// Command copylocks copies pools, which go vet must complain about.
package main

import "github.com/bufpool/bufpool"

func main() {
	tiered := bufpool.Must(bufpool.NewTiered([]int{1}))
	binary := bufpool.Must(bufpool.NewBinaryTiered([]uint8{0}))
	sized := bufpool.Must(bufpool.NewSized(1))
	zero := new(bufpool.Switch)
	a, b, c, d := *tiered, *binary, *sized, *zero
	_, _, _, _ = &a, &b, &c, &d
}
