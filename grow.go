package bufpool

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Errors about a length, for errors.Is: of [ReadN] and [Chain.ReadN], which then do not
// touch the reader, and of ReadFrom with a limit. ErrTooLarge is also what a [Buffer]
// panics with, as bytes.ErrTooLarge is there.
var (
	ErrNegativeLength = errors.New("bufpool: negative length")
	ErrTooLarge       = errors.New("bufpool: length too large")
)

// Grow returns a buffer of p that has the length and contents of *b and a
// capacity of at least n bytes: b itself if that is large enough, otherwise a
// larger one, after putting b back. It takes ownership of b and hands on that of
// the result:
//
//	b = bufpool.Grow(p, b, len(*b)+len(more))
//	*b = append(*b, more...)
//
// b must have come from p. A nil b is an empty buffer, and a nil p the default
// pool. The bytes between length and capacity are arbitrary, as after Get.
//
// Grow copies len(*b) bytes if it has to move them, and does not allocate once
// the pool has warmed up. Above the largest tier it allocates exactly n, so ask
// there for more than the next few bytes. It panics as Get does, and b is then
// still the caller's.
func Grow(p BufferPool, b *[]byte, n int) *[]byte {
	mustNotBeNegative(n)
	if b != nil && cap(*b) >= n {
		return b
	}
	if p == nil {
		p = Default()
	}
	larger := p.Get(n)
	if b == nil {
		*larger = (*larger)[:0]
		return larger
	}
	*larger = (*larger)[:copy(*larger, *b)]
	p.Put(b)
	return larger
}

const (
	// firstStage bounds what ReadN, of a pool or a Chain, takes on a peer's word
	// alone. Below it a length is read in one piece, which covers nearly all messages.
	firstStage = 128 << 10

	// A stage is 1<<stageShift times the one before. With 16, a forged length
	// gains 16 bytes held for each one sent, and all copying together adds less
	// than n/16 + n/16² + … = n/15. A factor of 2 would copy everything once
	// more.
	stageShift = 4

	// maxLead is the largest headroom that the stages include. A larger one is
	// put on top of each stage: it could be more than the first one holds.
	maxLead = 4 << 10

	// maxEmptyReads is how often a reader may return 0, nil in a row.
	maxEmptyReads = 100
)

// ReadN reads exactly n bytes from r into a buffer of p, after headroom bytes
// left free at its start (of arbitrary contents): the result has length
// headroom + n. The caller owns it.
//
// n may be what a peer announced. It is not trusted: no more than 128 KiB (and
// the headroom, if that is above 4 KiB) is taken before the first byte arrives,
// then a buffer of at most sixteen times the one that is full, headroom included,
// and up to 15 bytes; each is rounded up to a tier. To move from one to the next, at most n/15 bytes
// are copied in all. Bound n all the same: a peer that does send what it
// announced is believed.
//
// The errors are those of io.ReadFull: io.EOF if there was no byte at all,
// io.ErrUnexpectedEOF if there were fewer than n, otherwise the reader's. A
// reader that returns 0, nil a hundred times in a row is given up with
// io.ErrNoProgress. For n < 0 the error wraps [ErrNegativeLength], for more than
// an int holds [ErrTooLarge], and nothing is read. With an error, or if r
// panics, the buffer is back in the pool.
//
// ReadN panics if headroom is negative. A nil p is the default pool. It does
// not allocate once the pool has warmed up.
func ReadN(p BufferPool, r io.Reader, n int64, headroom int) (*[]byte, error) {
	mustNotBeNegative(headroom)
	if n < 0 {
		return nil, fmt.Errorf("%w %d", ErrNegativeLength, n)
	}
	if n > int64(math.MaxInt-headroom) {
		return nil, fmt.Errorf("%w: %d bytes after a headroom of %d", ErrTooLarge, n, headroom)
	}
	if p == nil {
		p = Default()
	}

	// Stage by stage the buffer has lead + span>>shift bytes, lead + span in
	// the end. Dividing headroom and payload together leaves a payload that
	// just fills a tier with its headroom in tiers all along.
	total := headroom + int(n)
	stage, lead, span, shift := total, 0, total, uint(0)
	if total > firstStage {
		if headroom > maxLead {
			lead, span = headroom, int(n)
		}
		for span>>shift > firstStage {
			shift += stageShift
		}
		stage = lead + span>>shift
	}

	buf := p.Get(stage)
	defer func() {
		if buf != nil { // an error, or a panic of r
			p.Put(buf)
		}
	}()
	for have, empty := headroom, 0; have < total; {
		if have == len(*buf) {
			shift -= stageShift
			larger := p.Get(lead + span>>shift)
			copy((*larger)[headroom:], (*buf)[headroom:])
			full := buf
			buf = larger
			p.Put(full)
		}
		free := (*buf)[have:]
		m, err := r.Read(free)
		if m < 0 || m > len(free) {
			return nil, errCount(r, "Read", m)
		}
		if have += m; have == total {
			break
		}
		if m > 0 {
			empty = 0
		} else if empty++; empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
		if err == io.EOF && have > headroom {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	result := buf
	buf = nil
	return result, nil
}
