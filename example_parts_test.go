package bufpool_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
)

// What the README shows of Buffer, Chain, Copy and Slices is what runs here.
func TestTheReadmeShowsExamplesThatRun(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_parts_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- (Example\\w*) -->\n```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	names := map[string]bool{}
	for _, block := range blocks {
		name, code := block[1], block[2]
		names[name] = true
		_, body, ok := strings.Cut(string(source), "\nfunc "+name+"() {\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		code = strings.TrimSuffix(regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(code, "\t$1"), "\n")
		if !ok || !strings.Contains(body, code) {
			t.Errorf("the README shows another %s:\n%s", name, code)
		}
	}
	for _, name := range []string{"ExampleBuffer", "ExampleBuffer_Prepend", "ExampleChain", "ExampleChain_Slice", "ExampleCopy", "ExampleSlices"} {
		if !names[name] {
			t.Errorf("the README does not show %s", name)
		}
	}
}

func ExampleBuffer() {
	var buf bufpool.Buffer // on the default pool
	defer buf.Release()    // what buf.Bytes() returned is another's from here on
	for _, name := range []string{"Ada", "Grace"} {
		fmt.Fprintf(&buf, "hello, %s\n", name)
		buf.WriteTo(os.Stdout) // buf is empty then, and keeps its memory
		buf.Reset()            // which this gives back if it is more than 4 KiB
	}
	buf.WriteString("to stay")
	kept := buf.Clone() // a copy of your own, where buf.Bytes() would not outlive buf
	fmt.Printf("%s\n", kept)

	// Output:
	// hello, Ada
	// hello, Grace
	// to stay
}

func ExampleBuffer_Prepend() {
	conn, pool := new(bytes.Buffer), bufpool.Default()

	buf := bufpool.NewBuffer(pool, 4) // with room for a header of 4 bytes
	defer buf.Release()
	if err := json.NewEncoder(buf).Encode([]int{1, 2, 3}); err != nil {
		panic(err)
	}
	n := buf.Len()
	binary.BigEndian.PutUint32(buf.Prepend(4), uint32(n)) // nothing is moved
	buf.WriteTo(conn)                                     // one Write, header and payload

	fmt.Printf("%q\n", conn)

	// Output: "\x00\x00\x00\b[1,2,3]\n"
}

func ExampleChain() {
	pool, from, to := bufpool.Default(), strings.NewReader("\x00\x00\x00\x0ea long message"), os.Stdout

	c := bufpool.NewChain(pool, 0) // chunks of up to 256 KiB
	defer c.Release()              // once; its chunks go back as they are read, and the rest here
	if _, err := c.ReadN(from, 4); err != nil {
		panic(err)
	}
	header, _ := c.Peek(4) // valid until they are discarded
	n := binary.BigEndian.Uint32(header)
	c.Discard(4)
	if _, err := c.ReadN(from, int64(n)); err != nil { // n is not trusted
		panic(err)
	}
	c.WriteTo(to) // on a socket, one writev; on an error, c is as it was

	// Output: a long message
}

func ExampleChain_Slice() {
	var wg sync.WaitGroup

	c := bufpool.NewChain(nil, 0)
	c.WriteString("GET / and what else there is")
	line := c.Split(5)            // the first 5 bytes, which are no longer in c
	copied := c.Slice(1, c.Len()) // shared, not copied: c has these bytes, too
	wg.Go(func() {
		defer copied.Release() // each Chain is released on its own, by whoever owns it
		io.Copy(io.Discard, &copied)
	})
	fmt.Printf("%s\n", line.Contiguous())
	line.Release()
	fmt.Printf("%s\n", c.Contiguous())
	c.Release() // the chunk goes back with the last of the three

	wg.Wait()

	// Output:
	// GET /
	//  and what else there is
}

func ExampleCopy() {
	pool, to, from := bufpool.Default(), struct{ io.Writer }{os.Stdout}, io.LimitReader(strings.NewReader("copied\n"), 7)

	n, err := bufpool.Copy(to, from, pool) // io.Copy, with a buffer of the pool if one is needed
	fmt.Println(n, err)

	// Output:
	// copied
	// 7 <nil>
}

func ExampleSlices() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "proxied") }))
	defer server.Close()
	target, _ := url.Parse(server.URL)

	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.BufferPool = bufpool.NewSlices(nil, 0) // slices of 32 KiB, of the default pool

	w := httptest.NewRecorder()
	proxy.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Body)

	// Output: proxied
}
