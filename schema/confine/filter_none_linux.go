//go:build !amd64 && !arm64

package confine

import (
	"errors"
	"fmt"
)

// filterProcess is not supported on this architecture.
func filterProcess() error {
	return fmt.Errorf("filter system calls: %w", errors.ErrUnsupported)
}
