//go:build !unix

package postgrestest

import "os/exec"

func lower(*exec.Cmd) error { return ErrMissing }

func give(string) error { return ErrMissing }
