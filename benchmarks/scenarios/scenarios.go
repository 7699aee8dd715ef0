package scenarios

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/bufpool/bufpool/internal/turns"
)

// Run is what to measure, and how thoroughly.
type Run struct {
	Samples       int             // of each row
	Only          *regexp.Regexp  // scenarios to run, by name; nil for all
	Pools         *regexp.Regexp  // pools to run, and W; nil for all
	Distributions []*Distribution // for Traffic
	Requests      int             // of one sample of Traffic; 0 for as many as take about a quarter of a second
	Out           io.Writer       // the results
	Progress      func(scenario string)
}

// Modules returns the paths of the modules whose pools are measured.
func Modules() []string {
	var modules []string
	for _, c := range contenders() {
		if c.module != "" {
			modules = append(modules, c.module)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

var sizes = []int{200, 4096, 33_000, 1 << 20}

// The slices of time in which pools take turns, and how many make a sample. Short
// ones share what disturbs them, and are yet long beside reading the clock.
const (
	slice     = 50 * time.Microsecond
	longSlice = 500 * time.Microsecond // where goroutines have to start
	perSample = 11
)

// Do runs the scenarios.
func (r *Run) Do() error {
	ran := false
	for _, s := range []struct {
		name string
		run  func(name string) error
	}{
		{"GetPut", r.getPut},
		{"Mixed", r.mixed},
		{"Hold", r.hold},
		{"Handoff", r.handoff},
		{"CPUs", r.cpus},
		{"AfterGC", r.afterGC},
		{"Oversize", r.oversize},
		{"Foreign", r.foreign},
		{"Miss", r.miss},
		{"SharedLine", r.sharedLine},
		{"Held", r.held},
		{"Traffic", r.traffic},
	} {
		if r.Only != nil && !r.Only.MatchString(s.name) {
			continue
		}
		ran = true
		if r.Progress != nil {
			r.Progress(s.name)
		}
		if err := s.run(s.name); err != nil {
			return err
		}
	}
	if !ran {
		return fmt.Errorf("no scenario matches %q", r.Only)
	}
	return nil
}

// contenders returns those that take part, W among them: ratios are to it.
func (r *Run) contenders(but func(contender) bool) []contender {
	return slices.DeleteFunc(contenders(), func(c contender) bool {
		return r.Pools != nil && c.name != "W" && !r.Pools.MatchString(c.name) || but != nil && but(c)
	})
}

// times takes the samples of a scenario in which pools take turns: all are built
// anew for each, for where their memory happens to lie is worth a tenth. There are
// no collections meanwhile, since they would fall on whose turn it is, and not on
// whose garbage it is.
//
// Each does so many operations first, for its tiers to fill.
func (r *Run) times(name string, size, first int, slice time.Duration, cs []contender, f func(b bench, times int)) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range r.Samples {
		fs := make([]func(int), len(cs))
		for i, c := range cs {
			b := c.new(size)
			fs[i] = func(times int) { f(b, times) }
		}
		runtime.GC()
		for _, f := range fs {
			f(first)
		}
		if err := r.write(name, cs, turns.PerOp(perSample, slice, fs...)); err != nil {
			return err
		}
	}
	return nil
}

// write writes a sample of each pool: nanoseconds for one operation.
func (r *Run) write(name string, cs []contender, ns []float64) error {
	w := slices.IndexFunc(cs, func(c contender) bool { return c.name == "W" })
	for i, c := range cs {
		ratio := ""
		if w >= 0 {
			ratio = fmt.Sprintf(" %.4g ×W", ns[i]/ns[w])
		}
		_, err := fmt.Fprintf(r.Out, "Benchmark%s/pool=%s-%d %d %.4g ns/op%s\n",
			name, c.name, runtime.GOMAXPROCS(0), 1, ns[i], ratio)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) getPut(name string) error {
	for _, size := range sizes {
		err := r.times(fmt.Sprintf("%s/size=%d", name, size), size, 1, slice, r.contenders(nil),
			func(b bench, times int) { b.getPut(size, times) })
		if err != nil {
			return err
		}
	}
	return nil
}

// mixed draws sizes evenly by their logarithm.
func (r *Run) mixed(name string) error {
	const smallest, largest = 64, 64 << 10
	rnd := rand.New(rand.NewPCG(3, 4))
	mix := make([]int, 1<<12)
	for i := range mix {
		mix[i] = int(smallest * math.Pow(largest/smallest, rnd.Float64()))
	}
	return r.times(fmt.Sprintf("%s/sizes=%d-%d", name, smallest, largest), largest, len(mix), slice, r.contenders(nil),
		func(b bench, times int) { b.mixed(mix, times) })
}

func (r *Run) hold(name string) error {
	for _, held := range []int{2, 4, 16} {
		err := r.times(fmt.Sprintf("%s/held=%d/size=4096", name, held), 4096, held, slice, r.contenders(nil),
			func(b bench, times int) { b.hold(4096, held, (times+held-1)/held) })
		if err != nil {
			return err
		}
	}
	return nil
}

// handoff leaves out what belongs to one goroutine.
func (r *Run) handoff(name string) error {
	cs := r.contenders(func(c contender) bool { return c.fronted })
	return r.times(name+"/size=4096", 4096, 1000, longSlice, cs,
		func(b bench, times int) { b.handoff(4096, times) })
}

// cpus compares what two goroutines do in the same time on two processors with
// what one does on one. The control does arithmetic: what it falls short of 2 is
// what the machine did not give.
func (r *Run) cpus(name string) error {
	if runtime.NumCPU() < 2 {
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size = 4096
	cs := r.contenders(nil)
	for range r.Samples {
		runtime.GC()
		rows := []string{"control"}
		fs := []func(goroutines, times int){control}
		for _, c := range cs {
			b := c.new(size)
			rows = append(rows, c.name)
			fs = append(fs, func(goroutines, times int) { b.parallel(size, goroutines, times) })
		}
		for i, f := range fs {
			speedup := measureSpeedup(f)
			_, err := fmt.Fprintf(r.Out, "Benchmark%s/size=%d/pool=%s-2 1 %.4g speedup\n", name, size, rows[i], speedup)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// measureSpeedup returns the throughput of two goroutines on two processors
// divided by that of one on one, the two taking turns.
func measureSpeedup(f func(goroutines, times int)) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	times := 100
	for took := time.Duration(0); took < 2*time.Millisecond; times *= 2 {
		start := time.Now()
		f(1, times)
		took = time.Since(start)
	}
	var speedups []float64
	for range perSample {
		var took [2]time.Duration
		for i, n := range []int{1, 2} {
			runtime.GOMAXPROCS(n)
			f(n, times/20) // what is idle does not survive the change
			start := time.Now()
			f(n, times)
			took[i] = time.Since(start)
		}
		speedups = append(speedups, 2*float64(took[0])/float64(took[1]))
	}
	return turns.Median(speedups)
}

func control(goroutines, times int) {
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			x := uint64(i) + 1
			for range times * 8 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			use(byte(x))
		})
	}
	all.Wait()
}

// afterGC holds and puts 16 buffers, four times, right after a collection; the
// pool had them before.
func (r *Run) afterGC(name string) error {
	const size, held, rounds = 4096, 16, 4
	return r.once(name+fmt.Sprintf("/held=%d/size=%d", held, size), size, held*rounds, r.contenders(nil),
		func(b bench) func() {
			b.hold(size, held, rounds)
			runtime.GC()
			return func() { b.hold(size, held, rounds) }
		})
}

// once takes samples of what has to be prepared each time: prepare returns what
// is timed, which does so many operations.
func (r *Run) once(name string, size, operations int, cs []contender, prepare func(bench) func()) error {
	for range r.Samples {
		took := make([][]float64, len(cs))
		bs := make([]bench, len(cs))
		for i, c := range cs {
			bs[i] = c.new(size)
		}
		for range perSample {
			for _, i := range rand.Perm(len(bs)) { // nobody always follows the same one
				f := prepare(bs[i])
				start := time.Now()
				f()
				took[i] = append(took[i], float64(time.Since(start))/float64(operations))
			}
		}
		ns := make([]float64, len(cs))
		for i := range took {
			ns[i] = turns.Median(took[i])
		}
		if err := r.write(name, cs, ns); err != nil {
			return err
		}
	}
	return nil
}

// oversize asks for more than the largest tier of any pool that has one. Pools of
// one size are out of it. Each has a collection first, which idle buffers survive.
func (r *Run) oversize(name string) error {
	const size = 17 << 20
	cs := r.contenders(func(c contender) bool { return c.oneSize })
	return r.once(fmt.Sprintf("%s/size=%d", name, size), 16<<20, 1, cs,
		func(b bench) func() {
			runtime.GC() // what others allocated is there for all, to be cleared
			return func() { b.getPut(size, 1) }
		})
}

func (r *Run) foreign(name string) error {
	const capacity, times = 5000, 200
	return r.once(fmt.Sprintf("%s/capacity=%d", name, capacity), 4096, times, r.contenders(nil),
		func(b bench) func() { return b.foreign(capacity, times) })
}

func (r *Run) miss(name string) error {
	for _, size := range []int{256, 4096, 64 << 10} {
		err := r.times(fmt.Sprintf("%s/size=%d", name, size), size, 1, slice, r.contenders(nil),
			func(b bench, times int) { b.miss(size, times) })
		if err != nil {
			return err
		}
	}
	return nil
}

// sharedLine has two goroutines on two processors, each with a buffer, the two
// from one goroutine and the headers side by side.
func (r *Run) sharedLine(name string) error {
	if runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	const size = 4096
	cs := r.contenders(nil)
	for range r.Samples {
		fs := make([]func(int), len(cs))
		for i, c := range cs {
			two := c.new(size).pair(size)
			fs[i] = func(times int) {
				var both sync.WaitGroup
				for _, f := range two {
					both.Go(func() { f(times) })
				}
				both.Wait()
			}
		}
		if err := r.write(fmt.Sprintf("%s/size=%d", name, size), cs, turns.PerOp(perSample, longSlice, fs...)); err != nil {
			return err
		}
	}
	return nil
}

// held compares bytes, which are the same each time: one sample will do.
func (r *Run) held(name string) error {
	const buffers = 10_000
	cs := r.contenders(func(c contender) bool { return c.oneSize || c.fronted })
	for _, d := range r.Distributions {
		sizes := d.Sizes(buffers)
		asked := 0.0
		for _, n := range sizes {
			asked += float64(n)
		}
		for _, c := range cs {
			lent, heap := c.new(slices.Max(sizes)).holdAll(sizes)
			_, err := fmt.Fprintf(r.Out, "Benchmark%s/dist=%s/pool=%s-%d %d %.4g lent/asked %.4g heap/asked\n",
				name, d.Name, c.name, runtime.GOMAXPROCS(0), buffers, float64(lent)/asked, heap/asked)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// traffic leaves out pools of one size: with the largest for it, they hold a
// thousand times what they are asked for.
func (r *Run) traffic(name string) error {
	cs := r.contenders(func(c contender) bool { return c.oneSize })
	for _, d := range r.Distributions {
		const target = 250 * time.Millisecond
		fewer := map[string]int{}
		requests := r.Requests
		if requests == 0 {
			const trial = 1 << 14
			took := cs[0].new(0).serve(d.Sizes(trial)).took
			requests = max(trial, int(trial*float64(target)/float64(took)))
		}
		sizes := d.Sizes(requests)
		largest := slices.Max(sizes)
		rnd := rand.New(rand.NewPCG(5, 6))
		for range 2 * r.Samples { // they are short, and scatter more than the others
			// What one leaves behind, the next one finds: memory that is there
			// already, or is not. So the order changes.
			rnd.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
			for _, c := range cs {
				mine := sizes
				if n := fewer[c.name]; n > 0 {
					mine = sizes[:n]
				}
				s := c.new(largest).serve(mine)
				if s.took > 4*target { // from now on it serves fewer, for the others' sake
					fewer[c.name] = max(workers, int(float64(len(mine))*float64(target)/float64(s.took)))
				}
				_, err := fmt.Fprintf(r.Out, "Benchmark%s/dist=%s/pool=%s-%d %d %.5g req/s %.4g misses/1000 %.4g lent/asked"+
					" %.4g heap-mean-B %.4g heap-peak-B %.4g idle-B %d GCs\n",
					name, d.Name, c.name, runtime.GOMAXPROCS(0), s.requests,
					float64(s.requests)/s.took.Seconds(),
					1000*float64(s.misses)/float64(s.requests),
					float64(s.lent)/float64(s.asked),
					s.heapMean, s.heapPeak, s.idle, s.cycles)
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
