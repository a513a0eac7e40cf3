package editor

import (
	"context"
	"net/url"
	"strings"
	"testing"
)

// TestFormSavesItsFormat holds that the form of a format writes no file that is read as
// another one, and that a form without a change says so.
func TestFormSavesItsFormat(t *testing.T) {
	files := map[string]string{
		"test_definitions/parcel.json": `{"name": "Parcel", "initial_message": "Where?"}`,
		"test_definitions/shop.yaml":   "evalcases:\n  - id: a\n    input: Hi\n    expected_outcome: It greets.\n",
	}
	for _, tt := range []struct {
		name, format, file, item string
		change                   url.Values
		status                   int
		says                     string
	}{
		{"a new case with an id alone", "evalcase", "new.yaml", "", url.Values{"f.id": {"a"}}, 400, `<a href="#in-input">input</a>: <span>the case has no input`},
		{"a testcase in the form of a suite", "evalcase", "parcel.json", "", url.Values{"f.description": {"A parcel"}}, 400, "format evalcase yet; fill in evalcases<"},
		{"a new testcase without anything", "testcase", "new.yaml", "", nil, 400, "format testcase yet; fill in name and initial_message<"},
		{"a new promptval with a name", "promptval", "new.json", "", url.Values{"f.name": {"bot"}}, 400, "fill in test_type, user_input, testing_prompt and evaluation_type<"},
		{"a further case without anything", "evalcase", "shop.yaml", "new", nil, 400, "fill in id, input and expected_outcome<"},
		{"a testcase as it was", "testcase", "parcel.json", "", nil, 200, "<b>Nothing has changed.</b>"},
		{"a suite as it was", "evalcase", "shop.yaml", "", nil, 200, "<b>Nothing has changed.</b>"},
		{"a case of a suite as it was", "evalcase", "shop.yaml", "0", nil, 200, "<b>Nothing has changed.</b>"},
	} {
		for _, action := range []string{"preview", "save"} {
			t.Run(tt.name+", "+action, func(t *testing.T) {
				r := newReader(t, files)
				file := "test_definitions/" + tt.file
				_, page := r.ask("/settings/form?"+url.Values{"path": {file}, "format": {tt.format}, "item": {tt.item}}.Encode(), nil)
				if strings.Contains(page, "Nothing has changed") {
					t.Error("a form says before anything was sent that nothing has changed")
				}
				sent := r.form(page, tt.change)
				sent.Set("action", action)
				status, said := r.ask(r.action(page), sent)
				r.has(said, tt.says)
				if status != tt.status || r.file(file) != files[file] {
					t.Errorf("it is answered with %d, want %d, and the file is %q", status, tt.status, r.file(file))
				}
			})
		}
	}
}

// TestPreviewOfNothing: the form of the domain format says that a preview changes nothing.
func TestPreviewOfNothing(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings/edit?kind=test&id=math_sum", nil)
	_, preview := r.ask(r.action(page), r.form(page, url.Values{"action": {"preview"}}))
	r.has(preview, "<b>Nothing has changed.</b>")
	_, preview = r.ask(r.action(page), r.form(page, url.Values{"f.prompt": {"2?"}, "action": {"preview"}}))
	hasNot(t, preview, "Nothing has changed")
}

// TestAddressOfAForm holds that a form is sent to an address that has a form, too.
func TestAddressOfAForm(t *testing.T) {
	files := map[string]string{"test_definitions/shop.yaml": "evalcases:\n  - id: a\n    input: Hi\n    expected_outcome: It greets.\n"}
	for name, text := range mathFiles {
		files[name] = text
	}
	for _, tt := range []struct {
		page  string
		field string
		value string
	}{
		{"/settings/edit?kind=test&id=math_sum", "f.prompt", "2 + 2?"},
		{"/settings/edit?kind=test&domain=math&level=2", "f.name", "Times"},
		{"/settings/form?format=testcase&path=test_definitions/chat.yaml", "f.initial_message", "hello"},
		{"/settings/form?format=evalcase&item=0&path=test_definitions/shop.yaml", "f.input", "Bye"},
		{"/settings/file?path=test_definitions/chat.yaml", "text", "name: Chat\ninitial_message: bye\n"},
	} {
		r := newReader(t, files)
		_, page := r.ask(tt.page, nil)
		at := r.action(page)
		r.ask(at, r.form(page, url.Values{tt.field: {tt.value}, "action": {"save"}}))
		status, again := r.ask(at, nil)
		if heading(page) != heading(again) || status != 200 || r.action(again) != at {
			t.Errorf("%s is sent to %s, which is answered with %d: %s", tt.page, at, status, heading(again))
		}
	}
}

