//go:build !linux

package sandbox

// kernelIsolates is false: programs are isolated on Linux only.
func kernelIsolates() bool { return false }
