//go:build !linux

package postgres

import "syscall"

// limitUnconfirmed does nothing: the system decides how long it repeats unconfirmed
// data.
func limitUnconfirmed(_, _ string, _ syscall.RawConn) error { return nil }
