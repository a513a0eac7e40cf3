package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestPace holds that the percentage follows the memory that is in use, and comes
// back when it is given back.
func TestPace(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	Pace()
	if got := current(); got != 100 {
		t.Errorf("with little in use the percentage is %d, want 100", got)
	}
	held := make([]byte, 64<<20)
	await(t, 25)
	runtime.KeepAlive(held)
	held = nil
	await(t, 100)
}

// TestServe holds that a server collects more often while little is in use.
func TestServe(t *testing.T) {
	for live, want := range map[uint64][2]int{4 << 20: {100, 100}, 9 << 20: {100, 15}, 39 << 20: {50, 15}, 64 << 20: {25, 25}} {
		if got := percent(live); got != want[0] {
			t.Errorf("the percentage of a command is %d with %d bytes, want %d", got, live, want[0])
		}
		serving.Store(true)
		if got := percent(live); got != want[1] {
			t.Errorf("the percentage of a server is %d with %d bytes, want %d", got, live, want[1])
		}
		serving.Store(false)
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

// await collects until the percentage is the one that is wanted.
func await(t *testing.T, want int) {
	t.Helper()
	got := 0
	for range 1000 {
		runtime.GC()
		runtime.Gosched()
		if got = current(); got == want {
			return
		}
	}
	t.Errorf("the percentage is %d, want %d", got, want)
}

// current reads the percentage. Reading it by setting it would undo changes in between.
func current() int {
	seen := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(seen)
	return int(seen[0].Value.Uint64())
}

// TestHoards: a small heap keeps free memory, since a command soon ends, and a large
// one keeps a little.
func TestHoards(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		live, free uint64
		want       bool
	}{{50 * mib, 200 * mib, false}, {300 * mib, 10 * mib, false}, {300 * mib, 60 * mib, true}} {
		if got := hoards(tt.live, tt.free); got != tt.want {
			t.Errorf("of %d MiB with %d free: %v", tt.live/mib, tt.free/mib, got)
		}
	}
}
