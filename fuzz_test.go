package bufpool_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/check"
	"github.com/bufpool/bufpool/internal/pooltest"
)

// model says what a pool of these tiers must do, and keeps account of every
// buffer that was ever seen. Holding a buffer's address keeps it from being
// allocated anew, so that an address stands for one buffer.
type model struct {
	t       *testing.T
	p       statser
	sizes   []int
	lent    []*[]byte
	stamps  map[*byte]byte // what the holder wrote
	idle    map[*byte]int  // tier of those that the pool may keep
	dropped map[*byte]bool // those that it must not
	want    bufpool.Stats  // but for the misses, of which the model knows a bound
	gets    map[int]uint64 // by tier
}

func newModel(t *testing.T, p statser) *model {
	return &model{
		t: t, p: p, sizes: p.Sizes(), want: p.Stats(),
		stamps: map[*byte]byte{}, idle: map[*byte]int{}, dropped: map[*byte]bool{}, gets: map[int]uint64{},
	}
}

func (m *model) get(n int) {
	b := m.p.Get(n)
	size := n
	i, _ := slices.BinarySearch(m.sizes, n)
	if i < len(m.sizes) {
		size = m.sizes[i]
		m.gets[size]++
	} else {
		m.want.OversizedGets++
	}
	if b == nil || len(*b) != n || cap(*b) != size {
		m.t.Fatalf("Get(%d) = %p, length %d, capacity %d, want %d", n, b, len(*b), cap(*b), size)
	}
	at := &whole(b)[0]
	if _, lent := m.stamps[at]; lent {
		m.t.Fatalf("Get(%d) returned a buffer that is lent", n)
	}
	if m.dropped[at] {
		m.t.Fatalf("Get(%d) returned a buffer that was dropped", n)
	}
	if tier, ok := m.idle[at]; ok && tier != size {
		m.t.Fatalf("Get(%d) returned a buffer of tier %d", n, tier)
	}
	delete(m.idle, at)
	stamp := byte(len(m.stamps) + 1)
	for i := range whole(b) {
		whole(b)[i] = stamp
	}
	m.stamps[at] = stamp
	m.lent = append(m.lent, b)
}

// put gives back a lent buffer, after making it as long as says.
func (m *model) put(i, length int) {
	b := m.lent[i]
	m.lent = slices.Delete(m.lent, i, i+1)
	at := &whole(b)[0]
	for _, got := range whole(b) {
		if got != m.stamps[at] {
			m.t.Fatal("a lent buffer was written to")
		}
	}
	delete(m.stamps, at)
	*b = whole(b)[:length%(cap(*b)+1)]
	m.settle(at, cap(*b))
	m.p.Put(b)
}

// foreign puts a buffer that was never lent.
func (m *model) foreign(c int) {
	b := make([]byte, c)
	if c > 0 {
		m.settle(&b[0], c)
	} else {
		m.settle(nil, 0)
	}
	b = b[:c/2]
	m.p.Put(&b)
}

func (m *model) settle(at *byte, c int) {
	i, found := slices.BinarySearch(m.sizes, c)
	switch {
	case found:
		m.idle[at] = c
		return
	case c == 0:
		m.want.Dropped.Empty++
		return
	case i == 0:
		m.want.Dropped.Undersized++
	case i < len(m.sizes):
		m.want.Dropped.Between++
	default:
		m.want.Dropped.Oversized++
	}
	m.dropped[at] = true
}

func (m *model) check() {
	got := m.p.Stats()
	if got.OversizedGets != m.want.OversizedGets || got.Dropped != m.want.Dropped {
		m.t.Fatalf("stats %+v, want %+v", got, m.want)
	}
	for _, tier := range got.Tiers {
		if tier.Misses > m.gets[tier.Size] {
			m.t.Fatalf("%d misses in %d Gets of tier %d", tier.Misses, m.gets[tier.Size], tier.Size)
		}
	}
}

// FuzzPools runs a stream of operations on a pool of each kind and compares it
// with the model.
func FuzzPools(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 200, 0, 4, 0, 1, 0, 0, 2, 3, 232, 0, 19, 136})
	f.Add(uint8(1), []byte{0, 0, 0, 0, 0, 1, 1, 0, 9, 1, 1, 9, 3, 0, 1, 3, 0, 2})
	f.Add(uint8(2), []byte{0, 255, 255, 1, 0, 0, 0, 255, 255, 2, 255, 255, 0, 128, 0})
	f.Add(uint8(3), bytes.Repeat([]byte{0, 16, 1, 1, 0, 0, 3, 16, 0}, 20))
	f.Add(uint8(9), bytes.Repeat([]byte{0, 3, 232, 4, 0, 0, 1, 0, 0}, 20))
	pools := []func(opts ...bufpool.Option) statser{}
	for _, k := range kinds() {
		if sizes := k.new().Sizes(); sizes[0] <= 64<<10 {
			pools = append(pools, k.new)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, ops []byte) {
		mode := bufpool.Clear(kind / 64 % 3)
		p := pools[int(kind%64)%len(pools)](bufpool.WithClear(mode))
		// The model stamps whole buffers, puts what is foreign, and knows what comes back.
		m := newModel(t, pooltest.Check(t, p, check.WithIgnore(check.NotLent, check.Overrun), check.WithQuarantine(0)).(statser))
		for ; len(ops) >= 3; ops = ops[3:] {
			n := int(ops[1])<<8 | int(ops[2])
			switch ops[0] % 6 {
			case 0:
				m.get(n + 1)
			case 1:
				if len(m.lent) > 0 {
					m.put(n%len(m.lent), n)
				}
			case 2: // near a tier
				m.get(max(1, m.sizes[n%len(m.sizes)]%(1<<17)+n%3-1))
			case 3:
				m.foreign(n)
			case 4:
				m.foreign(m.sizes[n%len(m.sizes)]%(1<<17) + n%3)
			case 5:
				m.p.Put(nil)
				m.want.Dropped.Empty++
			}
		}
		m.check()
		for len(m.lent) > 0 {
			m.put(0, 0)
		}
		m.check()
	})
}

// FuzzReadN compares ReadN with io.ReadFull.
func FuzzReadN(f *testing.F) {
	f.Add(uint32(10), uint32(10), uint16(0), uint16(3))
	f.Add(uint32(3<<20), uint32(3<<20), uint16(52), uint16(60_000))
	f.Add(uint32(200_000), uint32(199_999), uint16(5000), uint16(0))
	f.Fuzz(func(t *testing.T, n, there uint32, headroom, chunk uint16) {
		n, there = n%(4<<20), there%(4<<20)
		data := make([]byte, there)
		for i := range data {
			data[i] = byte(i>>8 ^ i)
		}
		open := func() io.Reader { return &chunks{bytes.NewReader(data), int(chunk) + 1} }
		want := make([]byte, n)
		_, wantErr := io.ReadFull(open(), want)
		p := newBalanced(t)
		b, err := bufpool.ReadN(p, open(), int64(n), int(headroom))
		if err != wantErr {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err == nil {
			if !bytes.Equal((*b)[headroom:], want) {
				t.Fatal("the bytes differ")
			}
			p.Put(b)
		}
		pooltest.MustBalance(t, p)
	})
}

// chunks returns at most so many bytes a Read, fewer each time.
type chunks struct {
	r    io.Reader
	most int
}

func (c *chunks) Read(p []byte) (int, error) {
	c.most = max(1, c.most*7/8)
	return c.r.Read(p[:min(len(p), c.most+100)])
}
