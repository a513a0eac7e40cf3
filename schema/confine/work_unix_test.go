//go:build unix

package confine_test

import (
	"testing"
	"time"

	"github.com/gavel-evals/gavel/schema/confine"
)

// TestWaitingIsNoWork: the watch of a process that waits goes on, and ends when the process
// has worked; a watch that was stopped says nothing.
func TestWaitingIsNoWork(t *testing.T) {
	const most = 300 * time.Millisecond
	worked := make(chan struct{})
	stop := confine.AfterWork(most, func() { close(worked) })
	defer stop()
	silent := confine.AfterWork(most, func() { t.Error("a watch that was stopped spoke") })
	silent()
	silent()
	select {
	case <-worked:
		t.Fatal("waiting counted as work")
	case <-time.After(2 * most):
	}
	for n := 0; ; n++ {
		select {
		case <-worked:
			return
		default:
		}
	}
}
