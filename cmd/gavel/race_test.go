//go:build race

package main

// raced says that the race detector watches, under which a program takes several times
// as long to start. Tests that differ in what they read, not in what is run at once, show
// as much with a few of their values.
const raced = true
