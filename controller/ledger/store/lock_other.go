//go:build !linux

package store

import (
	"errors"
	"os"
)

// On other systems locks belong to the process or do not exist, so a killed run only
// shows by the end of its leases.

func lockByte(*os.File, int64) error { return errors.ErrUnsupported }

func unlockByte(*os.File, int64) {}

func byteLocked(*os.File, int64) bool { return true }

func byteTaken(*os.File, int64) bool { return false }
