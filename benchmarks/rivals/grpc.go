package rivals

import "google.golang.org/grpc/mem"

// GRPCDefault is a pool of the sizes that mem.DefaultBufferPool has: 256 B,
// 4 KiB, 16 KiB, 32 KiB and 1 MiB. It is built anew so that no two runs share
// one.
//
// It clears the whole capacity of a recycled buffer on Get: a length of 33000
// is cleared as 1 MiB. What is larger than its largest tier, it keeps in
// one more sync.Pool, whatever the size. A foreign buffer goes to the largest
// tier that it can serve. There is a variant that does not clear, but it is
// internal to gRPC.
func GRPCDefault() Spec[*[]byte] {
	return grpc("grpc-default", binary(8, 12, 14, 15, 20))
}

// GRPCBinary is the same kind of pool with a tier for each power of two from
// 256 B to 1 MiB, so that clearing costs at most twice the length from 256 B
// up.
func GRPCBinary() Spec[*[]byte] {
	return grpc("grpc-binary", binary(8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20))
}

// GRPCTiered is gRPC's other kind of pool, which finds a tier by searching, with
// the sizes of its default. It clears and keeps as that does.
func GRPCTiered() Spec[*[]byte] {
	return grpc("grpc-tiered", func() mem.BufferPool {
		return mem.NewTieredBufferPool(256, 4<<10, 16<<10, 32<<10, 1<<20)
	})
}

func grpc(name string, build func() mem.BufferPool) Spec[*[]byte] {
	return Spec[*[]byte]{
		Name:   name,
		Module: "google.golang.org/grpc",
		New:    func(int) Pool[*[]byte] { return build() },
		Bytes:  pointee,
		Handle: pointer,

		Disguises: true,
	}
}

func binary(exponents ...uint8) func() mem.BufferPool {
	return func() mem.BufferPool {
		p, err := mem.NewBinaryTieredBufferPool(exponents...)
		if err != nil {
			panic(err)
		}
		return p
	}
}
