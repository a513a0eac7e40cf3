//go:build !amd64 && !arm64

package confine

import (
	"errors"
	"fmt"
)

// filterProcess is not written for this architecture.
func filterProcess() error {
	return fmt.Errorf("filter system calls: %w", errors.ErrUnsupported)
}
