package bufpool

import (
	"fmt"
	"io"
	"math"
)

// minRead is the least room that ReadFrom offers a reader, as bytes.MinRead is: some
// readers fail, or lose data, with less.
const minRead = 512

// limit bounds what one ReadFrom reads: it is 1 more than that, and 0 for no bound.
type limit int64

func newLimit(n int64) limit {
	if n < 0 {
		panic(fmt.Sprintf("bufpool: negative limit %d", n))
	}
	return limit(min(n, math.MaxInt64-1) + 1)
}

// of returns r with the limit: the byte too many tells a limit that was exceeded from
// one that was just reached.
func (l limit) of(r io.Reader) source {
	if l == 0 {
		return source{r: r, left: math.MaxInt64}
	}
	return source{r: r, left: int64(l)}
}

func (l limit) err() error { return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, l-1) }

// source is a reader that is not trusted with its counts, nor to end.
type source struct {
	r     io.Reader
	left  int64 // bytes that it may still give
	empty int   // Reads in a row that gave nothing, without an error
}

// read reads into p, and never more than what is left.
func (s *source) read(p []byte) (n int, err error) {
	p = p[:min(int64(len(p)), s.left)]
	n, err = s.r.Read(p)
	mustBeCount(s.r, "Read", n, len(p))
	s.left -= int64(n)
	if n > 0 {
		s.empty = 0
	} else if s.empty++; s.empty == maxEmptyReads && err == nil {
		err = io.ErrNoProgress
	}
	return n, err
}

// mustBeCount panics if n cannot be how many of most bytes were read or written.
func mustBeCount(by any, method string, n, most int) {
	if n < 0 || n > most {
		panic(errCount(by, method, n))
	}
}

func errCount(by any, method string, n int) error {
	return fmt.Errorf("bufpool: %T returned an invalid count %d from %s", by, n, method)
}
