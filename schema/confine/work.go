package confine

import (
	"context"
	"time"
)

// AfterWork calls f, in a goroutine of its own, once this process has worked for d since the
// call. Work is processor time, so that a busy machine, on which a process waits for its
// turn, takes nothing from d; f is never called before d has passed. On Windows all time
// counts as work. The result stops the watch, and may be called more than once.
func AfterWork(d time.Duration, f func()) (stop func()) {
	begun := processorTime()
	watched, stop := context.WithCancel(context.Background())
	go func() {
		for left := d; left > 0; left = d - (processorTime() - begun) {
			select {
			case <-time.After(max(left, time.Millisecond)):
			case <-watched.Done():
				return
			}
		}
		// A busy machine may wake this goroutine long after the stop, when other work was
		// done.
		if watched.Err() == nil {
			f()
		}
	}()
	return stop
}
