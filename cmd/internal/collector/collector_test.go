package collector

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestPace sets a limit, unless the environment does.
func TestPace(t *testing.T) {
	before, bound := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(bound)
	}()
	for _, tt := range []struct {
		environment string
		want        int64
	}{{"1GiB", bound}, {"", limit}} {
		t.Setenv("GOMEMLIMIT", tt.environment)
		Pace()
		if got := debug.SetMemoryLimit(-1); got != tt.want {
			t.Errorf("with GOMEMLIMIT=%s the limit is %d, want %d", tt.environment, got, tt.want)
		}
	}
	if got := current(); got != growth {
		t.Errorf("the percentage is %d, want %d", got, growth)
	}
}

// TestResume sets what the process began with. A collection that has begun may set the
// percentage of its pace in between.
func TestResume(t *testing.T) {
	before := debug.SetGCPercent(7)
	defer debug.SetGCPercent(before)
	got := 0
	for range 1000 {
		Resume()
		if got = current(); got == configured {
			return
		}
		debug.SetGCPercent(7)
	}
	t.Errorf("the percentage is %d, want the %d that the process began with", got, configured)
}

// current reads the percentage. Asking by setting it would undo what is set in between.
func current() int {
	seen := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(seen)
	return int(seen[0].Value.Uint64())
}
