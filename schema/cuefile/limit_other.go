//go:build !linux

package cuefile

import "errors"

// restrictSystem does nothing here: the process watches itself.
func restrictSystem() error { return errors.ErrUnsupported }
