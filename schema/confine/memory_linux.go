package confine

import (
	"fmt"
	"os"
	"syscall"
)

// boundAddresses has the kernel refuse memory.
//
// It is the address space that is bounded. Go's runtime reserves it before it
// uses memory, and ends the process when it gets none. RLIMIT_DATA does not
// hold: memory that was reserved before is not counted when it comes into use,
// and the runtime then faults where it expects no refusal. As Go reserves more
// than a gigabyte at its start, the bound is what there is and twice what is
// allowed, for the heap grows in steps of 64 MiB and more.
func boundAddresses(most uint64) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return err
	}
	bound := pages*uint64(os.Getpagesize()) + 2*most
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bound, Max: bound})
}
