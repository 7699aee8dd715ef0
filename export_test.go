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

// LookupSize is the size of the tier for n, which there must be.
func (p *Stepped) LookupSize(n int) int { return p.tierFor(n).size }
