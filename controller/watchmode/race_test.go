//go:build race

package watchmode_test

// manyFiles is what a checkout changes. Under the race detector, which sees the
// same of fewer, each takes many times as long.
const manyFiles = 500
