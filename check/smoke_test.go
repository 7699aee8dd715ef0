package check_test

import (
	"errors"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/bufpooltest"
	"github.com/bufpool/bufpool/check"
)

func TestContract(t *testing.T) {
	sizes := parent().(*bufpool.BinaryTiered).Sizes()[:8]
	bufpooltest.Test(t, func() bufpool.BufferPool {
		return bufpool.Must(check.New(bufpool.Must(bufpool.NewTiered(sizes)), check.WithQuarantine(0), check.WithReport(func(check.Violation) {})))
	}, sizes)
}

func TestSmoke(t *testing.T) {
	var got []check.Violation
	p := bufpool.Must(check.New(parent(), check.WithReport(func(v check.Violation) { got = append(got, v) })))
	b := p.Get(100)
	alias := *b
	p.Put(b)
	p.Put(b)
	p.Put(&alias)
	alias[3] = 'x'
	p.Verify()
	for _, v := range got {
		t.Log(v)
	}
	if len(got) != 3 || !errors.Is(got[2], check.WriteAfterPut) {
		t.Error(len(got))
	}
}
