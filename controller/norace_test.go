//go:build !race

package controller_test

const raced = false
