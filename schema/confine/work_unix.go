//go:build unix

package confine

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of all threads of this process.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails only for a wrong argument
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
