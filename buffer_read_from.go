package bufpool

import "io"

// SetReadLimit bounds what each ReadFrom reads to n bytes. Without it there is no
// bound. It panics if n is negative.
func (b *Buffer) SetReadLimit(n int64) { b.limit = newLimit(n) }

// ReadFrom appends what r gives until it ends, and returns how many bytes that were.
// The end is no error, any other error of r is returned; what came before it is in the
// Buffer. If r has more than [Buffer.SetReadLimit] says, the error wraps [ErrTooLarge],
// the Buffer has as much as that, and one byte more was taken from r. A
// reader that returns 0, nil a hundred times in a row is given up with io.ErrNoProgress.
//
// It takes a larger buffer only when bytes are there that the present one does not
// hold. So the end of r costs none, and a reader that stalls costs, in powers of two,
// less than twice what it sent, headroom included, and 512 bytes.
//
// It panics, with what it read so far in the Buffer, if r returns a count that cannot
// be, and as Grow does.
func (b *Buffer) ReadFrom(r io.Reader) (n int64, err error) {
	if b.base.Load() == nil {
		b.Grow(minRead)
	}
	in := b.limit.of(r)
	for err == nil && in.left > 0 {
		var m int
		if b.Available() >= minRead || b.slide(minRead) {
			end := len(b.buf)
			m, err = in.read(b.buf[end:cap(b.buf)])
			b.buf = b.buf[:end+m]
		} else {
			m, err = b.readAside(&in)
		}
		n += int64(m)
	}
	if in.left == 0 { // with the byte too many
		b.buf = b.buf[:len(b.buf)-1]
		return n - 1, b.limit.err()
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// readAside reads where there is not the room that a reader may need: into a small
// buffer of its own, which tells whether more is needed at all.
func (b *Buffer) readAside(in *source) (n int, err error) {
	aside := b.pool.Get(minRead)
	defer b.pool.Put(aside)
	n, err = in.read(*aside)
	b.Write((*aside)[:n])
	return n, err
}
