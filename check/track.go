package check

import (
	"runtime"
	"weak"
)

// loan is what is lent: a header that is new for each Get and never lent again, so
// that a stale one is inert. As long as somebody has it, its array stays where it is
// and its record is remembered.
type loan struct {
	header []byte  // its address is what Get returns
	array  []byte  // as the parent lent it, up to its capacity
	parent *[]byte // the header that the parent lent it under; nil once put back
}

// record is what is known of a loan. It holds on to neither the loan nor, unless in
// quarantine, the array.
type record struct {
	pool   *Pool
	loan   weak.Pointer[loan]
	header uintptr // where the loan's header is
	length int     // asked for
	got    Stack
	tail   byte // what was between length and capacity

	// Under the pool's lock, but state and what follows it may be read without by
	// who has brought about the state:
	low, high uintptr // where the array is; equal if it has no bytes
	state     state
	indexed   bool // in arrays
	blamed    bool // for a Put that did not end the loan
	gone      bool // the loan is collected
	put       Stack
	returned  *[]byte // while held: the parent's header

	before, after *record // in the list of what is lent
}

type state uint8

const (
	lent    state = iota
	held          // put back, but not yet given to the parent
	idle          // given to the parent
	dropped       // given to nobody
)

// size returns the capacity.
func (r *record) size() int { return int(r.high - r.low) }

// loanAt returns r's loan if b is its header, and not just where that was before it
// was collected.
func (r *record) loanAt(b *[]byte) *loan {
	if l := r.loan.Value(); l != nil && &l.header == b {
		return l
	}
	return nil
}

// alive reports whether r's array is still where it was. It needs the pool's lock.
func (r *record) alive() bool { return r.state == held || r.loan.Value() != nil }

// track lends the parent's buffer b under a header of its own.
//
//go:noinline
func (p *Pool) track(b *[]byte, length int) *[]byte {
	if b == nil {
		return nil // the parent's fault, and for the caller to see
	}
	p.draw(b)
	l := &loan{array: (*b)[:cap(*b)], parent: b}
	r := &record{pool: p, loan: weak.Make(l), header: headerAt(&l.header), length: length, got: callers(2)}
	p.mu.Lock()
	v, wrong := p.takeOver(l.array, r)
	p.mu.Unlock()
	if wrong {
		l.array = make([]byte, cap(*b))
		whole := l.array
		l.parent = &whole
		p.report(v) // before there is a loan: if it panics, nobody has one
	}
	l.header = l.array[:length]
	r.low, r.high = arrayAt(l.array), arrayAt(l.array)+uintptr(len(l.array))
	r.tail = tailFill(l.array[length:])
	if p.config.profile {
		profile.Add(r, 3)
	}

	p.mu.Lock()
	p.lent.add(r)
	p.headers.add(r)
	p.indexArray(r)
	p.watch.Add(1)
	p.mu.Unlock()
	p.clear.revoke()
	runtime.AddCleanup(l, forget, r)
	return &l.header
}

// takeOver looks for what is known of the array that the parent lends to r. It
// reports whether that must not be, and why. It needs the lock.
func (p *Pool) takeOver(array []byte, r *record) (v Violation, wrong bool) {
	if len(array) == 0 {
		return v, false
	}
	low, high := arrayAt(array), arrayAt(array)+uintptr(len(array))
	inUse := func(r *record) bool { return r.state != idle && r.alive() }
	if before := p.arrays.find(low, high, inUse); before != nil {
		return before.violation(LentTwice, r.got), true
	}
	// Only a strict Pool knows of what is idle. If there is a quarantine, that was
	// checked when it left it, and others may have used it since.
	before := p.arrays.find(low, high, (*record).alive)
	if before != nil && p.quarantine.limit == 0 {
		if i := changedInIdle(array, r.length); i >= 0 {
			before.state = dropped
			return before.changedAt(WriteAfterPut, array, i, r.got), true
		}
	}
	for ; before != nil; before = p.arrays.find(low, high, (*record).alive) {
		p.unindexArray(before)
	}
	return v, false
}

func (p *Pool) indexArray(r *record) {
	if r.indexed = r.low < r.high; r.indexed {
		p.arrays.add(r, r.low, r.high)
	}
}

func (p *Pool) unindexArray(r *record) {
	if r.indexed {
		p.arrays.remove(r, r.low, r.high)
		r.indexed = false
	}
}

// put is Put of a buffer that may concern a tracked one.
//
//go:noinline
func (p *Pool) put(buf *[]byte) {
	s, now := *buf, p.clear.now()
	if r, l := p.headers.find(buf); r != nil {
		p.end(r, l, s, callers(2))
		return
	}
	// Who else finds nothing here is right: what is tracked later is not buf's.
	at := arrayAt(s)
	if !p.strict.Load() && p.arrays.find(at, at+1, nil) == nil {
		p.clear.add(headerAt(buf), at, now)
		p.parent.Put(buf)
		return
	}
	p.mu.Lock()
	var r *record
	var l *loan
	if cap(s) > 0 {
		r = p.arrays.find(at, at+1, func(r *record) bool {
			l = r.loan.Value()
			return l != nil || r.state == held
		})
	}
	if r == nil {
		p.mu.Unlock()
		p.putForeign(buf)
		return
	}
	// Another header of a tracked array, or of a part of it.
	if r.state != lent || at == r.low && cap(s) == r.size() {
		p.mu.Unlock()
		p.end(r, l, s, callers(2))
		return
	}
	r.blamed = true // the loan goes on: its own header is still there
	v := r.misput(s, callers(2))
	p.mu.Unlock()
	p.report(v)
}

