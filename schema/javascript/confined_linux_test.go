//go:build amd64 || arm64

package javascript_test

import (
	"testing"

	"github.com/gavel-evals/gavel/schema/confine/confinetest"
)

// TestChildIsConfined has the child itself try what it is refused.
func TestChildIsConfined(t *testing.T) {
	confinetest.Child(t, "javascript-child", "GAVEL_JAVASCRIPT_CHILD")
}
