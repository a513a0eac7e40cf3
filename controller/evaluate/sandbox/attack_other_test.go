//go:build !linux

package sandbox

// serveAttack has nothing to attack: programs are isolated on Linux only.
func serveAttack() bool { return false }
