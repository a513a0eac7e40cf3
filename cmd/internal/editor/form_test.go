package editor

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
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

// TestFormFolds shows the fields that most definitions have, and folds empty ones that few
// have, unless something was typed there.
func TestFormFolds(t *testing.T) {
	r := newReader(t, map[string]string{"test_definitions/a.json": `{"name": "A", "initial_message": "Hi", "first_turn": "user"}`})
	_, page := r.ask("/settings/form?format=testcase&path=test_definitions/a.json", nil)
	shown, folded, found := strings.Cut(page, `<details class="fold">`)
	if !found {
		t.Fatalf("nothing is folded:\n%s", page)
	}
	r.has(shown, `id="in-name"`, `id="in-status"`, `id="in-initial_message"`, `id="in-first_turn"`)
	r.has(folded, `id="in-agent_id"`, `id="in-persona_context"`, `id="in-first_message"`)
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.agent_id": {"x"}, "action": {"preview"}}))
	r.has(page, `<details class="fold" open>`)
}

// TestTextKeepsWindowsLineEnds saves the text of a file without changing its line ends.
func TestTextKeepsWindowsLineEnds(t *testing.T) {
	for was, want := range map[string]string{
		"name: A\r\ninitial_message: Hi\r\n": "name: B\r\ninitial_message: Hi\r\n",
		"name: A\ninitial_message: Hi\n":     "name: B\ninitial_message: Hi\n",
	} {
		r := newReader(t, map[string]string{"test_definitions/a.yaml": was})
		_, page := r.ask("/settings/file?path=test_definitions/a.yaml", nil)
		form := r.form(page, url.Values{"text": {"name: B\r\ninitial_message: Hi\r\n"}, "action": {"save"}})
		_, page = r.ask("/settings/file", form)
		r.has(page, "Saved")
		if got := r.file("test_definitions/a.yaml"); got != want {
			t.Errorf("the file is %q, want %q", got, want)
		}
		_, page = r.ask("/settings/file", r.form(page, url.Values{"text": {"name: C\r\ninitial_message: Hi\r\n"}, "action": {"save"}}))
		r.has(page, "Saved") // the version is the file's
	}
}

// TestLeadingFields holds that the form of a case begins with what every case has, and shows the
// checks that need no judge.
func TestLeadingFields(t *testing.T) {
	var got []string
	for _, f := range formFields("#Evalcase", nil)[:4] {
		got = append(got, f.Name)
		if f.Folded {
			t.Errorf("%s is folded", f.Name)
		}
	}
	if want := []string{"id", "input", "expected_outcome", "checks"}; !slices.Equal(got, want) {
		t.Errorf("the form of a case begins with %v, want %v", got, want)
	}
}

// TestDisabledInTheList marks tests that are not enabled in the list of their domain.
func TestDisabledInTheList(t *testing.T) {
	r := newReader(t, everyFormat)
	_, page := r.ask("/settings?domain=math", nil)
	r.has(page, "level 1 · off · disabled", "level 1 · sum<")
}
