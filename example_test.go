package bufpool_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/bufpooltest"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// Those that use the default pool, once more with one that fails t: what is shown must
// be right.
func TestExamplesUseTheDefaultPoolWell(t *testing.T) {
	if !pooltest.Checked() {
		t.Skip("for the second pass")
	}
	defer bufpool.SetDefault(pooltest.Check(t, bufpool.Default()))()
	Example()
	ExampleGrow()
	ExampleReadN()
	ExampleNewLocal()
}

func Example() {
	b := bufpool.Get(11) // len(*b) is 11, the contents are arbitrary
	copy(*b, "hello, pool")
	fmt.Printf("%s: %d of %d bytes\n", *b, len(*b), cap(*b))
	bufpool.Put(b) // do not use *b, or any slice of it, from here on

	// Output: hello, pool: 11 of 256 bytes
}

func ExampleSetDefault() {
	// One line at the start of main makes the process default clear what it is
	// given back.
	restore := bufpool.SetDefault(bufpool.Must(
		bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20), bufpool.WithClear(bufpool.ClearOnPut))))
	defer restore() // in an example; a program would not

	b := bufpool.Get(6)
	copy(*b, "secret")
	bufpool.Put(b)
	fmt.Println((*bufpool.Get(6))[0])

	// Output: 0
}

func ExampleSetDefault_restore() {
	restore := bufpool.SetDefault(bufpool.Nop{}) // in a test, say
	defer restore()
	fmt.Printf("%T\n", bufpool.Default())

	// Output: bufpool.Nop
}

func ExampleNewTiered() {
	p, err := bufpool.NewTiered([]int{1000, 5000, 70000})
	if err != nil {
		panic(err)
	}
	for _, n := range []int{0, 1000, 1001, 70000, 70001} {
		b := p.Get(n)
		fmt.Println(n, cap(*b))
		p.Put(b)
	}

	// Output:
	// 0 1000
	// 1000 1000
	// 1001 5000
	// 70000 70000
	// 70001 70001
}

func ExampleGrow() {
	var p bufpool.BufferPool = bufpool.Default()
	b := p.Get(0)
	for _, word := range []string{"grows ", "through ", "the ", "pool"} {
		b = bufpool.Grow(p, b, len(*b)+len(word))
		*b = append(*b, word...)
	}
	fmt.Printf("%s\n", *b)
	p.Put(b)

	// Output: grows through the pool
}

func ExampleReadN() {
	// What a peer announces is not trusted: a gigabyte costs nothing before it
	// arrives.
	peer := strings.NewReader("only these few bytes")
	_, err := bufpool.ReadN(bufpool.Default(), peer, 1<<30, 0)
	fmt.Println(err)

	b, err := bufpool.ReadN(bufpool.Default(), bytes.NewReader([]byte("payload")), 7, 4)
	if err != nil {
		panic(err)
	}
	copy(*b, "HEAD") // into the headroom
	fmt.Printf("%s\n", *b)
	bufpool.Put(b)

	// Output:
	// unexpected EOF
	// HEADpayload
}

func ExampleTiered_Stats() {
	p := bufpool.Must(bufpool.NewTiered([]int{1 << 10, 64 << 10}))
	p.Put(p.Get(500))
	p.Put(p.Get(100_000))
	s := p.Stats()
	fmt.Println(s.Tiers[0].Misses, s.OversizedGets, s.Dropped.Oversized)

	// Output: 1 1 1
}

// conn is code of yours that takes a pool by option.
type conn struct{ pool bufpool.BufferPool }

func newConn(pool bufpool.BufferPool) *conn {
	if pool == nil {
		pool = bufpool.Default() // once, when it is built
	}
	return &conn{pool}
}

func (c *conn) echo(w io.Writer, r io.Reader, n int64) error {
	b, err := bufpool.ReadN(c.pool, r, n, 0)
	if err != nil {
		return err
	}
	defer c.pool.Put(b)
	_, err = w.Write(*b)
	return err
}

func Example_perConnection() {
	c := newConn(bufpool.Must(bufpool.NewSized(4096)))
	var out strings.Builder
	fmt.Println(c.echo(&out, strings.NewReader("ping"), 4), out.String())

	// Output: <nil> ping
}

func ExampleNewStepped() {
	p := bufpool.Must(bufpool.NewStepped(32, 16<<20, 4))
	for _, n := range []int{1, 4097, 64<<10 + 52} {
		b := p.Get(n)
		fmt.Println(n, cap(*b))
		p.Put(b)
	}

	// Output:
	// 1 32
	// 4097 5120
	// 65588 81920
}

// A goroutine that serves a connection keeps what it uses for itself, and gives it
// back before it waits long.
func ExampleNewLocal() {
	serve := func(requests <-chan string, replies chan<- string) {
		local := bufpool.NewLocal(bufpool.Default(), 64<<10)
		defer local.Flush()
		for request := range requests {
			b := local.Get(0) // without any atomic operation, from the second on
			*b = append(append(*b, "you said "...), request...)
			replies <- string(*b)
			local.Put(b)
		}
		close(replies)
	}

	requests, replies := make(chan string, 2), make(chan string, 2)
	requests <- "hello"
	requests <- "goodbye"
	close(requests)
	serve(requests, replies)
	for reply := range replies {
		fmt.Println(reply)
	}

	// Output:
	// you said hello
	// you said goodbye
}

// A pool of your own is checked against the contract in one line; in a test, by
// bufpooltest.Test.
func Example_conformance() {
	err := bufpooltest.Check(func() bufpool.BufferPool { return bufpool.Nop{} }, nil)
	fmt.Println(err)

	// Output: <nil>
}
