package run

import (
	"fmt"
	"runtime/debug"
)

// guarded has a panic of a worker come out as an error, which ends the run in
// order: what was paid for is kept, and whoever holds the terminal gives it
// back before anybody reads of it.
func guarded(do func() error) func() error {
	return func() (err error) {
		defer func() {
			if fault := recover(); fault != nil {
				err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
			}
		}()
		return do()
	}
}
