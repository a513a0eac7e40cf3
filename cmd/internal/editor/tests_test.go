package editor

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/schema"
)

// newPages returns what asks the page of all cases of a folder with a query for its text.
func newPages(t *testing.T, cfg Config, dir string) func(query string) string {
	t.Helper()
	mux := http.NewServeMux()
	cfg.Open = func(context.Context) (fs.FS, func() error, error) {
		return os.DirFS(dir), func() error { return nil }, nil
	}
	cfg.Settings = func(context.Context, fs.FS) (schema.Settings, error) {
		return schema.Settings{Definitions: []string{"test_definitions"}, DefaultTarget: "bot", Skills: schema.SkillSettings{Find: true, Target: "coder"}}, nil
	}
	New(cfg).Pages(mux, dashboard.New(dashboard.Config{}).Frame)
	return func(query string) string {
		t.Helper()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, TestsPath+query, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("the page of the tests is %d:\n%s", w.Code, w.Body)
		}
		return w.Body.String()
	}
}

// testsPage returns the text of the page of all cases with a query.
func testsPage(t *testing.T, dir, query string, verdicts map[string]dashboard.LastVerdict) string {
	t.Helper()
	return newPages(t, Config{Verdicts: func(context.Context) (map[string]dashboard.LastVerdict, error) { return verdicts, nil }}, dir)(query)
}

// has fails the test for each text that a page lacks.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
}

// hasNot fails the test for each text that a page has.
func hasNot(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q:\n%s", text, page)
		}
	}
}

// everyFormat has a case of each format that forms edit, a disabled one and a broken file.
var everyFormat = map[string]string{
	"test_definitions/math/domain.json":         `{"id": "math", "name": "Math", "evaluator_id": "keyword"}`,
	"test_definitions/math/level_1/sum.json":    `{"id": "sum", "name": "A sum", "prompt": "1+1", "expected": {"keywords": ["2"]}}`,
	"test_definitions/math/level_1/off.json":    `{"id": "off", "name": "An old one", "prompt": "1+1", "expected": {"keywords": ["2"]}, "enabled": false}`,
	"test_definitions/talk/greeting.yaml":       "name: Greeting <b>\ninitial_message: Hi\n",
	"test_definitions/talk/mail.json":           `{"test_type": "custom_workflow", "name": "Mail", "user_input": "Write", "testing_prompt": "You write mails", "evaluation_type": "deterministic"}`,
	"test_definitions/suites/cases.yaml":        "evalcases:\n  - {id: one, input: Hi, expected_outcome: A greeting}\n  - {id: two, input: Bye, expected_outcome: A farewell}\n",
	"test_definitions/suites/broken_cases.json": `{"evalcases": [{"id": "three", "input": 4, "expected_outcome": "x"}]}`,
}

// TestTestsPage holds that the page has the cases of every format with their verdicts and
// the pages that change them, and that words choose among them.
func TestTestsPage(t *testing.T) {
	dir, score := writeFiles(t, everyFormat), 0.25
	verdicts := map[string]dashboard.LastVerdict{"math/level_1/sum": {URL: "/runs/7/case?name=sum", Verdict: "fail", Score: &score}}
	page := testsPage(t, dir, "", verdicts)
	has(t, page,
		`href="/settings/edit?id=sum&amp;kind=test"`, "A sum", `href="/runs/7/case?name=sum"`, ">fail<", "0.25",
		"Greeting &lt;b&gt;", `href="/settings/form?format=testcase&amp;path=test_definitions%2Ftalk%2Fgreeting.yaml"`,
		`href="/settings/form?format=promptval&amp;path=test_definitions%2Ftalk%2Fmail.json"`,
		`href="/settings/form?format=evalcase&amp;path=test_definitions%2Fsuites%2Fcases.yaml"`, "suites/cases#one", "suites/cases#two",
		"the test is not enabled", "broken_cases.json", "not run", ">bot<",
	)
	hasNot(t, page, "No tests here yet")
	page = testsPage(t, dir, "?words=sum+FAIL", verdicts)
	has(t, page, "A sum", "1 of ")
	hasNot(t, page, "cases#one", "An old one", "broken_cases")
	byInput := testsPage(t, dir, "?words=bye", verdicts) // which is an input alone
	has(t, byInput, "cases#two", "1 of ")
	hasNot(t, testsPage(t, dir, "?folder=test_definitions/suites", verdicts), "A sum")
	has(t, testsPage(t, dir, "?words=nothinghasthis", verdicts), "No case fits the filter")
	const missing, empty = "<code>test_definitions</code>, which this repository does not have", "<code>test_definitions</code>, and nothing in it is a test"
	has(t, testsPage(t, t.TempDir(), "", nil), "No tests here yet", "gavel init", missing, "definitions: [my_tests]")
	has(t, testsPage(t, writeFiles(t, map[string]string{"test_definitions/README.md": "x"}), "", nil), empty)
}

