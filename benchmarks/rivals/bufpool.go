package rivals

import "github.com/bufpool/bufpool"

// Binary is bufpool's BinaryTiered with a tier for each power of two from 256 B
// to 16 MiB.
//
// As all of bufpool's here, it does not clear, and it keeps a buffer only if
// its capacity is exactly a tier's.
func Binary() Spec[*[]byte] {
	return ours("binary", func() Pool[*[]byte] {
		return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 16<<20)))
	})
}

// Default is a pool like bufpool's process default, which ends at 8 MiB.
func Default() Spec[*[]byte] {
	return ours("default", func() Pool[*[]byte] {
		return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	})
}

// Tiered is bufpool's Tiered with the seven sizes that Switch has.
func Tiered() Spec[*[]byte] {
	return ours("tiered", func() Pool[*[]byte] {
		return bufpool.Must(bufpool.NewTiered([]int{
			4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 5 << 20, 10 << 20,
		}))
	})
}

// Switch is bufpool's Switch.
func Switch() Spec[*[]byte] {
	return ours("switch", func() Pool[*[]byte] { return new(bufpool.Switch) })
}

// Stepped is bufpool's Stepped with four tiers for each doubling from 32 B to
// 16 MiB.
func Stepped() Spec[*[]byte] {
	return ours("stepped", func() Pool[*[]byte] {
		return bufpool.Must(bufpool.NewStepped(32, 16<<20, 4))
	})
}

// LocalBinary is Binary with a Local in front of it for each goroutine.
func LocalBinary() Spec[*[]byte] { return local(Binary()) }

// LocalStepped is Stepped with a Local in front of it for each goroutine.
func LocalStepped() Spec[*[]byte] { return local(Stepped()) }

func local(s Spec[*[]byte]) Spec[*[]byte] {
	s.Name = "local+" + s.Name
	s.Front = func(parent Pool[*[]byte], limit int) Pool[*[]byte] {
		return bufpool.NewLocal(parent, limit)
	}
	return s
}

// ours is a Spec of one of bufpool's pools, which need no adapter.
func ours(name string, build func() Pool[*[]byte]) Spec[*[]byte] {
	return Spec[*[]byte]{
		Name:   name,
		New:    func(int) Pool[*[]byte] { return build() },
		Bytes:  pointee,
		Handle: pointer,
	}
}
