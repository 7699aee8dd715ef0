package bufpool_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/pooltest"
)

func mustBeFreed(t *testing.T, before int64) {
	t.Helper()
	if grown := pooltest.Heap() - before; grown > 1<<20 {
		t.Errorf("%d bytes are held after two collections", grown)
	}
}

// grpc/grpc-go#8500, roadrunner-server/roadrunner#2401: what is above the
// largest tier hoards in a fallback pool, or in the largest tier.
func TestOversizedIsNeverServedAgain(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			p := k.new()
			sizes := p.Sizes()
			largest := sizes[len(sizes)-1]
			before := pooltest.Heap()
			steps := min(1000, (1<<30)/largest)
			put := map[*byte]bool{}
			for i := range steps {
				n := largest + 1 + i*16
				b := p.Get(n)
				if at := &whole(b)[0]; put[at] {
					t.Fatalf("Get(%d) served an oversized buffer that was put", n)
				} else if len(put) < 8 { // these are held, so that their addresses stay theirs
					put[at] = true
				}
				if cap(*b) != n {
					t.Fatalf("Get(%d) has capacity %d", n, cap(*b))
				}
				*b = (*b)[:1] // it is the capacity that counts (cloudwego/hertz#1026)
				p.Put(b)
			}
			for range 20 {
				if b := p.Get(largest); cap(*b) != largest || put[&whole(b)[0]] {
					t.Fatalf("the largest tier served a capacity of %d", cap(*b))
				}
			}
			s := p.Stats()
			if s.OversizedGets != uint64(steps) || s.Dropped.Oversized != uint64(steps) {
				t.Errorf("counted %d oversized Gets and %d drops, want %d of each", s.OversizedGets, s.Dropped.Oversized, steps)
			}
			clear(put)
			mustBeFreed(t, before)
		})
	}
}

// grpc/grpc-go's fallback pool serves 1 MiB+1 with the 64 MiB that were put.
func TestAFallbackServesNoHugeBuffer(t *testing.T) {
	for _, k := range kinds() {
		p := k.new()
		sizes := p.Sizes()
		largest := sizes[len(sizes)-1]
		huge := make([]byte, 64<<20)
		at := &huge[0]
		p.Put(&huge)
		if b := p.Get(largest + 1); cap(*b) >= 2*(largest+1) || &whole(b)[0] == at {
			t.Errorf("%s: Get(%d) has capacity %d", k.name, largest+1, cap(*b))
		}
	}
}

// A 50 MiB buffer in the 10 MiB tier was what made one service grow for ever.
func TestFiftyMegabytesAreNeverServed(t *testing.T) {
	for _, k := range kinds() {
		p := k.new()
		huge := make([]byte, 50<<20)
		at := &huge[0]
		p.Put(&huge)
		for _, n := range append(p.Sizes(), 1, 50<<20) {
			b := p.Get(n)
			if &whole(b)[0] == at {
				t.Errorf("%s: Get(%d) served it", k.name, n)
			}
			p.Put(b)
		}
	}
}

// golang/go#23199: one rare huge buffer is kept alive by small users.
func TestSmallUsersDoNotKeepALargeBufferAlive(t *testing.T) {
	p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 128<<20)))
	before := pooltest.Heap()
	large := make([]byte, 64<<20)
	p.Put(&large)
	large = nil
	for range 10_000 {
		b := p.Get(1024)
		if cap(*b) != 1024 {
			t.Fatalf("Get(1024) has capacity %d", cap(*b))
		}
		p.Put(b)
	}
	mustBeFreed(t, before)
}

func TestEverythingIdleIsFreedByTwoCollections(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	before := pooltest.Heap()
	var burst []*[]byte
	for range 256 {
		burst = append(burst, p.Get(1<<20))
	}
	for _, b := range burst {
		p.Put(b)
	}
	clear(burst)
	mustBeFreed(t, before)
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	// An entry may vanish at any collection, and a miss is no error.
	for range 100 {
		if b := p.Get(1 << 20); len(*b) != 1<<20 {
			t.Fatal(len(*b))
		}
	}
	runtime.KeepAlive(p)
}