// skillFiles have a skill with evals, in a hidden folder as agents have them.
var skillFiles = map[string]string{
	"README.md":                                "x",
	".claude/skills/notes/SKILL.md":            "---\nname: notes\ndescription: Writes notes.\n---\nWrite notes.\n",
	".claude/skills/notes/evals/evals.json":    `{"skill_name": "notes", "evals": [{"id": 1, "prompt": "Note this", "expectations": ["It is noted"]}, {"id": 2, "prompt": "And this", "expectations": ["It is noted"]}]}` + "\n",
	"node_modules/x/skills/y/evals/evals.json": `{"skill_name": "y", "evals": [{"id": 1, "prompt": "No", "expectations": ["x"]}]}`,
}

// TestTestsPageOfSkills holds that the evals of skills are listed by their file with their
// verdicts, wherever the skill is, and that a change of their file shows at once.
func TestTestsPageOfSkills(t *testing.T) {
	dir, score := writeFiles(t, skillFiles), 0.25
	page := testsPage(t, dir, "", map[string]dashboard.LastVerdict{".claude/skills/notes#2": {URL: "/runs/7/case?name=two", Verdict: "fail", Score: &score}})
	has(t, page, "2 cases", "<h2>.claude/skills/notes/evals</h2>", ".claude/skills/notes#1", `href="/runs/7/case?name=two"`, "1 fail · 1 not run", ">coder<",
		`href="/settings/file?path=.claude%2Fskills%2Fnotes%2Fevals%2Fevals.json"`)
	hasNot(t, page, "node_modules")
}

// TestTextOfSkills changes the evals of a skill as a text, with messages as of every other
// file. Files that only have their name are refused.
func TestTextOfSkills(t *testing.T) {
	const file = ".claude/skills/notes/evals/evals.json"
	r := newReader(t, skillFiles)
	_, page := r.ask("/settings/file?path="+file, nil)
	status, wrong := r.ask("/settings/file", r.form(page, url.Values{"text": {`{"skill_name": "notes", "evals": [{"id": 1, "expectations": ["It is noted"]}]}`}, "action": {"save"}}))
	r.has(wrong, "line 1, column ", "prompt")
	if status != 400 || r.file(file) != skillFiles[file] {
		t.Errorf("status %d, want 400, and the file as it was: %s", status, r.file(file))
	}
	_, page = r.ask("/settings/file", r.form(page, url.Values{"text": {strings.ReplaceAll(skillFiles[file], "And this", "And that")}, "action": {"save"}}))
	r.has(page, "Saved")
	if !strings.Contains(r.file(file), "And that") {
		t.Errorf("the file is %s", r.file(file))
	}
	_, page = r.ask("/tests?words=notes", nil)
	r.has(page, "2 of 2 cases")
	for _, other := range []string{"node_modules/x/skills/y/evals/evals.json", "README.md", ".claude/skills/notes/SKILL.md", ".claude/skills/new/evals/evals.json"} {
		if status, _ := r.ask("/settings/file?path="+other, nil); status != 400 {
			t.Errorf("%s is answered with %d, want 400", other, status)
		}
	}
}

// TestTestsPageOfManyCases holds that a long list has the folders, that a folder has pages,
// and that each case is on one of them.
func TestTestsPageOfManyCases(t *testing.T) {
	files := map[string]string{}
	for i := range 230 {
		files[fmt.Sprintf("test_definitions/many/t%03d.yaml", i)] = fmt.Sprintf("name: Greeting %03d\ninitial_message: Hi\n", i)
	}
	list := "evalcases:\n"
	for i := range 450 {
		list += fmt.Sprintf("  - {id: c%03d, input: Hi, expected_outcome: A greeting}\n", i)
	}
	files["test_definitions/long/list.yaml"] = list
	dir := writeFiles(t, files)
	page := testsPage(t, dir, "", nil)
	has(t, page, "680 cases", `href="/tests?folder=test_definitions%2Flong"`, "450 not run", "230 not run")
	hasNot(t, page, "c001", "Greeting 001")
	for folder, want := range map[string]int{"long": 450, "many": 230} {
		seen, next := map[string]bool{}, "?folder="+url.QueryEscape("test_definitions/"+folder)
		for range 5 {
			page := testsPage(t, dir, next, nil)
			for line := range strings.Lines(page) {
				if _, key, ok := strings.Cut(line, `<div class="note small">`); ok {
					if seen[key] {
						t.Errorf("%s is on two pages", key)
					}
					seen[key] = true
				}
			}
			_, link, more := strings.Cut(page, `<a rel="next" href="/tests`)
			if !more {
				break
			}
			next, _, _ = strings.Cut(unescape(link), `"`)
		}
		if len(seen) != want {
			t.Errorf("the pages of %s have %d cases, want %d", folder, len(seen), want)
		}
	}
}

