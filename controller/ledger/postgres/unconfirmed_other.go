//go:build !linux

package postgres

import "syscall"

// limitUnconfirmed leaves it to the system how long it sends again what is not confirmed.
func limitUnconfirmed(_, _ string, _ syscall.RawConn) error { return nil }
