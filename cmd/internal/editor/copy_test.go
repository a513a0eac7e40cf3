package editor

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
)

// copiedFiles has a definition of each format.
var copiedFiles = map[string]string{
	"test_definitions/math/domain.json":         `{"id": "math", "name": "Math", "evaluator_id": "two_pass"}`,
	"test_definitions/math/level_1/sum.json":    `{"id": "sum", "name": "Sum", "prompt": "2 + 2?", "expected": {"answer": "4"}, "source": "book"}`,
	"test_definitions/math/level_1/sum_2.json":  `{"id": "sum_2", "name": "Other", "prompt": "2 + 3?", "expected": {"answer": "5"}}`,
	"test_definitions/parcel.yaml":              "# Parcels.\nname: Parcel # a name\nid: 3f1b2c1e-8a55-4a8e-9d6f-6f6f3c2b1a00\ninitial_message: 'Where is it?'\n",
	"test_definitions/parcel_2.yaml":            "name: Taken\ninitial_message: Hi\n",
	"test_definitions/prompts/greet.yaml":       "# Greets.\ntest_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: It greets.\nevaluation_type: default\n",
	"test_definitions/suites/shop.yaml":         "# Shop.\nevalcases:\n  # The first.\n  - id: a\n    input: Hi # said\n    expected_outcome: It greets.\n    note: mine\n  - id: a_2\n    input: Bye\n    expected_outcome: It ends.\n",
	"test_definitions/lines.jsonl":              `{"id":"one","input":"Hi","expected_outcome":"It greets."}` + "\n",
	"test_definitions/several/level_1/two.json": `{"name": "Two", "initial_message": "hi", "tags": ["x"]}`,
}

// link returns the address of a page's link with a text.
func (r *reader) link(page, text string) string {
	r.Helper()
	found := regexp.MustCompile(`href="([^"]*)">` + text + `<`).FindStringSubmatch(page)
	if found == nil {
		r.Fatalf("the page has no link %q:\n%s", text, page)
	}
	return html.UnescapeString(found[1])
}

// TestDuplicate opens a copy of a definition of each format, which has a free id, keeps
// comments and unusual fields, and is not written before it is saved.
func TestDuplicate(t *testing.T) {
	for _, tt := range []struct {
		name, page, file string
		want             []string // of the file after saving
		hasNot           []string
	}{
		{"domain", "/settings/edit?kind=test&id=sum", "test_definitions/math/level_1/sum_3.json", []string{`"id": "sum_3"`, `"Sum (copy)"`, `"source": "book"`}, nil},
		{"testcase", "/settings/form?format=testcase&path=test_definitions/parcel.yaml", "test_definitions/parcel_3.yaml", []string{"# Parcels.\nname: Parcel (copy) # a name\n", "'Where is it?'"}, []string{"3f1b2c1e"}},
		{"promptval", "/settings/form?format=promptval&path=test_definitions/prompts/greet.yaml", "test_definitions/prompts/greet_2.yaml", []string{"# Greets.\ntest_type: agent\nname: bot\n"}, nil},
		{"evalcase", "/settings/form?format=evalcase&path=test_definitions/suites/shop.yaml&item=0", "test_definitions/suites/shop.yaml", []string{copiedFiles["test_definitions/suites/shop.yaml"] + "  - id: a_3\n", "note: mine\n  - id: a_2", "note: mine\n"}, nil},
		{"lines", "/settings/form?format=evalcase&path=test_definitions/lines.jsonl&item=0", "test_definitions/lines.jsonl", []string{copiedFiles["test_definitions/lines.jsonl"] + `{"id":"one_2",`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, copiedFiles)
			_, page := r.ask(tt.page, nil)
			_, page = r.ask(r.link(page, "Duplicate"), nil)
			r.has(page, "Nothing is written before you save it")
			if r.file(tt.file) != copiedFiles[tt.file] {
				t.Error("the copy is written before it is saved")
			}
			_, saved := r.ask(r.action(page), r.form(page, url.Values{"action": {"save"}}))
			r.has(saved, "Saved")
			has(t, r.file(tt.file), tt.want...)
			hasNot(t, r.file(tt.file), tt.hasNot...)
		})
	}
	r := newReader(t, copiedFiles)
	if status, _ := r.ask("/settings/file?path=test_definitions/new.yaml&copy=gavel.yaml&of=testcase", nil); status != 400 {
		t.Errorf("a copy of a file elsewhere is answered with %d, want 400", status)
	}
	if status, _ := r.ask("/settings/edit?kind=domain&copy=math", nil); status != 400 {
		t.Errorf("a copy of a domain is answered with %d, want 400", status)
	}
}

