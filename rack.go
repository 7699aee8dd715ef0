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

// moreSlots is how many pointers a cache line has.
const moreSlots = 8

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

func (r *rack) full() bool { return r.slots == 0 || r.top != nil && r.n == len(r.more) }

// fits reports whether r has an empty slot, or makeSlot can make one.
func (l *Local) fits(r *rack) bool {
	return !r.full() || r.size <= l.limit-r.slots*r.size
}

// makeSlot sees to it that r has an empty slot, and reports whether it could. If the
// limit is reached, it takes slots from other racks and gives the parent what is in
// them: a size that was put often must not keep out for ever one that is put now.
func (l *Local) makeSlot(r *rack) bool {
	for r.full() && l.free < r.size {
		if !l.fits(r) { // for the parent may have put something here meanwhile
			return false
		}
		if l.hand >= len(l.inUse) {
			l.hand = 0
		}
		if l.inUse[l.hand] == r {
			l.hand++
			continue
		}
		l.giveWay(l.hand)
	}
	if !r.full() {
		return true
	}
	l.free -= r.size
	r.slots++
	switch {
	case r.slots == 1:
		l.inUse = append(l.inUse, r)
		if l.clear != ClearOnPut {
			r.keeps = r.size
		}
	case r.more == nil:
		r.more = make([]*[]byte, 1, moreSlots)
	default:
		r.more = append(r.more, nil)
	}
	return true
}

// giveWay takes a slot from l.inUse[i]. The parent is called when all is done: it
// may panic.
func (l *Local) giveWay(i int) {
	r := l.inUse[i]
	if r.slots == 1 {
		last := len(l.inUse) - 1
		l.inUse[i] = l.inUse[last]
		l.inUse[last] = nil
		l.inUse = l.inUse[:last]
	}
	l.removeSlot(r)
}

// removeSlot takes a slot from r, an empty one if there is one, and gives the
// parent what was in it. A header that is not as it was at Put was changed since,
// which is misuse: it may stand for a buffer that is in use, and is left alone.
func (l *Local) removeSlot(r *rack) {
	var b *[]byte
	if r.full() {
		b = r.take()
	}
	l.free += r.size
	r.slots--
	switch last := len(r.more) - 1; {
	case last < 0:
		r.keeps = -1
	case last < r.n: // then it is the top that is empty
		r.top, r.n = r.more[last], last
		r.more[last] = nil
		fallthrough
	default:
		r.more = r.more[:last]
		if last == 0 && cap(r.more) > moreSlots {
			r.more = nil
		}
	}
	if b != nil && cap(*b) == r.size {
		*b = (*b)[:0] // how long it was when it was put says nothing of its users before
		l.parent.Put(b)
	}
}
