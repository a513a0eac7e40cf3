// Package collector sets how often memory is collected. A program that imports it calls
// [Resume] when main runs.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// configured is the percentage that the process began with. Until [Resume] next to nothing is
// collected: what packages set up before main runs stays in use, and looking through it
// takes a third of the time of a short command.
var configured = debug.SetGCPercent(400)

// Resume has memory collected as the environment says.
func Resume() { debug.SetGCPercent(configured) }

// Pace has the garbage collector run as usual while little memory is in use, and more
// often once much is, so that a large repository does not take a multiple of its need. It
// lasts until the process ends. To collect less often at first saves no time: what the
// collector leaves alone is taken from the system, page by page.
func Pace() {
	pace(percent(0), 0)
}

// Serve has memory collected as [Pace] does, and more often while little is in use: a server
// is idle for most of its time, and stays.
func Serve() { serving.Store(true) }

var serving atomic.Bool

// percent is by how much the heap may grow beyond the live bytes before it is
// collected again.
func percent(live uint64) int {
	const mib = 1 << 20
	switch {
	case serving.Load() && live >= 8*mib && live < 40*mib:
		return 15
	case live < 16*mib:
		return 100
	case live < 40*mib:
		return 50
	case live < 100*mib:
		return 25
	}
	return 12
}

// hoards reports whether much of the memory of a large heap is free and not given back
// to the system. A later part of a command seldom has a use for all of it.
func hoards(live, free uint64) bool {
	const mib = 1 << 20
	return live >= 100*mib && free >= 32*mib
}

// pace sets the percentage and looks again after the next collection.
func pace(want, is int) {
	if want != is {
		debug.SetGCPercent(want)
	}
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) {
		seen := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		metrics.Read(seen)
		live, free := seen[0].Value.Uint64(), seen[1].Value.Uint64()
		if hoards(live, free) {
			go debug.FreeOSMemory()
		}
		pace(percent(live), want)
	})
}
