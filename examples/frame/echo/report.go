package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/bufpool/bufpool/internal/balance"
)

// moved is what went there and came back.
type moved struct {
	files int
	bytes int64
}

type report struct {
	pool  string
	conns int // 0: a server's, as many as came
	start time.Time
	sent  moved

	checked *checked // nil if it is not
}

func newReport(s settings) *report {
	r := &report{pool: s.pool, conns: s.conns, start: time.Now()}
	if s.listen != "" {
		r.conns = 0
	}
	return r
}

// write prints what was moved, what the pool did, and what it cost.
func (r *report) write(w io.Writer, p *balance.Pool) {
	seconds := time.Since(r.start).Seconds()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c, s := p.Counts(), p.Stats()
	var misses uint64
	for _, tier := range s.Tiers {
		misses += tier.Misses
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("pool", "%s", r.pool)
	if r.conns > 0 {
		line("connections", "%d", r.conns)
	}
	line("files", "%d, there and back unchanged", r.sent.files)
	line("bytes", "%d", r.sent.bytes)
	line("seconds", "%.2f", seconds)
	line("MB/s", "%.1f each way", float64(r.sent.bytes)/1e6/seconds)
	line("peak lent", "%d bytes at any one time", c.PeakLent)
	line("peak asked", "%d bytes of them, before rounding up to tiers", c.PeakAsked)
	line("gets, puts", "%d, %d", c.Gets, c.Puts)
	if s.Tiers == nil {
		line("misses, drops", "not counted by this pool")
	} else {
		line("misses", "%d in tiers, and %d above the largest", misses, s.OversizedGets)
		d := s.Dropped
		line("drops", "%d empty, %d undersized, %d between tiers, %d oversized", d.Empty, d.Undersized, d.Between, d.Oversized)
	}
	if r.checked != nil {
		line("checked", "yes, %d violations", r.checked.count())
	}
	line("heap", "%.1f MB in use, %.1f MB from the system", float64(m.HeapAlloc)/1e6, float64(m.HeapSys)/1e6)
	line("GC cycles", "%d", m.NumGC)
	t.Flush()
}

// progress returns what shows how far the client is: on a terminal, a line that
// is written over ten times a second; elsewhere nothing.
func progress(w io.Writer) func(done, all int) {
	f, ok := w.(*os.File)
	if !ok {
		return func(int, int) {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int, int) {}
	}
	var last time.Time
	return func(done, all int) {
		if now := time.Now(); done == all || now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(w, "\r%d of %d files", done, all)
			if done == all {
				fmt.Fprint(w, "\r\033[K")
			}
		}
	}
}
