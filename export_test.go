package bufpool

// The search for a tier alone, as Get and as Put make it, for a benchmark.

func (p *Tiered) LookupGet(n int) bool { return p.smallest(uint(n)) != nil }
func (p *Tiered) LookupPut(c int) bool { return p.exactly(uint(c)) != nil }

func (p *BinaryTiered) LookupGet(n int) bool { return p.tierFor(n) != nil }
func (p *BinaryTiered) LookupPut(c int) bool {
	t := p.exact[powerIndex(c)]
	return t != nil && t.keeps == c
}

func (p *Stepped) LookupGet(n int) bool { return p.tierFor(n) != nil }
func (p *Stepped) LookupPut(c int) bool {
	t := p.tierFor(c)
	return t != nil && t.keeps == c
}

// LookupAll looks up all sizes below n, for Get and for Put. It is written for each
// type, since a call in between would be most of what is measured.

func (p *Tiered) LookupAll(n int) (found int) {
	for n := range n {
		if p.LookupGet(n) {
			found++
		}
		if p.LookupPut(n) {
			found++
		}
	}
	return found
}

func (p *BinaryTiered) LookupAll(n int) (found int) {
	for n := range n {
		if p.LookupGet(n) {
			found++
		}
		if p.LookupPut(n) {
			found++
		}
	}
	return found
}

func (p *Stepped) LookupAll(n int) (found int) {
	for n := range n {
		if p.LookupGet(n) {
			found++
		}
		if p.LookupPut(n) {
			found++
		}
	}
	return found
}

// LookupSize is the size of the tier for n, which there must be.
func (p *Stepped) LookupSize(n int) int { return p.tierFor(n).size }

// Idle is the sum of what is in the slots.
func (l *Local) Idle() (bytes int) {
	for _, r := range l.racks {
		if r != nil {
			bytes += r.n * r.size
			if r.top != nil {
				bytes += r.size
			}
		}
	}
	return bytes
}
