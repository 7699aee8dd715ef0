package check

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Kind is a kind of misuse. It is an error, so that errors.Is finds it in a
// [Violation].
type Kind string

// The kinds of misuse, and what is done about each, beside reporting it.
const (
	// DoublePut: a buffer is put that was put back already, by its header or by a
	// copy of it. It goes no further.
	DoublePut Kind = "double Put"

	// NotLent: a buffer is put that this Pool never lent. Only a full check that
	// has been on since it was built can know. It goes to the parent, which keeps
	// or drops it by its capacity.
	NotLent Kind = "Put of a buffer that was not obtained from this pool"

	// Interior: the slice that is put begins inside a lent buffer. The buffer goes
	// no further. If the slice came by another header than the one that Get
	// returned, the buffer is lent still, and to be put; if it never is, that is not
	// reported once more as a leak.
	Interior Kind = "Put of an interior slice"

	// Shortened: the slice that is put has lost capacity. Else it is as Interior.
	Shortened Kind = "Put of a slice of less capacity"

	// Replaced: the header that Get returned holds another array now, which append
	// did not put there. Neither goes any further.
	Replaced Kind = "Put of a replaced slice"

	// WriteAfterPut: the poison that Put left was overwritten. The buffer is not
	// lent again.
	WriteAfterPut Kind = "write after Put"

	// Overrun: bytes changed that lie beyond the length asked for and the length
	// at Put. The buffer is lent again.
	Overrun Kind = "write beyond the length"

	// Leak: a buffer was not put back, and nothing refers to its header any more.
	// It is not put back by the checker either.
	Leak Kind = "leak"

	// LentTwice: the parent lent memory that is lent, or put back and not yet lent
	// again: somebody put it into the parent past this Pool. Who asked gets memory
	// of his own instead.
	LentTwice Kind = "memory lent twice"
)

// Error returns the kind.
func (k Kind) Error() string { return string(k) }

// Violation says what was done wrong, with which buffer, and where.
type Violation struct {
	Kind Kind

	// Length is what was asked for when the buffer was lent, Capacity what it
	// had; of NotLent, what was put.
	Length, Capacity int

	// Offset is the index of the first changed byte of WriteAfterPut and Overrun,
	// and where the slice of Interior begins; else -1. Found are the bytes from
	// there on, at most 16.
	Offset int
	Found  []byte

	// Tiers are the capacities that the parent says it has, of NotLent.
	Tiers []int

	// Got is where the buffer was lent, Put where it was put back first, and
	// Detected where this was found out. Each is nil where there is none: of a
	// leak that is all but Got.
	Got, Put, Detected Stack
}

// Unwrap returns the kind.
func (v Violation) Unwrap() error { return v.Kind }

// Error returns all there is to know, in several lines.
func (v Violation) Error() string {
	var s strings.Builder
	s.WriteString(v.Summary())
	label := labels[v.Kind]
	for _, part := range []struct {
		label string
		stack Stack
	}{{"lent at", v.Got}, {"put back at", v.Put}, {label, v.Detected}} {
		if len(part.stack) > 0 {
			fmt.Fprintf(&s, "\n%s:\n%v", part.label, part.stack)
		}
	}
	return s.String()
}

// labels say what was going on where a violation was detected.
var labels = map[Kind]string{
	DoublePut:     "put again at",
	NotLent:       "put at",
	Interior:      "put at",
	Shortened:     "put at",
	Replaced:      "put at",
	WriteAfterPut: "found at",
	Overrun:       "found when put back at",
	LentTwice:     "lent again at",
}

// Summary returns the first line of the error.
func (v Violation) Summary() string {
	s := fmt.Sprintf("check: %s: %d bytes", v.Kind, v.Capacity)
	if v.Kind == NotLent {
		if v.Tiers != nil {
			s += fmt.Sprintf(", the tiers are %v", v.Tiers)
		}
		return s
	}
	s += fmt.Sprintf(", %d asked for", v.Length)
	switch v.Kind {
	case WriteAfterPut, Overrun:
		s += fmt.Sprintf(", changed from byte %d on: % x", v.Offset, v.Found)
	case Interior:
		s += fmt.Sprintf(", put from byte %d on", v.Offset)
	}
	return s
}

// LogValue returns the parts as attributes.
func (v Violation) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("kind", string(v.Kind)), slog.Int("capacity", v.Capacity)}
	if v.Kind != NotLent {
		attrs = append(attrs, slog.Int("length", v.Length))
	}
	if v.Offset >= 0 {
		attrs = append(attrs, slog.Int("offset", v.Offset))
	}
	if len(v.Found) > 0 {
		attrs = append(attrs, slog.String("found", fmt.Sprintf("% x", v.Found)))
	}
	for _, a := range []struct {
		key   string
		stack Stack
	}{{"got", v.Got}, {"put", v.Put}, {"detected", v.Detected}} {
		if len(a.stack) > 0 {
			attrs = append(attrs, slog.String(a.key, a.stack.String()))
		}
	}
	return slog.GroupValue(attrs...)
}

// violation returns one with what is known of r. It needs the pool's lock, or that
// nothing changes r any more.
func (r *record) violation(k Kind, detected Stack) Violation {
	return Violation{
		Kind: k, Length: r.length, Capacity: r.size(), Offset: -1,
		Got: r.got, Put: r.put, Detected: detected,
	}
}

// changedAt is violation for an array that was written to at index i.
func (r *record) changedAt(k Kind, array []byte, i int, detected Stack) Violation {
	v := r.violation(k, detected)
	v.Offset = i
	v.Found = slices.Clone(array[i:min(i+16, len(array))])
	return v
}

// misput is violation for a Put of s, which is not the array of r as it was lent.
func (r *record) misput(s []byte, detected Stack) Violation {
	v := r.violation(Replaced, detected)
	switch at := arrayAt(s); {
	case at == r.low && r.low < r.high:
		v.Kind = Shortened
	case at > r.low && at < r.high:
		v.Kind, v.Offset = Interior, int(at-r.low)
	}
	return v
}
