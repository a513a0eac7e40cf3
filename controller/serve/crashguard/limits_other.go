//go:build !unix

package crashguard

import "os/exec"

func apart(*exec.Cmd) {}

// confine has no means here but the memory limit of the runtime.
func confine(Job) error { return nil }
