package check

// list is a list of records, of which each can be taken out at once.
type list struct {
	first *record
	len   int
}

func (l *list) add(r *record) {
	if r.after = l.first; l.first != nil {
		l.first.before = r
	}
	l.first = r
	l.len++
}

func (l *list) remove(r *record) {
	if r.before != nil {
		r.before.after = r.after
	} else {
		l.first = r.after
	}
	if r.after != nil {
		r.after.before = r.before
	}
	r.before, r.after = nil, nil
	l.len--
}

func (l *list) all(yield func(*record) bool) {
	for r := l.first; r != nil && yield(r); r = r.after {
	}
}