// TestDisable disables and enables a test by the field that its format has for it, and says
// why others have no button.
func TestDisable(t *testing.T) {
	r := newReader(t, copiedFiles)
	_, page := r.ask("/settings/edit?kind=test&id=sum", nil)
	_, page = r.ask("/settings/edit", r.form(page, url.Values{"action": {"disable"}, "f.name": {"Typed"}}))
	has(t, r.file("test_definitions/math/level_1/sum.json"), `"enabled": false`, `"Typed"`)
	r.has(page, `value="enable"`)
	_, page = r.ask("/settings/edit", r.form(page, url.Values{"action": {"enable"}}))
	has(t, r.file("test_definitions/math/level_1/sum.json"), `"enabled": true`)
	r.has(page, `value="disable"`)

	_, page = r.ask("/settings/form?format=testcase&path=test_definitions/parcel.yaml", nil)
	_, page = r.ask("/settings/form", r.form(page, url.Values{"action": {"disable"}}))
	if got, want := r.file("test_definitions/parcel.yaml"), copiedFiles["test_definitions/parcel.yaml"]+"status: archived\n"; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	r.has(page, `value="enable"`)
	if list := testsPage(t, r.dir, "", map[string]dashboard.LastVerdict{}); !strings.Contains(list, "the status is archived") {
		t.Errorf("the disabled test is not marked:\n%s", list)
	}
	for _, at := range []string{"/settings/form?format=promptval&path=test_definitions/prompts/greet.yaml", "/settings/form?format=evalcase&path=test_definitions/suites/shop.yaml&item=0"} {
		_, page := r.ask(at, nil)
		r.has(page, "has no field that disables a definition")
		hasNot(t, page, `value="disable"`)
	}
}

// TestDuplicateCopiesChecks: the checks next to a definition are copied with it: a file of
// them next to the new file, or the ones of its id under the new id.
func TestDuplicateCopiesChecks(t *testing.T) {
	const own, listed = "# Its checks.\n.: [{contains: x}]\n", "# Theirs.\na:\n  - contains: x\na_2:\n  - contains: y\n"
	for _, tt := range []struct{ page, at, from, to, checks, want string }{
		{"/settings/edit?kind=test&id=sum", "/settings/edit", "math/level_1/sum", "math/level_1/sum_3", own, own},
		{"/settings/form?format=testcase&path=test_definitions/parcel.yaml", "/settings/file", "parcel", "parcel_3", own, own},
		{"/settings/form?format=evalcase&path=test_definitions/suites/shop.yaml&item=0", "/settings/form", "suites/shop", "suites/shop", listed, listed + "a_3:\n  - contains: x\n"},
	} {
		t.Run(tt.from, func(t *testing.T) {
			r := newReader(t, copiedFiles)
			from, to := "test_definitions/"+tt.from+checksSuffix, "test_definitions/"+tt.to+checksSuffix
			r.write(from, tt.checks)
			_, page := r.ask(tt.page, nil)
			_, page = r.ask(r.link(page, "Duplicate"), nil)
			_, page = r.ask(tt.at, r.form(page, url.Values{"action": {"save"}}))
			r.has(page, "Saved", "<code>"+to+"</code>")
			if got := r.file(to); got != tt.want {
				t.Errorf("the checks of the copy are %q, want %q", got, tt.want)
			}
			if strings.Contains(page, `name="file" value="`+to) {
				t.Error("the file of checks can be run")
			}
		})
	}
}

// TestDuplicateWithUnreadableChecks: a copy whose checks cannot be read is not written
// without them.
func TestDuplicateWithUnreadableChecks(t *testing.T) {
	for _, tt := range []struct{ page, at, from, to string }{
		{"/settings/edit?kind=test&id=sum", "/settings/edit", "math/level_1/sum", "math/level_1/sum_3.json"},
		{"/settings/form?format=testcase&path=test_definitions/parcel.yaml", "/settings/file", "parcel", "parcel_3.yaml"},
		{"/settings/form?format=evalcase&path=test_definitions/suites/shop.yaml&item=0", "/settings/form", "suites/shop", "suites/shop.yaml"},
	} {
		t.Run(tt.from, func(t *testing.T) {
			r := newReader(t, copiedFiles)
			checks, to := "test_definitions/"+tt.from+checksSuffix, "test_definitions/"+tt.to
			_, page := r.ask(tt.page, nil)
			_, page = r.ask(r.link(page, "Duplicate"), nil)
			r.write(checks, "# "+strings.Repeat("x", maxText)+"\n")
			_, page = r.ask(tt.at, r.form(page, url.Values{"action": {"save"}}))
			r.has(page, "the checks in "+checks+" cannot be copied")
			if got := r.file(to); got != copiedFiles[to] {
				t.Errorf("the copy is written as\n%s", got)
			}
		})
	}
}

// TestIDAfterSaving: the form of a new test has the id that saving has made.
func TestIDAfterSaving(t *testing.T) {
	r := newReader(t, copiedFiles)
	_, page := r.ask("/settings/edit?kind=test&domain=math&level=1", nil)
	r.has(page, `id="in-id" name="f.id" value=""`)
	_, page = r.ask("/settings/edit", r.form(page, url.Values{"f.name": {"Zero"}, "f.prompt": {"1 - 1?"}, "f.expected": {`{"answer": "0"}`}, "action": {"save"}}))
	r.has(page, "Saved", `id="in-id" name="f.id" value="math_zero"`, `name="f.expected.key.0" value="answer"`)
}
