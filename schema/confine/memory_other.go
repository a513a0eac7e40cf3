//go:build !linux

package confine

import "errors"

// boundAddresses does nothing here: the process watches itself.
func boundAddresses(uint64) error { return errors.ErrUnsupported }
