//go:build !unix

package target

import "os/exec"

// ownGroup leaves the program as it is: without process groups only the
// program itself is killed when the context ends.
func ownGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
