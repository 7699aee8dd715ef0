package bufpool

import (
	"errors"
	"fmt"
)

// Clear says when a pool overwrites the bytes of its buffers with zeros.
type Clear uint8

const (
	// ClearNever leaves contents as they are: Get hands out what the last user
	// left. The default, and the only mode whose cost does not depend on size.
	ClearNever Clear = iota

	// ClearOnGet zeroes the bytes handed out, that is, the length asked for, at
	// the cost of clearing that many. It spares the caller a clear and is no
	// protection: an idle buffer keeps its secrets, and the bytes between
	// length and capacity may be anyone's.
	ClearOnGet

	// ClearOnPut zeroes the whole capacity of every buffer put back, before it
	// is decided whether to keep it, at the cost of clearing that capacity.
	// Secrets do not linger in idle or dropped memory, and Get hands out zeros
	// up to the capacity.
	ClearOnPut
)

// String returns the name of the constant.
func (c Clear) String() string {
	switch c {
	case ClearNever:
		return "ClearNever"
	case ClearOnGet:
		return "ClearOnGet"
	case ClearOnPut:
		return "ClearOnPut"
	}
	return fmt.Sprintf("Clear(%d)", uint8(c))
}

// Option configures a pool when it is built.
type Option interface {
	apply(*config) error
}

type config struct {
	clear Clear
}

func newConfig(opts []Option) (config, error) {
	var c config
	for _, o := range opts {
		if o == nil {
			return config{}, errors.New("bufpool: nil Option")
		}
		if err := o.apply(&c); err != nil {
			return config{}, err
		}
	}
	return c, nil
}

type clearOption Clear

func (o clearOption) apply(c *config) error {
	if Clear(o) > ClearOnPut {
		return fmt.Errorf("bufpool: unknown clearing mode %v", Clear(o))
	}
	c.clear = Clear(o)
	return nil
}

// WithClear sets when the pool clears its buffers. The default is [ClearNever];
// of several WithClear the last one counts.
func WithClear(mode Clear) Option { return clearOption(mode) }
