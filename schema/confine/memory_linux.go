package confine

import (
	"fmt"
	"os"
	"syscall"
)

// boundAddresses makes the kernel refuse memory.
//
// It bounds the address space. Go's runtime reserves it before it uses memory, and ends
// the process if it gets none. RLIMIT_DATA does not work: memory that was reserved
// before is not counted when it is first used, and the runtime then faults where it
// expects no refusal. Since Go reserves more than a gigabyte at its start, the bound is
// the present size plus twice the allowed memory, because the heap grows in steps of 64
// MiB and more.
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
