package bufpool

import "io"

// copySize is what io.Copy allocates: half of what a pipe and a quarter of what a
// socket holds on Linux, and a tier of the default pool.
const copySize = 32 << 10

// Copy copies from src to dst until src ends or one of them fails, and returns the
// number of bytes copied and the first error, as io.Copy does in every respect: the
// end of src is no error, and if src is an io.WriterTo, or else dst an io.ReaderFrom,
// that does the work.
//
// Only otherwise is a buffer needed. It is one of p, of 32 KiB or what an
// io.LimitedReader has left if that is less, taken once and given back before Copy
// returns, and also if src or dst panics. Neither may keep the slices that it was
// passed. A nil p is the default pool. Copy does not allocate once the pool has
// warmed up.
//
// A WriterTo or ReaderFrom may allocate a buffer of its own. Those of *os.File and
// *net.TCPConn do, 32 KiB, where the operating system cannot copy from the one to the
// other. Where it is known that it cannot, hide the method:
//
//	bufpool.Copy(struct{ io.Writer }{file}, src, p)
func Copy(dst io.Writer, src io.Reader, p BufferPool) (written int64, err error) {
	if from, ok := src.(io.WriterTo); ok {
		return from.WriteTo(dst)
	}
	if to, ok := dst.(io.ReaderFrom); ok {
		return to.ReadFrom(src)
	}
	if p == nil {
		p = Default()
	}
	size := copySize
	if l, ok := src.(*io.LimitedReader); ok && l.N < copySize {
		size = max(1, int(l.N))
	}
	b := p.Get(size)
	defer p.Put(b)
	return io.CopyBuffer(dst, src, (*b)[:size:size]) // a count above it is to panic
}
