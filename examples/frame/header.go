package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

const (
	minHeader  = 12
	maxOptions = 10
	maxHeader  = minHeader + 4*maxOptions
	wordsMask  = 0x0F

	// Headroom is how many bytes a payload's buffer has before the payload: the
	// longest header.
	Headroom = maxHeader
)

// The stream bits that have a meaning, for [Frame.SetStream].
const (
	Stream byte = 1 << iota // one of a stream of frames
	Stop                    // the end of a stream
	Ping
	Pong
)

// Errors, for errors.Is.
var (
	ErrPayloadTooLarge = errors.New("frame: payload too large")
	ErrChecksum        = errors.New("frame: wrong header checksum")
	ErrHeader          = errors.New("frame: invalid header")
)

// Version returns the version, 0 to 15.
func (f *Frame) Version() byte { return f.head[0] >> 4 }

// SetVersion sets the version. Above 15 it changes nothing and returns an error
// that wraps [ErrHeader].
func (f *Frame) SetVersion(v byte) error {
	if v > 15 {
		return fmt.Errorf("%w: version %d is above 15", ErrHeader, v)
	}
	f.head[0] = v<<4 | f.head[0]&wordsMask
	return nil
}

// Flags returns the byte of flags.
func (f *Frame) Flags() byte { return f.head[1] }

// SetFlags sets the byte of flags.
func (f *Frame) SetFlags(b byte) { f.head[1] = b }

// Stream returns the stream bits.
func (f *Frame) Stream() byte { return f.head[10] }

// SetStream sets the stream bits. Those without a meaning go out as they are.
func (f *Frame) SetStream(b byte) { f.head[10] = b }

// Options returns the options, on loan until the next call of Options. Changing
// them does not change the frame.
func (f *Frame) Options() []uint32 {
	n := (f.headerLen() - minHeader) / 4
	for i := range n {
		f.options[i] = binary.LittleEndian.Uint32(f.head[minHeader+4*i:])
	}
	return f.options[:n:n]
}

// SetOptions replaces the options by up to 10. With more it changes nothing and
// returns an error that wraps [ErrHeader].
func (f *Frame) SetOptions(o ...uint32) error {
	if len(o) > maxOptions {
		return fmt.Errorf("%w: %d options are above %d", ErrHeader, len(o), maxOptions)
	}
	f.head[0] = f.head[0]&^wordsMask | byte(minHeader/4+len(o))
	for i, v := range o {
		binary.LittleEndian.PutUint32(f.head[minHeader+4*i:], v)
	}
	return nil
}

// headerLen returns the length of the header in bytes. An empty header's words
// are not set yet, and what a reader that panicked left may be anything.
func (f *Frame) headerLen() int {
	return min(max(minHeader, int(f.head[0]&wordsMask)*4), maxHeader)
}

// seal completes the header for a payload of at most limit bytes.
func (f *Frame) seal(limit int64) error {
	n := int64(len(f.payload))
	if n > min(limit, math.MaxUint32) {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrPayloadTooLarge, n, min(limit, math.MaxUint32))
	}
	f.head[0] = f.head[0]&^wordsMask | byte(f.headerLen()/4)
	binary.LittleEndian.PutUint32(f.head[2:], uint32(n))
	binary.LittleEndian.PutUint32(f.head[6:], checksum(&f.head))
	return nil
}

// check returns the length of the header that head is, or at least starts with,
// and that of the payload after it.
func check(head *[maxHeader]byte) (header int, payload int64, err error) {
	if got, want := binary.LittleEndian.Uint32(head[6:]), checksum(head); got != want {
		return 0, 0, fmt.Errorf("%w: %#08x, not %#08x", ErrChecksum, got, want)
	}
	header = int(head[0]&wordsMask) * 4
	if header < minHeader || header > maxHeader {
		return 0, 0, fmt.Errorf("%w: a length of %d bytes", ErrHeader, header)
	}
	return header, int64(binary.LittleEndian.Uint32(head[2:])), nil
}

// slicing[i] is the CRC-32 of a byte with i zero bytes behind it.
var slicing = func() (t [6][256]uint32) {
	t[0] = *crc32.IEEETable
	for i := range t[1:] {
		for b, crc := range t[i] {
			t[i+1][b] = t[0][byte(crc)] ^ crc>>8
		}
	}
	return t
}()

// checksum returns the CRC-32 of the first six bytes of a header. The table of
// each byte is its own, so that no look-up waits for the one before, as it does
// in crc32.ChecksumIEEE: three times as fast, which shows in Receive below 1 KiB.
func checksum(head *[maxHeader]byte) uint32 {
	return ^(slicing[5][^head[0]] ^ slicing[4][^head[1]] ^ slicing[3][^head[2]] ^
		slicing[2][^head[3]] ^ slicing[1][head[4]] ^ slicing[0][head[5]])
}

// split cuts data, which must be one frame, into header and payload.
func split(data []byte) (header, payload []byte, err error) {
	if len(data) < minHeader {
		return nil, nil, fmt.Errorf("%w: %d bytes: %w", ErrHeader, len(data), io.ErrUnexpectedEOF)
	}
	var head [maxHeader]byte
	copy(head[:], data)
	h, n, err := check(&head)
	if err != nil {
		return nil, nil, err
	}
	switch whole := int64(h) + n; {
	case int64(len(data)) < whole:
		return nil, nil, fmt.Errorf("%w: %d bytes of %d: %w", ErrHeader, len(data), whole, io.ErrUnexpectedEOF)
	case int64(len(data)) > whole:
		return nil, nil, fmt.Errorf("%w: %d bytes for a frame of %d", ErrHeader, len(data), whole)
	}
	return data[:h], data[h:len(data):len(data)], nil
}
