package sandbox

import (
	"strings"
	"testing"
)

// TestTailKeepsWholeLines holds that no line of a long output is cut, which would leave a
// part of a secret.
func TestTailKeepsWholeLines(t *testing.T) {
	secret := strings.Repeat("Zq7x", 10)
	for _, parts := range []int{1, 7} {
		var kept tail
		text := "first " + secret + "\n" + strings.Repeat("x", maxStderr-30) + "\nlast\n"
		for i := range parts {
			_, _ = kept.Write([]byte(text[i*len(text)/parts : (i+1)*len(text)/parts])) // never fails
		}
		if got := kept.text(); strings.Contains(got, "Zq7x") || !strings.HasSuffix(got, "x\nlast\n") {
			t.Errorf("in %d parts: kept %.60q … %q", parts, got, got[max(0, len(got)-10):])
		}
	}
	var short tail
	_, _ = short.Write([]byte("half a line"))
	if got := short.text(); got != "half a line" {
		t.Errorf("kept %q", got)
	}
}
