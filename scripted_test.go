package bufpool_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bufpool/bufpool"
)

// end is what a scripted reader or writer does where its script ends.
type end int

const (
	endOK end = iota // EOF of a reader; a writer has no end
	endOKWithData
	endError
	endErrorWithData
	endShort // of a writer alone: fewer bytes and no error
	endNegative
	endTooMany
	endPanic
	ends
)

// scripted gives or takes data in steps of at most step bytes, an empty one before each
// if it stutters, and then does what end says. What it does depends on how far it is
// and not on the slices that it is given, so that two which are given others do the
// same.
type scripted struct {
	data     []byte // to read, or what may be written
	step     int
	stutters bool
	end      end

	at    int // offset in data
	empty bool
	calls int
}

func (s *scripted) Read(p []byte) (int, error) {
	s.calls++
	if s.stutters {
		if s.empty = !s.empty; s.empty {
			return 0, nil
		}
	}
	n := copy(p, s.data[s.at:min(s.at+s.step, len(s.data))])
	s.at += n
	switch {
	case s.at < len(s.data) || len(p) == 0:
		return n, nil
	case s.end == endOKWithData:
		return n, io.EOF
	case s.end == endErrorWithData:
		return n, errBroken
	case n > 0:
		return n, nil
	}
	switch s.end {
	case endError:
		return 0, errBroken
	case endNegative:
		return -1, nil
	case endTooMany:
		return len(p) + 1, nil
	case endPanic:
		panic(errBroken)
	}
	return 0, io.EOF
}

// Write takes len(data) bytes at most, and keeps them there.
func (s *scripted) Write(p []byte) (int, error) {
	s.calls++
	if s.end == endOK {
		s.data = append(s.data[:s.at], p...)
		s.at += len(p)
		return len(p), nil
	}
	n := copy(s.data[s.at:], p)
	s.at += n
	if n == len(p) {
		if s.end == endErrorWithData && s.at == len(s.data) {
			return n, errBroken
		}
		return n, nil
	}
	switch s.end {
	case endNegative:
		return -1, nil
	case endTooMany:
		return len(p) + 1, nil
	case endPanic:
		panic(errBroken)
	case endShort:
		return n, nil
	}
	return n, errBroken
}

// program is the input of a fuzz test, read as what to do next.
type program struct{ code []byte }

// addPrograms seeds a fuzz test with so many random programs.
func addPrograms(f *testing.F, programs, length int) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range programs {
		code := make([]byte, length)
		for i := range code {
			code[i] = byte(rnd.Uint32())
		}
		f.Add(code)
	}
}

func (p *program) next() int {
	if len(p.code) == 0 {
		return 0
	}
	c := p.code[0]
	p.code = p.code[1:]
	return int(c)
}

// size returns small sizes and some large ones.
func (p *program) size() int {
	n := p.next()
	if n >= 192 {
		return (n - 191) * (1 + p.next()*4)
	}
	return n
}

// bytes returns n bytes that no other call returns, mostly.
func (p *program) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(n + i*7 + len(p.code)*13)
	}
	return b
}

func (p *program) reader() *scripted {
	return &scripted{data: p.bytes(p.size()), step: 1 + p.size(), stutters: p.next()%4 == 0, end: end(p.next()) % ends}
}

// writer returns a writer, and the same once more.
func (p *program) writer() (*scripted, *scripted) {
	w := scripted{data: make([]byte, p.size()), end: end(p.next()) % ends}
	again := w
	again.data = bytes.Clone(w.data)
	return &w, &again
}

// outcome is what a call comes to: results, an error, or a panic.
type outcome struct {
	n        int64
	err      error
	panicked bool
}

func (o outcome) String() string {
	return fmt.Sprintf("%d, %v, panicked: %v", o.n, o.err, o.panicked)
}

func outcomeOf(f func() (int64, error)) (o outcome) {
	defer func() {
		if v := recover(); v != nil {
			o = outcome{panicked: true}
		}
	}()
	n, err := f()
	return outcome{n: n, err: err}
}

// fuzzPools are pools for the growing things, by number.
func fuzzPool(n int) bufpool.BufferPool {
	switch n % 5 {
	case 1:
		return bufpool.Must(bufpool.NewTiered([]int{7, 100, 1000, 5000}))
	case 2:
		return bufpool.Nop{}
	case 3:
		return bufpool.Must(bufpool.NewStepped(32, 1<<20, 4, bufpool.WithClear(bufpool.ClearOnPut)))
	case 4:
		return bufpool.NewLocal(bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(64, 4096))), 10_000)
	}
	return bufpool.Must(bufpool.NewBinaryTiered(bufpool.Exponents(256, 1<<20)))
}
