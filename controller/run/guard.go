package run

import (
	"context"
	"fmt"
	"runtime/debug"
)

// recovered turns a panic of a deferring worker into the worker's error, which ends the
// run in order: paid results are kept, and the terminal is restored before the panic is
// printed.
func recovered(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
	}
}

// guarded runs f and returns its panic as an error.
func guarded(ctx context.Context, f func(context.Context) error) (err error) {
	defer recovered(&err)
	return f(ctx)
}
