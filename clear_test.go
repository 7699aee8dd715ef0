package bufpool_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/bufpool/bufpool"
)

// whole is the buffer up to its capacity.
func whole(b *[]byte) []byte { return (*b)[:cap(*b)] }

var filling = bytes.Repeat([]byte{0xAA}, 4096)

func fill(b *[]byte) {
	for w := whole(b); len(w) > 0; w = w[copy(w, filling):] {
	}
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func TestClearOnPut(t *testing.T) {
	for _, k := range kinds() {
		p := k.checked(bufpool.WithClear(bufpool.ClearOnPut))
		sizes := p.Sizes()
		largest := sizes[len(sizes)-1]
		for _, n := range append(sizes, largest+1) {
			b := p.Get(n)
			fill(b)
			alias := whole(b)
			*b = (*b)[:n/2]
			p.Put(b)
			if !isZero(alias) { // kept or dropped, before any other Get
				t.Errorf("%s: Put of a capacity of %d left secrets", k.name, n)
			}
			for range 2 {
				if got := p.Get(min(1, n)); !isZero(whole(got)) {
					t.Errorf("%s: Get does not hand out zeros up to the capacity", k.name)
				}
			}
		}
		for _, c := range []int{1, sizes[0] - 1, sizes[0] + 1, 2*largest + 1} { // foreign
			b := make([]byte, max(c, 1))
			fill(&b)
			alias := whole(&b)
			b = b[:0]
			p.Put(&b)
			if !isZero(alias) {
				t.Errorf("%s: Put of a foreign capacity of %d left secrets", k.name, c)
			}
		}
	}
}

func TestClearOnGet(t *testing.T) {
	for _, k := range kinds() {
		p := k.checked(bufpool.WithClear(bufpool.ClearOnGet))
		n := 1 // the shortest length that the tier serves
		for _, size := range p.Sizes() {
			dirty := false
			for range 50 {
				b := p.Get(size)
				fill(b)
				p.Put(b)
				got := p.Get(n)
				if !isZero(*got) {
					t.Fatalf("%s: Get(%d) is not clear", k.name, n)
				}
				// That it is no protection is what its doc says.
				if dirty = !isZero(whole(got)[n:]); dirty || n == size {
					break
				}
			}
			if !dirty && n < size {
				t.Errorf("%s: a tier of %d never held old bytes behind the length", k.name, size)
			}
			n = size + 1
		}
	}
}

// isDirty reports whether a pool hands out what the last user left.
func isDirty(p bufpool.BufferPool) bool {
	for range 50 {
		b := p.Get(300)
		fill(b)
		p.Put(b)
		if got := p.Get(300); !isZero(*got) {
			return true
		}
	}
	return false
}

func TestClearNeverIsTheDefault(t *testing.T) {
	for _, opts := range [][]bufpool.Option{nil, {bufpool.WithClear(bufpool.ClearNever)}} {
		for _, k := range kinds() {
			if p := k.checked(opts...); slices.Max(p.Sizes()) >= 300 && !isDirty(p) {
				t.Errorf("%s clears", k.name)
			}
		}
	}
}

func TestLastClearCounts(t *testing.T) {
	p := bufpool.Must(bufpool.NewSwitch(bufpool.WithClear(bufpool.ClearOnPut), bufpool.WithClear(bufpool.ClearNever)))
	b := p.Get(1)
	fill(b)
	alias := whole(b)
	p.Put(b)
	if isZero(alias) {
		t.Error("cleared")
	}
}
