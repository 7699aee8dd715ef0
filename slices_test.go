package bufpool_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/balance"
	"github.com/bufpool/bufpool/internal/pooltest"
)

var _ httputil.BufferPool = (*bufpool.Slices)(nil)

func TestSlices(t *testing.T) {
	for _, base := range []bufpool.BufferPool{
		bufpool.Must(bufpool.NewTiered([]int{100, 1000, 32 << 10})),
		bufpool.Nop{},
		pooltest.NewBalance(t, new(bufpool.Switch)),
	} {
		for size, want := range map[int]int{-1: 32 << 10, 0: 32 << 10, 1: 1, 100: 100, 101: 101, 99_999: 99_999} {
			s := bufpool.NewSlices(base, size)
			var lent [][]byte
			for range 3 {
				for range 10 {
					b := s.Get()
					if len(b) != want {
						t.Fatalf("length %d, want %d", len(b), want)
					}
					b[0] = byte(len(lent))
					lent = append(lent, b)
				}
				for i, b := range lent {
					if b[0] != byte(i) {
						t.Error("lent twice")
					}
					s.Put(b[:i%(want+1)]) // of whatever length
				}
				lent = lent[:0]
			}
			s.Put(nil)
			s.Put([]byte{})
			if _, ok := base.(*balance.Pool); !ok {
				s.Put(make([]byte, 5))
			}
		}
	}
}

func TestSlicesOfNilAreOfTheDefault(t *testing.T) {
	p := newBalanced(t)
	restore := bufpool.SetDefault(p)
	s, typed := bufpool.NewSlices(nil, 0), bufpool.NewSlices((*bufpool.Sized)(nil), 0)
	restore()
	s.Put(s.Get())
	typed.Put(typed.Get())
	if p.Counts().Gets != 2 {
		t.Error(p.Counts())
	}
	pooltest.MustBalance(t, p)
}

// What knows its buffers by the pointers that it returned gets them back, in whichever
// order, even if the collector runs meanwhile, and if it stands behind Locals.
func TestSlicesPutThePointersBack(t *testing.T) {
	p := check.ForTest(t, new(bufpool.Switch))
	local := bufpool.NewLocal(p, 8<<10) // less than is lent
	behind := bufpool.NewLocal(local, 8<<10)
	for _, parent := range []bufpool.BufferPool{p, local, behind} {
		s := bufpool.NewSlices(parent, 1000)
		for range 20 {
			var lent [][]byte
			for range 100 {
				lent = append(lent, s.Get())
			}
			runtime.GC()
			for i := range lent {
				s.Put(lent[(i*37)%100])
			}
		}
		behind.Flush()
		local.Flush()
	}
}

// A sub-slice is not the buffer, here as everywhere.
func TestSlicesPutOfAPart(t *testing.T) {
	var found []check.Violation
	p := bufpool.Must(check.New(new(bufpool.Switch), check.WithReport(func(v check.Violation) { found = append(found, v) })))
	s := bufpool.NewSlices(p, 1000)
	b := s.Get()
	s.Put(b[10:])
	if len(found) != 1 || found[0].Kind != check.Interior {
		t.Error(found)
	}
	own := new(bufpool.Switch)
	s = bufpool.NewSlices(own, 1000)
	s.Put(s.Get()[10:])
	if d := own.Stats().Dropped.Undersized; d != 1 {
		t.Errorf("%d dropped", d)
	}
	runtime.KeepAlive(b)
}

// QuilibriumNetwork/monorepo#389: nothing keeps what was put, nor what was not.
func TestSlicesKeepNothing(t *testing.T) {
	for name, p := range map[string]bufpool.BufferPool{
		"own": new(bufpool.Switch), "any": struct{ bufpool.BufferPool }{new(bufpool.Switch)},
	} {
		s := bufpool.NewSlices(p, 64<<10)
		before := pooltest.Heap()
		lent := make([][]byte, 1000)
		for i := range lent {
			lent[i] = s.Get()
		}
		for _, b := range lent {
			s.Put(b)
		}
		lent = nil
		pooltest.Heap()
		if grown := pooltest.Heap() - before; grown > 1<<20 {
			t.Errorf("%s: %d bytes after a burst", name, grown)
		}
		for range 5000 { // 330 MB
			s.Get()
		}
		small := bufpool.NewSlices(struct{ bufpool.BufferPool }{bufpool.Must(bufpool.NewSized(64))}, 64)
		for i := range 100_000 {
			if small.Get(); i%5000 == 0 {
				runtime.GC()
			}
		}
		defer runtime.KeepAlive(small)
		pooltest.Heap()
		if grown := pooltest.Heap() - before; grown > 4<<20 {
			t.Errorf("%s: %d bytes kept of what was never put", name, grown)
		}
		runtime.KeepAlive(s)
	}
}

// A slice that is lost is gone with the next collection, not with the one that frees
// what pools keep.
func TestALostSliceIsGarbage(t *testing.T) {
	for name, p := range map[string]bufpool.BufferPool{
		"own": new(bufpool.Switch), "any": struct{ bufpool.BufferPool }{new(bufpool.Switch)},
	} {
		s := bufpool.NewSlices(p, 4096)
		lost := weak.Make(&s.Get()[0])
		runtime.GC()
		if lost.Value() != nil {
			t.Errorf("%s: kept", name)
		}
		runtime.KeepAlive(s)
	}
}

func TestSlicesByManyGoroutines(t *testing.T) {
	for _, base := range []bufpool.BufferPool{new(bufpool.Switch), pooltest.NewBalance(t, new(bufpool.Switch))} {
		s := bufpool.NewSlices(base, 500)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 2000 {
					a, b := s.Get(), s.Get()
					a[0], b[0] = byte(g), byte(i)
					if a[0] != byte(g) || b[0] != byte(i) {
						t.Error("lent twice")
					}
					s.Put(a)
					s.Put(b)
				}
			})
		}
		wg.Wait()
	}
}

// Kirari04/p2pstream#117, vulcand/oxy#138: under a real proxy, with bodies of 100 KB.
func TestSlicesUnderAReverseProxy(t *testing.T) {
	body := pattern(100_000)
	want := sha256.Sum256(body)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(body) }))
	defer server.Close()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := newBalanced(t)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.BufferPool = bufpool.NewSlices(p, 0)
	front := httptest.NewServer(proxy)
	defer front.Close()
	get := func() error {
		r, err := http.Get(front.URL)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		got, err := io.ReadAll(r.Body)
		if err == nil && sha256.Sum256(got) != want {
			err = fmt.Errorf("%d bytes differ: %v", len(got), bytes.Equal(got, body))
		}
		return err
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := get(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	front.Close() // waits for the last
	if c := p.Counts(); c.Gets != 200 || c.LargestGet != 32<<10 {
		t.Errorf("%+v", c)
	}
	pooltest.MustBalance(t, p)
}
