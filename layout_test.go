package bufpool

import (
	"reflect"
	"runtime"
	"testing"
)

// What every Get and Put reads of a tier is one cache line, and what misses
// write is on another. A tier alone is allocated in a size class of 128 bytes,
// which is aligned to them.
func TestTierLayout(t *testing.T) {
	typ := reflect.TypeFor[tier]()
	if typ.Size() != 128 && reflect.TypeFor[uintptr]().Size() == 8 {
		t.Errorf("a tier has %d bytes, want 128", typ.Size())
	}
	keeps, _ := typ.FieldByName("keeps")
	misses, _ := typ.FieldByName("misses")
	if end := keeps.Offset + keeps.Type.Size(); end > 64 || misses.Offset < end || typ.Size()-misses.Offset < 56 {
		t.Errorf("keeps ends at %d, misses starts at %d of %d", end, misses.Offset, typ.Size())
	}
}

// What slow paths count is a cache line away from what Gets and Puts read.
func TestCountersLayout(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Sized](), reflect.TypeFor[Tiered](), reflect.TypeFor[BinaryTiered](), reflect.TypeFor[Switch](),
	} {
		counters, ok := typ.FieldByName("counters")
		if !ok {
			t.Fatalf("%v has no counters", typ)
		}
		first, _ := counters.Type.FieldByName("oversizedGets")
		if first.Offset < 64 {
			t.Errorf("%v: the counters are %d bytes from the rest", typ, first.Offset)
		}
	}
}

func TestPowerIndexTellsThePowersApart(t *testing.T) {
	seen := map[int]int{}
	for e := range maxExponent + 1 {
		i := powerIndex(1 << e)
		if i < 0 || i > 63 {
			t.Fatalf("1<<%d has index %d", e, i)
		}
		if other, ok := seen[i]; ok {
			t.Errorf("1<<%d and 1<<%d have one index", e, other)
		}
		seen[i] = e
	}
}

// Locals of two goroutines share no cache line: what they write at every Get and
// Put has size classes that are made of such lines.
func TestLocalLayout(t *testing.T) {
	if reflect.TypeFor[uintptr]().Size() < 8 {
		t.Skip("for 64 bits")
	}
	for typ, class := range map[reflect.Type]uintptr{
		reflect.TypeFor[Local]():              448,
		reflect.TypeFor[rack]():               64,
		reflect.TypeFor[[moreSlots]*[]byte](): 64,
	} {
		if size := typ.Size(); size > class || size <= class-16 {
			t.Errorf("%v has %d bytes, want up to %d", typ, size, class)
		}
	}
}

// The header of a buffer of a page and more has a cache line to itself; smaller
// ones are not worth it.
func TestHeaderLayout(t *testing.T) {
	for size, apart := range map[int]bool{64: false, 4095: false, 4096: true, 4097: true, 1 << 20: true} {
		seen := map[uintptr]bool{}
		shared := false
		var held []*[]byte
		for range 64 {
			b := newBuffer(1, size)
			held = append(held, b)
			line := reflect.ValueOf(b).Pointer() / 64
			shared = shared || seen[line]
			seen[line] = true
			if at := reflect.ValueOf(b).Pointer() % 64; apart && at != 0 {
				t.Errorf("size %d: a header starts at byte %d of its line", size, at)
			}
		}
		if shared == apart {
			t.Errorf("size %d: headers share lines: %v", size, shared)
		}
		runtime.KeepAlive(held)
	}
}
