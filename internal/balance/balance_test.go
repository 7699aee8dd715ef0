package balance_test

import (
	"strings"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/balance"
)

func TestBalance(t *testing.T) {
	p := balance.New(new(bufpool.Switch))
	a, b := p.Get(10), p.Get(5000)
	want := balance.Counts{
		Gets: 2, Lent: 4<<10 + 16<<10, Asked: 5010, PeakLent: 4<<10 + 16<<10, PeakAsked: 5010, LargestGet: 5000,
	}
	if got := p.Counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "2 of 2 buffers") {
		t.Error(err)
	}
	p.Put(a)
	*b = (*b)[:1]
	p.Put(b)
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	want.Puts, want.Lent, want.Asked = 2, 0, 0
	if got := p.Counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s := p.Stats(); s.Tiers[0].Misses != 1 || len(p.Sizes()) != 7 {
		t.Error(s)
	}
	p.Put(b)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "not lent") {
		t.Error(err)
	}
}

func TestACheckerIsToldOfEveryPut(t *testing.T) {
	var got []check.Violation
	p := balance.New(bufpool.Must(check.New(new(bufpool.Switch), check.WithReport(func(v check.Violation) { got = append(got, v) }))))
	b := p.Get(10)
	p.Put(b)
	p.Put(b)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "not lent") || len(got) != 1 || got[0].Kind != check.DoublePut {
		t.Error(err, got)
	}
}

// A parent with nothing but Get and Put.
type plain struct{ bufpool.BufferPool }

func TestPlainParent(t *testing.T) {
	p := balance.New(plain{bufpool.Nop{}})
	p.Put(p.Get(0))
	if err := p.Err(); err != nil || p.Sizes() != nil || p.Stats().Tiers != nil {
		t.Error(err)
	}
}
