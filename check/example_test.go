package check_test

import (
	"fmt"
	"runtime"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
)

// In staging or in production, around the process default.
func Example() {
	pool, err := check.New(bufpool.Default(), check.WithReport(func(v check.Violation) {
		fmt.Println(v.Summary()) // v.Error() has the stacks, too; check.Log logs them
	}))
	if err != nil {
		panic(err)
	}
	defer bufpool.SetDefault(pool)()

	b := bufpool.Get(200)
	bufpool.Put(b)
	bufpool.Put(b)
	// Output:
	// check: double Put: 256 bytes, 200 asked for
}

// The first line of each report; the README has them in full.
func ExampleViolation_Summary() {
	parent := bufpool.Must(bufpool.NewSized(4096))
	leaked := make(chan bool)
	pool := bufpool.Must(check.New(parent, check.WithReport(func(v check.Violation) {
		fmt.Println(v.Summary())
		if v.Kind == check.Leak {
			close(leaked)
		}
	})))

	b := pool.Get(200)
	view := *b
	pool.Put(b)
	pool.Put(b)
	copy(view[17:], "late")
	pool.Verify()

	b = pool.Get(200)
	copy((*b)[:4096][200:], "too much")
	pool.Put(b)

	foreign := make([]byte, 700)
	pool.Put(&foreign)

	b = pool.Get(200)
	*b = (*b)[12:]
	pool.Put(b)

	b = pool.Get(200)
	*b = (*b)[:100:100]
	pool.Put(b)

	b = pool.Get(200)
	*b = []byte("another")
	pool.Put(b)

	pool.Get(300)
	for range 1000 {
		select {
		case <-leaked:
			return
		default:
			runtime.GC()
		}
	}
	// Output:
	// check: double Put: 4096 bytes, 200 asked for
	// check: write after Put: 4096 bytes, 200 asked for, changed from byte 17 on: 6c 61 74 65 dd dd dd dd dd dd dd dd dd dd dd dd
	// check: write beyond the length: 4096 bytes, 200 asked for, changed from byte 200 on: 74 6f 6f 20 6d 75 63 68 00 00 00 00 00 00 00 00
	// check: Put of a buffer that was not obtained from this pool: 700 bytes, the tiers are [4096]
	// check: Put of an interior slice: 4096 bytes, 200 asked for, put from byte 12 on
	// check: Put of a slice of less capacity: 4096 bytes, 200 asked for
	// check: Put of a replaced slice: 4096 bytes, 200 asked for
	// check: leak: 4096 bytes, 300 asked for
}
