//go:build !unix

package serve

import "errors"

// ErrLocked means that another server has the ledger.
var ErrLocked = errors.New("another gavel serve uses this ledger; end that one, or give this one a ledger of its own")

// Lock takes a ledger for one server. This system has no lock that ends with its
// process, so it takes none; runs coordinate by the ledger's leases.
func Lock(string) (release func() error, err error) {
	return func() error { return nil }, nil
}

// Locked reports nothing: see [Lock].
func Locked(string) bool { return false }

// mayWrite reports nothing: only an attempt would show it.
func mayWrite(string) error { return nil }