// heading is the heading of a page.
func heading(page string) string {
	_, after, _ := strings.Cut(page, "<h1>")
	before, _, _ := strings.Cut(after, "</h1>")
	return before
}

// TestNamesOfCopies: a copy of one of several definitions names it, before and after it is
// saved.
func TestNamesOfCopies(t *testing.T) {
	r := newReader(t, map[string]string{"test_definitions/shop.yaml": "evalcases:\n  - id: greets\n    input: Hi\n    expected_outcome: It greets.\n"})
	_, page := r.ask("/settings/form?format=evalcase&item=new&copy=0&path=test_definitions/shop.yaml", nil)
	r.has(page, "A copy of <code>greets</code>")
	_, saved := r.ask(r.action(page), r.form(page, url.Values{"action": {"save"}}))
	if got, want := heading(saved), "Change evalcase greets_2"; got != want {
		t.Errorf("the page of the saved copy is %q, want %q", got, want)
	}
}

// committedFiles is a Committer whose last commit has some files.
type committedFiles map[string]string

func (c committedFiles) Branch(_ context.Context, files map[string][]byte) (Branch, error) {
	out := Branch{Name: "main", Author: "Ada <ada@example.com>", Committed: map[string][]byte{}}
	for file := range files {
		if text, ok := c[file]; ok {
			out.Committed[file] = []byte(text)
		}
	}
	return out, nil
}

func (committedFiles) Commit(context.Context, Branch, map[string][]byte, string) (string, error) {
	return "", Conflict("nothing is committed here")
}

// TestRemovingATest asks first, and says whether git can bring the file back.
func TestRemovingATest(t *testing.T) {
	const file = "test_definitions/math/level_1/sum.json"
	for _, tt := range []struct {
		name      string
		committed committedFiles
		asks, has []string
		hasNot    string
		changes   string
	}{
		{"a committed test", mathFiles, []string{"Remove this test?"}, []string{"<b>Removed</b>", "Commit or undo"}, "cannot be undone", "removed"},
		{"a test that was never committed", nil, []string{"Remove this test?", "this cannot be undone"}, []string{"<b>Removed</b>", "git cannot bring it back"}, "Commit or undo", "Nothing to commit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReaderOf(t, mathFiles, tt.committed)
			_, page := r.ask("/settings/edit?kind=test&id=math_sum", nil)
			_, asked := r.ask(r.action(page), r.form(page, url.Values{"action": {"remove"}}))
			r.has(asked, append(tt.asks, file, "math_sum")...)
			hasNot(t, asked, tt.hasNot)
			if r.file(file) == "" {
				t.Fatal("it is removed before the page has asked")
			}
			_, removed := r.ask("/settings/edit", r.form(asked, url.Values{"action": {"remove"}}))
			r.has(removed, tt.has...)
			hasNot(t, removed, tt.hasNot)
			_, changes := r.ask("/changes", nil)
			r.has(changes, tt.changes)
			_, tests := r.ask("/tests", nil)
			if has := strings.Contains(tests, "Commit or undo them"); has != (tt.committed != nil) || r.file(file) != "" {
				t.Errorf("the list of tests has a link to the changes: %t", has)
			}
		})
	}
}

// TestRemovingWhatIsUsed: the page says why before it asks.
func TestRemovingWhatIsUsed(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings/edit?kind=domain&id=math", nil)
	status, said := r.ask(r.action(page), r.form(page, url.Values{"action": {"remove"}}))
	r.has(said, "has tests; delete or move them first")
	if strings.Contains(said, "Remove this domain?") || status != 400 {
		t.Errorf("a domain with tests is answered with %d: %s", status, heading(said))
	}
}

