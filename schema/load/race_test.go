//go:build race

package load

// raced says that the race detector watches, under which CUE takes fifty times
// as long. It has nothing to find where one goroutine compares values.
const raced = true
