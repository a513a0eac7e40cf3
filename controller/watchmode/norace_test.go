//go:build !race

package watchmode_test

const manyFiles = 5000
