package target

import (
	"strings"
	"testing"
)

// TestQuotedHidesKeysBeforeItClips holds that no part of a key is left at the end.
func TestQuotedHidesKeysBeforeItClips(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("aB3d", 24)
	for before := 150; before < 210; before += 5 {
		if got := quoted(strings.Repeat("x", before) + " " + key); strings.Contains(got, "sk-") {
			t.Errorf("after %d characters: %q", before, got)
		}
	}
}
