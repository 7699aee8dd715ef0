package check

// quarantine holds the buffers that were put back last, first in, first out. It is
// guarded by the pool's lock.
//
// A buffer counts with what is remembered of it, too: else one million of one byte
// would fit into a quarantine of 1 MB, which would take 500 MB.
type quarantine struct {
	limit int64
	bytes int64
	held  []*record // held[first:] in order
	first int
}

func (q *quarantine) push(r *record) {
	q.held = append(q.held, r)
	q.bytes += r.weight()
}

// pop takes out the one that is in it longest, if it holds more than limit.
func (q *quarantine) pop(limit int64) *record {
	if q.bytes <= limit || q.first == len(q.held) {
		return nil
	}
	r := q.held[q.first]
	q.held[q.first] = nil
	q.bytes -= r.weight()
	if q.first++; q.first > len(q.held)/2 {
		n := copy(q.held, q.held[q.first:])
		clear(q.held[n:])
		q.held, q.first = q.held[:n], 0
	}
	return r
}

// remove takes out those of which drop says so.
func (q *quarantine) remove(drop func(*record) bool) {
	kept := q.held[:0]
	for _, r := range q.held[q.first:] {
		if drop(r) {
			q.bytes -= r.weight()
			continue
		}
		kept = append(kept, r)
	}
	clear(q.held[len(kept):])
	q.held, q.first = kept, 0
}

// remembered is about what a record, its stacks, its header and its nodes take.
const remembered = 1 << 10

func (r *record) weight() int64 { return int64(r.high-r.low) + remembered }
