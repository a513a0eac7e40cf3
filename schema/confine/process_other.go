//go:build !linux

package confine

import "errors"

// Process refuses nothing here, and returns [errors.ErrUnsupported].
func Process() error { return errors.ErrUnsupported }
