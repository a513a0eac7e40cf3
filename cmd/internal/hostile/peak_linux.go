package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
)

// tookOf returns the most memory of an ended process.
func tookOf(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }

var high = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakOf returns the most memory of a process so far.
func peakOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := high.FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("the system does not tell the memory of process %d", pid)
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kib << 10, err
}
