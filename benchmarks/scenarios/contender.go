// Package scenarios measures pools in the situations that tell them apart. Each
// result is one sample in the Go benchmark format; the pools of a scenario take
// turns in short slices of time, so that what slows the machine down for a while
// slows all of them down.
package scenarios

import (
	"reflect"
	"runtime"
	"sync"

	"github.com/bufpool/bufpool/benchmarks/rivals"
)

// A contender is a pool to measure. What it lends is known only in bench, so that
// the measured loops call the pool alone.
type contender struct {
	name, module string
	oneSize      bool
	fronted      bool // each goroutine has a cache of its own
	new          func(size int) bench
}

// bench is a pool under measurement. Each method does something so many times.
type bench interface {
	// getPut gets and puts a buffer of size bytes.
	getPut(size, times int)
	// mixed is getPut of one size after the other.
	mixed(sizes []int, times int)
	// hold gets so many buffers, then puts them, in the order of the Gets.
	hold(size, held, times int)
	// miss gets, and lets the garbage collector have the buffers.
	miss(size, times int)
	// handoff gets on one goroutine and puts on another.
	handoff(size, times int)
	// parallel is getPut on so many goroutines, each so many times.
	parallel(size, goroutines, times int)
	// foreign prepares to put so many buffers that are not the pool's.
	foreign(capacity, times int) func()
	// pair returns what two goroutines are to do at once, each with one buffer
	// that comes and goes: of two buffers whose handles share a cache line, if
	// there are such.
	pair(size int) [2]func(times int)
	// holdAll gets a buffer of each size and returns how many bytes they have,
	// and by how many the heap grew.
	holdAll(sizes []int) (lent int64, heap float64)
	// serve serves requests of these sizes.
	serve(sizes []int) served
}

// pool implements bench.
type pool[B any] struct {
	rivals.Spec[B]
	shared rivals.Pool[B]
	own    rivals.Pool[B] // what a single goroutine uses
}

// contenders returns all, ours first.
func contenders() []contender {
	var all []contender
	all = appendSpecs(all, rivals.Pointers())
	all = appendSpecs(all, rivals.Slices())
	all = appendSpecs(all, rivals.ByteBuffers())
	return all
}

func appendSpecs[B any](all []contender, specs []rivals.Spec[B]) []contender {
	for _, s := range specs {
		all = append(all, contender{
			name: s.Name, module: s.Module, oneSize: s.OneSize, fronted: s.Front != nil,
			new: func(size int) bench {
				p := &pool[B]{Spec: s, shared: s.New(size)}
				p.own = p.front(manyBytes)
				return p
			},
		})
	}
	return all
}

// manyBytes is a limit for what is in front of a pool that admits every scenario
// of one goroutine.
const manyBytes = 64 << 20

// front returns what one more goroutine uses.
func (p *pool[B]) front(limit int) rivals.Pool[B] {
	if p.Front != nil {
		return p.Front(p.shared, limit)
	}
	return p.shared
}

func getPut[B any](q rivals.Pool[B], size, times int) {
	for range times {
		q.Put(q.Get(size))
	}
}

func (p *pool[B]) getPut(size, times int) { getPut(p.own, size, times) }

func (p *pool[B]) mixed(sizes []int, times int) {
	q := p.own
	for i := range times {
		q.Put(q.Get(sizes[i%len(sizes)]))
	}
}

func (p *pool[B]) hold(size, held, times int) {
	q := p.own
	b := make([]B, held)
	for range times {
		for i := range b {
			b[i] = q.Get(size)
		}
		for i := range b {
			q.Put(b[i])
		}
	}
}

func (p *pool[B]) holdAll(sizes []int) (lent int64, heap float64) {
	held := make([]B, len(sizes))
	runtime.GC()
	runtime.GC()
	before := readMemory().heap
	for i, n := range sizes {
		held[i] = p.shared.Get(n)
		lent += int64(cap(p.Bytes(held[i])))
	}
	runtime.GC() // so that only what is held counts
	heap = readMemory().heap - before
	runtime.KeepAlive(held)
	return lent, heap
}

func (p *pool[B]) miss(size, times int) {
	q := p.own
	for range times {
		q.Get(size)
	}
}

func (p *pool[B]) handoff(size, times int) {
	const batch = 64 // so that the channel does not decide
	batches := make(chan [batch]B, 4)
	done := make(chan bool)
	q := p.shared
	go func() {
		for b := range batches {
			for i := range b {
				q.Put(b[i])
			}
		}
		close(done)
	}()
	for range (times + batch - 1) / batch {
		var b [batch]B
		for i := range b {
			b[i] = q.Get(size)
		}
		batches <- b
	}
	close(batches)
	<-done
}

func (p *pool[B]) parallel(size, goroutines, times int) {
	var all sync.WaitGroup
	for range goroutines {
		q := p.front(manyBytes)
		all.Go(func() { getPut(q, size, times) })
	}
	all.Wait()
}

func (p *pool[B]) foreign(capacity, times int) func() {
	q := p.own
	handles := make([]B, times)
	for i := range handles {
		handles[i] = p.Handle(make([]byte, capacity))
	}
	return func() {
		for i := range handles {
			q.Put(handles[i])
		}
	}
}

func (p *pool[B]) pair(size int) [2]func(times int) {
	const line = 64
	var buffers []B
	var lines []uintptr
	for range 16 {
		b := p.shared.Get(size)
		buffers = append(buffers, b)
		if v := reflect.ValueOf(b); v.Kind() == reflect.Pointer {
			lines = append(lines, v.Pointer()/line)
		}
	}
	two := buffers[:2]
	for i := 1; i < len(lines); i++ {
		if lines[i-1] == lines[i] {
			two = buffers[i-1 : i+1]
			break
		}
	}
	var fs [2]func(int)
	for i, b := range two {
		q := p.front(manyBytes)
		put := false
		fs[i] = func(times int) {
			if !put {
				q.Put(b)
				put = true
			}
			for j := range times {
				q.Put(q.Get(size - j&1)) // another length each time
			}
		}
	}
	return fs
}