// TestErrorsOfAStoredFile are on its page before anything is sent, after a save that changes
// nothing, and with their place in the list of tests.
func TestErrorsOfAStoredFile(t *testing.T) {
	const at = "test_definitions/"
	files := map[string]string{
		at + "chat.yaml":        "name: Chat\ninitial_message: hi\nmax_turns: soon\n",
		at + "torn.yaml":        "name: Torn\ninitial_message: [hi\n",
		at + "list.yaml":        "- name: One\n  initial_message: hi\n- name: Two\n  initial_message: hi\n  difficulty: simple\n",
		at + "math/domain.json": mathFiles[at+"math/domain.json"],
		at + "math/level_1/sum.json": `{"id": "math_sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"answer": "2"},
  "weight": -1}`,
	}
	for _, tt := range []struct{ name, page, says string }{
		{"a form", "/settings/form?format=testcase&path=" + at + "chat.yaml", `<li data-of="max_turns"><a href="#in-max_turns">max turns</a>: <span>`},
		{"one of a list", "/settings/form?format=testcase&item=1&path=" + at + "list.yaml", `<li data-of="difficulty"><a href="#in-difficulty">`},
		{"its neighbour", "/settings/form?format=testcase&item=0&path=" + at + "list.yaml", "<p>line 5, column "},
		{"the domain format", "/settings/edit?kind=test&id=math_sum", `<li data-of="weight"><a href="#in-weight">weight</a>: <span>`},
		{"a text", "/settings/file?path=" + at + "chat.yaml", "<p>line 3, column 12: "},
		{"a text that is not YAML", "/settings/file?path=" + at + "torn.yaml", "<p>line "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, files)
			status, page := r.ask(tt.page, nil)
			r.has(page, tt.says)
			if status != 200 {
				t.Errorf("reading the page is answered with %d", status)
			}
			_, saved := r.ask(r.action(page), r.form(page, url.Values{"action": {"save"}}))
			r.has(saved, tt.says)
			r.script = true
			_, said := r.ask(r.action(page), r.form(page, url.Values{"action": {"check"}}))
			r.script = false
			hasNot(t, said, `"fields": {},`+"\n  \"errors\": []")
		})
	}
	r := newReader(t, files)
	_, list := r.ask("/tests", nil)
	r.has(list, `<div class="problem small">line 3, column 12: `)
	_, page := r.ask("/settings/form?format=testcase&path="+at+"list.yaml", nil)
	r.has(page, "<p>line 5, column ")
}

// TestProblemsAtTheTop: a form that is not saved names its fields with problems before them,
// and still links to its copy.
func TestProblemsAtTheTop(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings/edit?kind=test&id=math_sum", nil)
	hasNot(t, page, "data-summary")
	_, one := r.ask(r.action(page), r.form(page, url.Values{"f.weight": {"-1"}, "action": {"save"}}))
	r.has(one, "<b>1 problem</b>", `<a href="#in-weight">weight</a>`, `id="in-weight"`, ">Duplicate</a>")
	_, two := r.ask(r.action(page), r.form(page, url.Values{"f.weight": {"-1"}, "f.expected.key.0": {""}, "action": {"save"}}))
	r.has(two, "problem", `<a href="#in-expected">expected</a>`, `<fieldset id="in-expected"`)
}

// TestEditOfOneCase leads from the list of tests to the form of the case, whatever its file
// is.
func TestEditOfOneCase(t *testing.T) {
	for _, tt := range []struct{ file, format, text, item string }{
		{"list.yaml", "testcase", "# Two.\n- name: One\n  initial_message: hi\n\n- # The other.\n  name: Two\n  initial_message: ho\n", "1"},
		{"list.json", "testcase", `[{"name": "One", "initial_message": "hi"}, {"name": "Two", "initial_message": "ho"}]`, "1"},
		{"list.jsonl", "testcase", `{"name": "One", "initial_message": "hi"}` + "\n\n" + `{"name": "Two", "initial_message": "ho"}` + "\n", "1"},
		{"shop.yaml", "evalcase", "evalcases:\n  - id: One\n    input: Hi\n    expected_outcome: It greets.\n  - id: Two\n    input: Bye\n    expected_outcome: It ends.\n", "1"},
		{"shop.json", "evalcase", `{"description": "x", "evalcases": [{"id": "One", "input": "Hi", "expected_outcome": "a"},
  {"id": "Two", "input": "Bye", "expected_outcome": "b"}]}`, "1"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			r := newReader(t, map[string]string{"test_definitions/" + tt.file: tt.text})
			_, list := r.ask("/tests", nil)
			for name, item := range map[string]string{"One": "0", "Two": tt.item} {
				_, page := r.ask(r.link(list, name), nil)
				r.has(page, `name="item" value="`+item+`"`, `name="format" value="`+tt.format+`"`)
				if got, want := heading(page), "Change "+tt.format+" "+name; got != want {
					t.Errorf("the page of %s is %q, want %q", name, got, want)
				}
			}
		})
	}
	r := newReader(t, map[string]string{"test_definitions/list.yaml": "- name: One\n  initial_message: hi\n- name: Two\n  initial_message: ho\n"})
	_, page := r.ask(CasePage("test_definitions/list.yaml", "gone#three"), nil)
	r.has(page, `id="in-text"`)
}

