//go:build !linux

package store

import (
	"errors"
	"os"
)

// Elsewhere locks belong to the process or there are none, so that a killed
// run is known only by its leases ending.

func lockByte(*os.File, int64) error { return errors.ErrUnsupported }

func unlockByte(*os.File, int64) {}

func byteLocked(*os.File, int64) bool { return true }

func byteTaken(*os.File, int64) bool { return false }
