package frame_test

import (
	"testing"

	"github.com/bufpool/bufpool/internal/pooltest"
)

// Many of these tests use the default pool.
func TestMain(m *testing.M) { pooltest.Main(m) }
