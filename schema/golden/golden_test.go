package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// A judged is a test that is held against a file, and may fail.
type judged struct {
	testing.TB
	failed bool
}

func (j *judged) Errorf(string, ...any) { j.failed = true }

// TestJSON leaves out empty fields that were not named, and sees all others.
func TestJSON(t *testing.T) {
	type inner struct {
		Zero  int
		Named *int `json:"named"`
	}
	file := filepath.Join(t.TempDir(), "golden.json")
	text := "{\n  \"In\": {\n    \"named\": null\n  },\n  \"Text\": \"<a>\"\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text    string
		differs bool
	}{{"<a>", false}, {"<b>", true}} {
		j := &judged{TB: t}
		JSON(j, file, struct {
			In         inner
			Text, None string
			Nothing    []int
		}{Text: tt.text})
		if j.failed != tt.differs {
			t.Errorf("%s: it differs from the file: %v", tt.text, j.failed)
		}
	}
}