// TestWrongFile: the page of a path that is not a definition keeps the path, which has no capital
// letter.
func TestWrongFile(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings/file?path=greet.yaml", nil)
	r.has(page, `role="alert">greet.yaml is not a file of definitions`, `value="greet.yaml"`)
}

// TestRepairsOfFields: the example in place of broken JSON fits the field.
func TestRepairsOfFields(t *testing.T) {
	r := newReader(t, map[string]string{
		"test_definitions/shop.yaml":             "evalcases:\n  - id: a\n    input: Hi\n    expected_outcome: It greets.\n",
		"test_definitions/math/domain.json":      mathFiles["test_definitions/math/domain.json"],
		"test_definitions/math/level_1/sum.json": `{"id": "math_sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"answer": {"of": 2}}}`,
	})
	for _, tt := range []struct{ page, field, says, hasNot string }{
		{"/settings/form?format=evalcase&item=0&path=test_definitions/shop.yaml", "input", "[{&#34;role&#34;: &#34;user&#34;", "105"},
		{"/settings/edit?kind=test&id=math_sum", "expected", "an object such as {&#34;answer&#34;: &#34;105&#34;}", "a list"},
	} {
		_, page := r.ask(tt.page, nil)
		_, wrong := r.ask(r.action(page), r.form(page, url.Values{"f." + tt.field: {`[{"id": `}, "action": {"save"}}))
		_, after, _ := strings.Cut(wrong, `id="say-`+tt.field+`" role="alert">`)
		said, _, _ := strings.Cut(after, "<")
		r.has(said, tt.says)
		hasNot(t, said, tt.hasNot)
	}
}

// TestHintsUnderTexts speak of the fields of the format.
func TestHintsUnderTexts(t *testing.T) {
	files := map[string]string{
		"test_definitions/chat.yaml":      mathFiles["test_definitions/chat.yaml"],
		"test_definitions/promptfoo.yaml": "prompts: ['Hi {{name}}']\nproviders: [bot]\ntests:\n  - vars: {name: Ada}\n    assert:\n      - {type: contains, value: Ada}\n",
	}
	for name, text := range skillFiles {
		files[name] = text
	}
	r := newReader(t, files)
	for file := range files {
		_, page := r.ask("/settings/file?path="+url.QueryEscape(file), nil)
		_, hint, _ := strings.Cut(page, "To duplicate a test in this text")
		switch {
		case file == "test_definitions/chat.yaml":
			r.has(hint, "another name", "status: archived")
			hasNot(t, hint, "enabled")
		case strings.HasSuffix(file, "promptfoo.yaml") || strings.HasSuffix(file, "notes/evals/evals.json"):
			if !strings.Contains(hint, "quarantine") {
				t.Errorf("%s: the hint is %.300s", file, hint)
			}
			hasNot(t, hint, "enabled", "another id")
		}
	}
}

// TestReloadAfterRename loads the page of a test again whose id was changed twice, and of one
// that was removed.
func TestReloadAfterRename(t *testing.T) {
	r := newReader(t, mathFiles)
	const old = "/settings/edit?kind=test&id=math_sum"
	_, page := r.ask(old, nil)
	_, page = r.ask("/settings/edit", r.form(page, url.Values{"f.id": {"second"}, "action": {"save"}}))
	r.has(page, "Saved")
	_, page = r.ask("/settings/edit", r.form(page, url.Values{"f.id": {"third"}, "action": {"save"}}))
	r.has(page, "Saved")
	status, again := r.ask(old, nil)
	if r.has(again, `name="f.id" value="third"`); status != 200 {
		t.Errorf("the page of the first id is answered with %d, want 200", status)
	}
	_, asked := r.ask("/settings/edit", r.form(again, url.Values{"action": {"remove"}}))
	r.ask("/settings/edit", r.form(asked, url.Values{"sure": {"yes"}, "action": {"remove"}}))
	for _, at := range []string{old, "/settings/edit?kind=test&id=third"} {
		status, gone := r.ask(at, nil)
		if r.has(gone, "was removed here", `href="/tests"`); status != 404 {
			t.Errorf("the page of a removed test is answered with %d, want 404", status)
		}
	}
	if _, page := r.ask("/settings/edit?kind=test&id=never", nil); strings.Contains(page, "was removed") {
		t.Errorf("a test that never was is said to be removed:\n%s", page)
	}
}
