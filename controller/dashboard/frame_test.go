package dashboard

import "testing"

// TestTheScriptIsSmall holds that pages load fast over a slow line: all of their scripts
// stay below 30 KB.
func TestTheScriptIsSmall(t *testing.T) {
	if size := len(scriptText); size == 0 || size >= 30_000 {
		t.Errorf("the script of the pages has %d bytes, want fewer than 30,000 and more than none", size)
	}
}
