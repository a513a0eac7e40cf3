//go:build !linux

package cuefile

import "errors"

// boundMemory does nothing here: the process watches itself.
func boundMemory() error { return errors.ErrUnsupported }
