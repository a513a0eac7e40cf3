//go:build !linux

package filewatch

import "errors"

// openQueue returns an error: other systems report a change at some time after it was
// made.
func openQueue() (queue, error) { return nil, errors.ErrUnsupported }
