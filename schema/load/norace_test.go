//go:build !race

package load

const raced = false
