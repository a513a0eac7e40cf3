// Package race tells tests whether the race detector watches. Under it computing takes
// five to fifty times as long and a program several times as long to start. It finds
// nothing where one goroutine compares values, and where runs differ in what they read,
// not in what they do at once, a few of them show it as much.
package race

import "testing"

// Step returns 1, or n if the race detector watches. It is the step of a loop over runs
// that are alike to the detector.
func Step(n int) int {
	if Enabled {
		return n
	}
	return 1
}

// OneByOne skips a test under the detector that runs whole commands one after the other.
// The packages that do things at once are watched themselves, and the command line where
// several commands run.
func OneByOne(tb testing.TB) {
	tb.Helper()
	if Enabled {
		tb.Skip("it runs one command after the other")
	}
}

// Computing skips a test under the detector in which one goroutine computes.
func Computing(tb testing.TB) {
	tb.Helper()
	if Enabled {
		tb.Skip("one goroutine computes")
	}
}
