package bufpool

// rack has the idle buffers of one tier of a [Local], in slots that count against
// its limit whether they are filled or empty: so a buffer that comes and goes moves
// no other number. It fills a cache line, as does the first array of further slots:
// Locals of two goroutines share none.
type rack struct {
	top *[]byte // the first slot

	more []*[]byte // the further ones
	n    int       // of which these are filled

	size  int // capacity of the buffers
	keeps int // size, or -1 without any slot or where Put has to clear
	slots int // 1 + len(more), or 0
}

// add fills an empty slot.
func (r *rack) add(b *[]byte) {
	if r.top == nil {
		r.top = b
		return
	}
	r.more[r.n] = b
	r.n++
}

// take empties a slot and returns the buffer, as it was put or as it was changed
// since; nil if all are empty.
func (r *rack) take() *[]byte {
	if b := r.top; b != nil {
		r.top = nil
		return b
	}
	if r.n == 0 {
		return nil
	}
	r.n--
	b := r.more[r.n]
	r.more[r.n] = nil // its next holder may drop it
	return b
}

func (r *rack) full() bool { return r.top != nil && r.n == len(r.more) || r.slots == 0 }

// hasRoom reports whether r has an empty slot, for which it sees to if it can.
func (l *Local) hasRoom(r *rack) bool {
	if !r.full() {
		return true
	}
	if l.free < r.size && !l.makeRoom(r) {
		return false
	}
	l.free -= r.size
	r.slots++
	switch {
	case r.slots == 1:
		if l.clear != ClearOnPut {
			r.keeps = r.size
		}
	case r.more == nil:
		r.more = make([]*[]byte, 1, 8)
	default:
		r.more = append(r.more, nil)
	}
	return true
}

// makeRoom takes slots from other racks, and gives the parent what was in them,
// until r can have one more: a size that was put often must not keep out for ever
// one that is put now. It gives up if that is not enough, and if it would have to
// look at more racks than keeping one buffer is worth; the next call goes on there.
func (l *Local) makeRoom(r *rack) bool {
	if l.limit-r.slots*r.size < r.size {
		return false
	}
	const most = 16
	for looks := 0; l.free < r.size; {
		if other := l.racks[l.hand]; other != nil && other != r && other.slots > 0 {
			l.removeSlot(other)
			continue
		}
		if looks++; looks == most {
			return false
		}
		if l.hand++; l.hand == len(l.racks) {
			l.hand = 0
		}
	}
	return true
}

// removeSlot takes a slot from r, an empty one if there is one.
func (l *Local) removeSlot(r *rack) {
	var b *[]byte
	if r.full() {
		b = r.take()
	}
	l.free += r.size
	r.slots--
	if last := len(r.more) - 1; last < 0 {
		r.keeps = -1
	} else {
		if r.n > last { // then it is the top that is empty
			r.top, r.n = r.more[last], last
			r.more[last] = nil
		}
		r.more = r.more[:last]
	}
	if b != nil {
		l.parent.Put(b)
	}
}