// roadrunner-server/roadrunner#2401: 256 workers with 200 bytes each held
// 269 MB.
func TestSmallBuffersHoldLittle(t *testing.T) {
	p := bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20)))
	b := p.Get(200)
	p.Put(b)
	held := make([]*[]byte, 256)
	before := pooltest.Heap()
	for i := range held {
		held[i] = p.Get(200)
	}
	if grown := pooltest.HeapNow() - before; grown > 256*(256+64)+16<<10 {
		t.Errorf("256 buffers for 200 bytes hold %d bytes", grown)
	}
	runtime.KeepAlive(held)
}

// prometheus/client_golang#2126: one goroutine that changes its processor leaves
// a buffer on each.
func TestHoppingProcessorsIsBounded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	const size = 1 << 20
	p := bufpool.Must(bufpool.NewSized(size))
	before := pooltest.Heap()
	for range 200 {
		var wg sync.WaitGroup
		wg.Go(func() {
			runtime.LockOSThread() // and end with it, so that the next has another
			b := p.Get(size)
			runtime.Gosched()
			p.Put(b)
		})
		wg.Wait()
	}
	runtime.GC() // frees what the race detector had dropped, not what is idle
	if grown := pooltest.HeapNow() - before; grown > 8*size*2 {
		t.Errorf("%d bytes are held, more than processors × size × 2", grown)
	}
	runtime.KeepAlive(p)
}

// Azure/adx-mon#212: a shared pool drifts to its largest size.
func TestMixedTrafficKeepsSmallBuffersSmall(t *testing.T) {
	p := pooltest.Check(t, bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 8<<20))))
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 0))
			for range 1250 {
				n := 5<<10 + rnd.IntN(3<<10)
				if rnd.IntN(20) == 0 {
					n = 513<<10 + rnd.IntN(500<<10)
				}
				b := p.Get(n)
				if cap(*b) > 2*n {
					t.Errorf("Get(%d) has capacity %d", n, cap(*b))
				}
				p.Put(b)
			}
		})
	}
	wg.Wait()
}

// pquerna/ffjson#111 and others: the pool works and never hits.
func TestEveryLengthOfATierComesBack(t *testing.T) {
	for _, k := range kinds() {
		tiers := k.new()
		p := pooltest.Check(t, tiers, check.WithQuarantine(0)) // it is to come back at once
		below := 0
		for _, size := range tiers.Sizes() {
			for _, n := range []int{below + 1, (below + 1 + size) / 2, size} {
				back := false
				for range 50 {
					b := p.Get(n)
					at := &whole(b)[0]
					p.Put(b)
					b = p.Get(n)
					back = &whole(b)[0] == at
					p.Put(b)
					if back {
						break
					}
				}
				if !back {
					t.Errorf("%s: a buffer for %d bytes never came back", k.name, n)
				}
			}
			below = size
		}
	}
}

func TestCountersAddUp(t *testing.T) {
	p := bufpool.Must(bufpool.NewTiered([]int{1000, 5000, 70000}))
	const goroutines, rounds = 8, 20_000
	var wg sync.WaitGroup
	for seed := range uint64(goroutines) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for range rounds {
				switch rnd.IntN(8) {
				case 0:
					p.Put(nil)
				case 1:
					b := make([]byte, 10)
					p.Put(&b)
				case 2:
					b := make([]byte, 2000)
					p.Put(&b)
				case 3:
					p.Put(p.Get(70001))
				default:
					p.Put(p.Get(rnd.IntN(70001)))
				}
			}
		})
	}
	wg.Wait()
	s := p.Stats()
	d := s.Dropped
	if s.OversizedGets != d.Oversized {
		t.Errorf("%d oversized Gets and %d oversized drops", s.OversizedGets, d.Oversized)
	}
	const each = goroutines * rounds / 8
	for name, n := range map[string]uint64{"empty": d.Empty, "undersized": d.Undersized, "between": d.Between, "oversized": d.Oversized} {
		if n < each*9/10 || n > each*11/10 {
			t.Errorf("%s: %d, want about %d", name, n, each)
		}
	}
	var misses uint64
	for _, tier := range s.Tiers {
		misses += tier.Misses
	}
	if gets := uint64(goroutines * rounds / 2); misses == 0 || misses > gets*11/10 {
		t.Errorf("%d misses for about %d Gets", misses, gets)
	}
}
