//go:build race

package controller_test

// raced says that the race detector watches, under which each of hundreds of
// runs takes many times as long. They differ in values, not in what is run at
// once, so that a few of them show as much.
const raced = true
