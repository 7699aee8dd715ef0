package scenarios

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/bufpool/bufpool/benchmarks/rivals"
)

// served is what serving some requests took.
type served struct {
	took        time.Duration
	requests    int
	misses      int
	asked, lent int64
	cycles      uint64
	heapMean    float64 // bytes, garbage included
	heapPeak    float64
	idle        float64 // what the pool holds when all is done and collected once
}

// A service has so many goroutines, each with one request at a time.
const workers = 64

// frontLimit is what one of them may have idle in a cache of its own.
const frontLimit = 64 << 10

// garbage is what the rest of a request's handling allocates. Without it there
// would be no collections, and no pool would ever lose what is idle.
type garbage [256]byte

// handled makes it escape, on a cache line for each worker.
var handled [workers]struct {
	last *garbage
	_    [56]byte
}

// serve has the workers share the requests. Each gets a buffer, fills it, waits
// for the others as if for the network, reads it and puts it back.
func (p *pool[B]) serve(sizes []int) served {
	largest := 0
	for _, n := range sizes {
		largest = max(largest, n)
	}
	payload := make([]byte, min(largest, 64<<10))
	for i := range payload {
		payload[i] = byte(i) | 1 // no byte is 0
	}
	var users [workers]rivals.Pool[B]
	for w := range users {
		users[w] = p.front(frontLimit)
	}
	var results [workers]served
	serve := func(sizes []int) {
		var all sync.WaitGroup
		for w := range workers {
			share := sizes[w*len(sizes)/workers : (w+1)*len(sizes)/workers]
			all.Go(func() { results[w] = p.work(users[w], share, payload, &handled[w].last) })
		}
		all.Wait()
	}
	runtime.GC()
	runtime.GC()
	empty := readMemory().heap
	serve(sizes[:len(sizes)/2]) // a service runs for days
	before := readMemory()
	start := time.Now()
	serve(sizes)
	s := served{took: time.Since(start), requests: len(sizes)}
	after := readMemory()
	samples := 0
	for _, r := range results {
		s.misses += r.misses
		s.asked += r.asked
		s.lent += r.lent
		s.heapMean += r.heapMean
		s.heapPeak = max(s.heapPeak, r.heapPeak)
		samples += r.requests
	}
	s.heapMean /= float64(samples)
	s.heapMean -= empty
	s.heapPeak -= empty
	s.cycles = after.cycles - before.cycles
	if p.Disguises {
		// Less the garbage. What a processor allocated last is counted later.
		s.misses = max(0, int(after.arrays-before.arrays)-len(sizes))
	}
	runtime.GC()
	s.idle = max(0, readMemory().heap-empty)
	runtime.KeepAlive(users)
	runtime.KeepAlive(payload)
	return s
}

// work serves requests. In what it returns, requests is how often the heap was
// looked at, and heapMean the sum of what was seen.
func (p *pool[B]) work(q rivals.Pool[B], sizes []int, payload []byte, last **garbage) (s served) {
	const look = 64 // requests between two looks at the heap
	heap := []metrics.Sample{{Name: heapMetric}}
	var sum byte
	for i, n := range sizes {
		handle := q.Get(n)
		b := p.Bytes(handle)
		if b[0] == 0 {
			s.misses++
		}
		s.asked += int64(n)
		s.lent += int64(cap(b))
		for rest := b; len(rest) > 0; {
			rest = rest[copy(rest, payload):]
		}
		*last = new(garbage)
		runtime.Gosched()
		for j := 0; j < len(b); j += 64 {
			sum ^= b[j]
		}
		q.Put(handle)
		if i%look == 0 {
			metrics.Read(heap)
			now := float64(heap[0].Value.Uint64())
			s.requests++
			s.heapMean += now
			s.heapPeak = max(s.heapPeak, now)
		}
	}
	use(sum)
	return s
}

//go:noinline
func use(byte) {}

const heapMetric = "/memory/classes/heap/objects:bytes"

type memory struct {
	heap   float64 // bytes, garbage included
	cycles uint64
	arrays uint64 // objects allocated so far, without slice headers
}

func readMemory() (m memory) {
	samples := []metrics.Sample{
		{Name: heapMetric},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/gc/heap/allocs-by-size:bytes"},
		{Name: "/gc/heap/tiny/allocs:objects"},
	}
	metrics.Read(samples)
	m.heap = float64(samples[0].Value.Uint64())
	m.cycles = samples[1].Value.Uint64()
	const header = 24
	h := samples[2].Value.Float64Histogram()
	for i, count := range h.Counts {
		if h.Buckets[i] <= header && header < h.Buckets[i+1] {
			continue
		}
		m.arrays += count
	}
	// Tiny objects share blocks, and are counted apart.
	m.arrays += samples[3].Value.Uint64()
	return m
}
