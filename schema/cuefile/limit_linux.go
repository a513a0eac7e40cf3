package cuefile

import (
	"fmt"
	"os"
	"syscall"
)

// restrictSystem has the kernel refuse memory, files and sockets.
//
// It is the address space that is bounded. Go's runtime reserves it before it
// uses memory, and ends the process when it gets none. RLIMIT_DATA does not
// hold: memory that was reserved before is not counted when it comes into use,
// and the runtime then faults where it expects no refusal. As Go reserves more
// than a gigabyte at its start, the bound is what there is and twice what is
// allowed, for the heap grows in steps of 64 MiB and more.
func restrictSystem() error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return err
	}
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_AS:     pages*uint64(os.Getpagesize()) + 2*MaxMemory,
		syscall.RLIMIT_CORE:   0,
		syscall.RLIMIT_NOFILE: 0, // what is open stays so
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}
