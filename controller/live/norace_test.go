//go:build !race

package live_test

const manyFiles = 5000
