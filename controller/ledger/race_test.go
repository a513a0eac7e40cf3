//go:build race

package ledger

// heavier is how much less of the same work tests do where the race detector watches,
// under which it takes many times as long.
const heavier = 10
