//go:build !unix

package confine

import "time"

var started = time.Now()

// processorTime returns the time since the start: here all time counts.
func processorTime() time.Duration { return time.Since(started) }