// TestTestsPageOfChangedCases holds that a case whose digest is not the one that was judged has
// no verdict, but the one that it had, and counts and is found as changed.
func TestTestsPageOfChangedCases(t *testing.T) {
	verdicts := map[string]dashboard.LastVerdict{
		"suites/cases#one":  {URL: "/runs/7/case?name=one", Verdict: "pass", Digest: "a"},
		"suites/cases#two":  {URL: "/runs/7/case?name=two", Verdict: "pass", Digest: "b"},
		"math/level_1/sum":  {URL: "/runs/7/case?name=sum", Verdict: "error", Digest: "c"},
		"math/level_1/off":  {URL: "/runs/7/case?name=off", Verdict: "pass", Digest: "d"},
		"talk/greeting":     {URL: "/runs/7/case?name=greeting", Verdict: "pass", Digest: "e"},
		"talk/not-any-more": {URL: "/runs/7/case?name=gone", Verdict: "pass", Digest: "f"},
	}
	pages := newPages(t, Config{
		Verdicts: func(context.Context) (map[string]dashboard.LastVerdict, error) { return verdicts, nil },
		Digests: func(context.Context, fs.FS) (map[string]string, error) {
			return map[string]string{"suites/cases#one": "a", "suites/cases#two": "b2", "math/level_1/sum": "c2", "math/level_1/off": "d2"}, nil
		},
	}, writeFiles(t, everyFormat))
	page := pages("")
	has(t, page, "1 changed · 1 pass", "1 changed · 1 disabled", `href="/runs/7/case?name=one" title="0001-01-01 00:00">pass<`,
		`href="/runs/7/case?name=two" title="0001-01-01 00:00">changed</a><div class="note small">was pass<`, `>changed</a><div class="note small">was error<`)
	if got := strings.Count(page, `<tr data-kind="pass">`); got != 1 {
		t.Errorf("%d cases have passed, want 1:\n%s", got, page)
	}
	has(t, pages("?words=changed"), "3 of ")
}

// TestTestsPageTitles holds that a row of a matrix is titled by its description or its variables,
// with as much more as tells it from others, and an eval of a skill by its prompt.
func TestTestsPageTitles(t *testing.T) {
	files := map[string]string{
		"test_definitions/one.yaml":         "prompts: ['Say {{x}}']\ntests:\n  - {description: A greeting, vars: {x: hello}}\n  - {vars: {x: a wish}}\n  - {vars: {n: 5}}\n",
		"test_definitions/two.yaml":         "prompts: [{label: kind, raw: 'Say {{y}}'}, {label: short, raw: '{{y}}'}]\ntests:\n  - {description: Bye, vars: {y: bye}}\n  - {description: Thanks, vars: {y: you}}\n  - {description: Thanks, vars: {y: all}}\n",
		".claude/skills/a/SKILL.md":         skillFiles[".claude/skills/notes/SKILL.md"],
		".claude/skills/a/evals/evals.json": skillFiles[".claude/skills/notes/evals/evals.json"],
	}
	page := testsPage(t, writeFiles(t, files), "", nil)
	var got []string
	for line := range strings.Lines(page) {
		if _, after, ok := strings.Cut(line, `<th scope="row"><a href="`); ok {
			_, after, _ = strings.Cut(after, ">")
			title, _, _ := strings.Cut(after, "<")
			got = append(got, title)
		}
	}
	want := "Note this|And this|A greeting|a wish|n: 5|Bye · kind|Bye · short|Thanks · kind · y: you|Thanks · short · y: you|Thanks · kind · y: all|Thanks · short · y: all"
	if got := strings.Join(got, "|"); got != want {
		t.Errorf("the titles are\n%s\nwant\n%s", got, want)
	}
}
