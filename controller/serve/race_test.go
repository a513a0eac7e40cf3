//go:build race

package serve_test

// raced is whether the race detector watches, under which a fixture takes ten times
// as long: one of each kind is enough to see a race.
const raced = true
