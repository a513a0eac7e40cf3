// Package collector sets how often memory is collected.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Pace has the garbage collector run seldom while little memory is in use, since
// most commands end soon, and often once much is, so that a large repository does
// not take a multiple of what it needs. It lasts until the process ends.
func Pace() {
	pace(percent(0), 0)
}

// percent is by how much the heap may grow beyond the live bytes before it is
// collected again.
func percent(live uint64) int {
	const mib = 1 << 20
	switch {
	case live < 16*mib:
		return 200
	case live < 40*mib:
		return 50
	case live < 100*mib:
		return 25
	}
	return 12
}

// pace sets the percentage and looks again after the next collection.
func pace(want, is int) {
	if want != is {
		debug.SetGCPercent(want)
	}
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		pace(percent(live[0].Value.Uint64()), want)
	})
}
