package editor

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
)

// TestOneNameOfAField holds that of the names of a field a form has the one that the
// definition uses, and the first one in a definition without it.
func TestOneNameOfAField(t *testing.T) {
	for _, tt := range []struct {
		written definition.Fields
		want    []string
	}{
		{nil, []string{"test_type", "name", "user_input"}},
		{definition.Fields{"type": json.RawMessage(`"llm"`), "user_input": json.RawMessage(`"Hi"`)}, []string{"type", "name", "user_input"}},
		{definition.Fields{"id": json.RawMessage(`"a"`), "name": json.RawMessage(`"b"`)}, []string{"test_type", "name", "id", "user_input"}},
	} {
		var got []string
		for _, f := range formFields("#Promptval", tt.written) {
			if slices.Contains([]string{"test_type", "type", "name", "id", "user_input", "input"}, f.Name) {
				got = append(got, f.Name)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("the form of %v has the fields %v, want %v", tt.written, got, tt.want)
		}
	}
}
