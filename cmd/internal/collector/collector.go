// Package collector sets how often memory is collected. A program that imports it calls
// [Resume] when main runs.
package collector

import (
	"os"
	"runtime/debug"
)

// configured is the percentage that the process began with. Until [Resume] next to nothing is
// collected: what packages set up before main runs stays in use, and looking through it
// takes a third of the time of a short command.
var configured = debug.SetGCPercent(growth)

// Resume has memory collected as the environment says.
func Resume() { debug.SetGCPercent(configured) }

// These pace the garbage collector. Most commands end before the heap is five times as large
// as what is in use after the first collection. Where a repository is large, the limit has
// memory collected more often, so that it does not take a multiple of what it needs; beyond
// the limit the runtime spends no more than half of the time on that.
const (
	growth = 400
	limit  = 128 << 20
)

// Pace has memory collected seldom while little is in use, and often near the limit.
// GOMEMLIMIT sets another limit, such as for a server that has more memory to itself.
func Pace() {
	debug.SetGCPercent(growth)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
