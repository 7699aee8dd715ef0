package check

import "sync/atomic"

// clearances remembers, of headers and their arrays, that neither had to do with a
// tracked buffer: until the next one is tracked, they need not be looked up again.
// That saves a fifth of a Get and Put where few buffers are tracked.
//
// A clearance is a hash of the two addresses and of how many buffers had been
// tracked before, 64 bits wide. By chance, once in 2⁶⁴ Puts, it is that of others, and
// the Put is not checked.
type clearances struct {
	tracked atomic.Uint64
	slots   [256]atomic.Uint64
}

func clearance(header, array uintptr, tracked uint64) uint64 {
	const odd, golden = 0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15
	return (uint64(header)*odd^uint64(array))*golden + tracked
}

func (c *clearances) slot(header uintptr) *atomic.Uint64 {
	return &c.slots[(header>>3^header>>11)%uintptr(len(c.slots))]
}

// has reports whether the header and the array have a clearance that is valid still.
func (c *clearances) has(header, array uintptr) bool {
	return c.slot(header).Load() == clearance(header, array, c.tracked.Load())
}

// now is to be called before the look-up whose result goes to add.
func (c *clearances) now() uint64 { return c.tracked.Load() }

func (c *clearances) add(header, array uintptr, now uint64) {
	c.slot(header).Store(clearance(header, array, now))
}

// revoke makes all clearances invalid. It is to be called when a buffer has been
// indexed, before anybody has it.
func (c *clearances) revoke() { c.tracked.Add(1) }
