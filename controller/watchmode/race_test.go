//go:build race

package watchmode_test

// manyFiles are the files that a checkout changes. Under the race detector, which sees
// the same with fewer, each takes many times as long.
const manyFiles = 500
