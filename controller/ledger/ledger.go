// Package ledger remembers what was judged before, so that no verdict is paid
// for twice.
package ledger