func (p *Pool) putForeign(buf *[]byte) {
	if cap(*buf) > 0 && p.strict.Load() {
		// Deferred, as everywhere, so that it is reported if the parent panics, and
		// done if the report does.
		defer p.report(Violation{Kind: NotLent, Capacity: cap(*buf), Offset: -1, Tiers: p.Sizes(), Detected: callers(3)})
	}
	p.parent.Put(buf)
}

// end ends r by a Put of s, which its header holds, or a copy of that. l is r's
// loan, if there still is one.
func (p *Pool) end(r *record, l *loan, s []byte, at Stack) {
	p.mu.Lock()
	if r.state != lent {
		v := r.violation(DoublePut, at)
		p.mu.Unlock()
		p.report(v)
		return
	}
	p.lent.remove(r)
	r.put = at
	grown := false
	if low := arrayAt(s); r.low != r.high && low != r.low || cap(s) != r.size() {
		// An array that is known, r's own or another's, is not append's.
		grown = cap(s) > r.size() && p.arrays.find(low, low+1, (*record).alive) == nil
		if !grown {
			r.state = dropped
			v := r.misput(s, at)
			v.Put = nil
			p.mu.Unlock()
			p.unprofile(r)
			p.report(v)
			return
		}
		// Append moved to an array of its own.
		p.unindexArray(r)
		r.low, r.high = low, low+uintptr(cap(s))
		l.array = s[:cap(s)]
		p.indexArray(r)
		p.clear.revoke()
	}
	r.state = held
	p.mu.Unlock()
	p.unprofile(r)

	var vs []Violation
	defer func() { p.report(vs...) }()
	if beyond := max(r.length, len(s)); len(s) > 0 && !grown {
		if i := changed(l.array[beyond:], r.tail); i >= 0 {
			v := r.changedAt(Overrun, l.array, beyond+i, at)
			v.Put = nil
			vs = append(vs, v)
		}
	}
	fill(l.array)
	*l.parent = l.array

	r.returned, l.parent = l.parent, nil
	limit := p.quarantine.limit
	if r.weight() > limit {
		p.hand(r)
		return
	}
	p.mu.Lock()
	p.quarantine.push(r)
	p.mu.Unlock()
	if p.every.Load() == 0 {
		limit = -1 // as SetSample(0) has flushed what was there
	}
	p.release(limit, at, &vs)
}

// release takes out of quarantine what is above the limit, oldest first, and hands
// it to the parent unless it was written to, of which it notes a violation.
func (p *Pool) release(limit int64, at Stack, vs *[]Violation) {
	for {
		p.mu.Lock()
		r := p.quarantine.pop(limit)
		p.mu.Unlock()
		if r == nil {
			return
		}
		if i := changed(*r.returned, Poison); i >= 0 {
			p.mu.Lock()
			*vs = append(*vs, p.condemn(r, i, at))
			p.mu.Unlock()
			continue
		}
		p.hand(r)
	}
}

// hand hands a buffer that was put back to the parent.
func (p *Pool) hand(r *record) {
	b := r.returned
	p.mu.Lock()
	p.leave(r, idle)
	p.mu.Unlock()
	p.parent.Put(b)
}

// condemn lets go of a buffer that was written to, at i, after it was put back. It
// needs the lock.
func (p *Pool) condemn(r *record, i int, at Stack) Violation {
	v := r.changedAt(WriteAfterPut, *r.returned, i, at)
	p.leave(r, dropped)
	return v
}

// leave ends that r is held. Its array is remembered as long as nobody but who has a
// stale header can come by it: until that is collected, or others are lent the array.
// It needs the lock.
func (p *Pool) leave(r *record, to state) {
	r.state, r.returned = to, nil
	if r.gone || to == idle && !p.strict.Load() {
		p.unindexArray(r)
	}
	if r.gone {
		p.watch.Add(-1)
	}
}

// forget is called when a loan was collected.
func forget(r *record) {
	p := r.pool
	p.mu.Lock()
	p.headers.remove(r)
	r.gone = true
	if r.state != held { // which it is for some time still
		p.unindexArray(r)
		p.watch.Add(-1)
	}
	if r.state != lent {
		p.mu.Unlock()
		return
	}
	r.state = dropped
	p.lent.remove(r)
	v := r.violation(Leak, nil)
	told := r.blamed || p.told(v) // under the lock, so that none is told twice or never
	p.mu.Unlock()
	p.unprofile(r)
	if !told {
		p.report(v)
	}
}
