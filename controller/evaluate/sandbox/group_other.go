//go:build !unix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
)

// ownGroup does nothing: without process groups, only the program itself is killed when
// the context ends.
func ownGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}

// lock fails, since this system has no locks for folders.
func lock(*os.File) error { return errors.ErrUnsupported }

func isOwn(fs.FileInfo) bool { return false }

func occupied(info fs.FileInfo) int64 { return info.Size() }
