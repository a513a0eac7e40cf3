package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gavel-evals/gavel/controller/dashboard/browsertest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestBrowserServe goes in Chromium through what a person does with a server: sign in,
// open the run of a pull request, filter, open a case, read its transcript, add a test,
// meet a message about a field, save, and see the diff and the pull request.
func TestBrowserServe(t *testing.T) {
	j := newPages(t, true)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	b := browsertest.Open(t, base)
	b.Visit("/")
	b.Check("nobody")
	b.Visit("/sign-in")
	b.Check("sign-in")
	b.Do(chromedp.SendKeys("#in-token", adasToken, chromedp.ByQuery))
	b.Click("button.main")
	b.Check("repositories")
	b.Visit("/costs")
	b.Check("all-costs")
	b.Visit("/r/octo/demo/pulls")
	b.Check("pulls")
	b.Click("table.pulls th a")
	b.Check("run")
	filterCases(t, b)
	b.Click("table.cases th a")
	b.Check("case")
	if turns := browsertest.Eval[int](b, "document.querySelectorAll('.turn').length"); turns < 2 {
		t.Errorf("the transcript has %d turns, want 2 at least:\n%s", turns, b.Text("main"))
	}
	for _, path := range []string{"/r/octo/demo/", "/r/octo/demo/scores", "/r/octo/demo/costs", "/r/octo/demo/settings/file"} {
		b.Visit(path)
		b.Check(strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"))
	}
	b.Visit("/r/octo/demo/settings")
	b.Check("settings")
	b.Click(".side ul li a")
	b.Click("a.button.main")
	b.Check("new-test")
	b.Do(
		chromedp.SendKeys("#in-name", "Browser test", chromedp.ByQuery), chromedp.SendKeys("#in-prompt", "Hello?", chromedp.ByQuery),
		chromedp.SendKeys("#in-expected", `{"keywords": ["hello"]}`, chromedp.ByQuery), chromedp.SendKeys("#in-evaluator_id", "keyword", chromedp.ByQuery),
		chromedp.SendKeys("#in-weight", "-1", chromedp.ByQuery),
	)
	b.Await(`document.querySelector("#say-weight").textContent !== ""`)
	b.Check("message")
	b.Do(chromedp.KeyEvent(kb.Backspace+kb.Backspace), chromedp.SendKeys("#in-weight", "2", chromedp.ByQuery))
	b.Await(`document.querySelector("#say-weight").textContent === ""`)
	b.Click("button[value=preview]")
	b.Check("preview")
	if text := b.Text("main"); !strings.Contains(text, "What this would rerun") || !strings.Contains(text, "Browser test") {
		t.Errorf("the preview says\n%s", text)
	}
	b.Click("button[value=save]")
	b.Check("saved")
	if browsertest.Eval[bool](b, "document.querySelector(\"form\") !== null") {
		t.Error("after saving there is a form for a test that is not there yet")
	}
	if text := b.Text("main"); !strings.Contains(text, "A pull request is open") || !strings.Contains(text, `"weight": 2`) {
		t.Errorf("after saving the page says\n%s", text)
	}
	if got := j.forge.Pull(2); got.HeadRef == "" {
		t.Error("no pull request is open")
	}
	end()
}

// filterCases filters the cases of a run by a text and by what became of them, and ends
// at one that regressed.
func filterCases(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	rows := func() []string {
		return browsertest.Eval[[]string](b, `[...document.querySelectorAll("table.cases tbody tr")].map(tr => tr.innerText)`)
	}
	before := rows()
	b.Do(chromedp.SendKeys("input[type=search]", "refund", chromedp.ByQuery))
	b.Click("form.filter button[type=submit]")
	for _, row := range rows() {
		if !strings.Contains(row, "refund") {
			t.Errorf("the cases with the text refund have %q", row)
		}
	}
	if n := len(rows()); n == 0 || n >= len(before) {
		t.Errorf("%d of %d cases have the text refund", n, len(before))
	}
	b.Click(`nav.kinds a[href*="kind=regression"]`)
	if got := rows(); len(got) != 1 || !strings.Contains(got[0], "regression") || !strings.Contains(got[0], "refund") {
		t.Errorf("the regressions with the text refund are %q, want one", got)
	}
}

// TestBrowserServeWithoutScripts filters the cases of a run, opens one and adds a test in
// a browser that runs no scripts.
func TestBrowserServeWithoutScripts(t *testing.T) {
	j := newPages(t, true)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	b := browsertest.Open(t, base)
	b.WithoutScripts()
	b.Visit("/sign-in")
	b.Do(chromedp.SendKeys("#in-token", adasToken, chromedp.ByQuery))
	b.Click("button.main")
	b.Visit("/r/octo/demo/pulls")
	b.Click("table.pulls th a")
	filterCases(t, b)
	b.Click("table.cases th a")
	if text := b.Text("main"); !strings.Contains(text, "Judged by keyword") || !strings.Contains(text, "60 days") {
		t.Errorf("the case says\n%s", text)
	}
	b.Visit("/r/octo/demo/settings")
	b.Click(".side ul li a")
	b.Click("a.button.main")
	b.Do(
		chromedp.SendKeys("#in-name", "Without scripts", chromedp.ByQuery), chromedp.SendKeys("#in-prompt", "Hello?", chromedp.ByQuery),
		chromedp.SendKeys("#in-expected", `{"keywords": ["hello"]}`, chromedp.ByQuery), chromedp.SendKeys("#in-evaluator_id", "keyword", chromedp.ByQuery),
		chromedp.SendKeys("#in-weight", "-1", chromedp.ByQuery),
	)
	b.Click("button[value=save]")
	if said := b.Text("#say-weight"); !strings.Contains(said, "-1") {
		t.Errorf("the message at the field weight is %q", said)
	}
	b.Do(chromedp.Clear("#in-weight", chromedp.ByQuery), chromedp.SendKeys("#in-weight", "2", chromedp.ByQuery))
	b.Click("button[value=save]")
	if text := b.Text("main"); !strings.Contains(text, "A pull request is open") || !strings.Contains(text, "Without scripts") {
		t.Errorf("after saving the page says\n%s", text)
	}
	end()
}

// TestBrowserServeKeyboard signs in, meets a message about a field, and opens a pull
// request, with the keyboard alone.
func TestBrowserServeKeyboard(t *testing.T) {
	j := newPages(t, true)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	b := browsertest.Open(t, base)
	b.Visit("/sign-in")
	b.Tab("#in-token")
	b.Press(adasToken)
	b.PressLoad(kb.Enter)
	b.Visit("/r/octo/demo/settings")
	b.Tab(".side ul li a")
	b.PressLoad(kb.Enter)
	b.Tab("a.button.main")
	b.PressLoad(kb.Enter)
	b.Tab("#in-name")
	b.Press("By keys")
	b.Tab("#in-weight")
	b.Press("-1")
	b.Await(`document.querySelector("#say-weight").textContent !== ""`)
	if said := browsertest.Eval[string](b, `document.querySelector("#in-weight").getAttribute("aria-describedby") || ""`); !strings.Contains(said, "say-weight") {
		t.Errorf("the field is described by %q, and not by its message", said)
	}
	b.Press(kb.Backspace + kb.Backspace + "2")
	b.Await(`document.querySelector("#say-weight").textContent === ""`)
	for _, field := range []struct{ name, text string }{{"prompt", "Hello?"}, {"expected", `{"keywords": ["hello"]}`}, {"evaluator_id", "keyword"}} {
		b.Tab("#in-" + field.name)
		b.Press(field.text)
	}
	b.Tab("button[value=save]")
	b.PressLoad(kb.Enter)
	if text := b.Text("main"); !strings.Contains(text, "A pull request is open") || !strings.Contains(text, "By keys") {
		t.Errorf("after saving the page says\n%s", text)
	}
	if got := j.forge.Pull(2); got.HeadRef == "" {
		t.Error("no pull request is open")
	}
	end()
}

// TestBrowserKeyboard goes through the pages of a working tree with the keyboard alone.
func TestBrowserKeyboard(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	dir := mainOf(t, shopFolder(t))
	log := make(lines, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	app := func(stderr io.Writer) *App {
		return &App{Stdout: io.Discard, Stderr: stderr, Dir: dir, LookupEnv: func(string) (string, bool) { return "", false }}
	}
	if code := execute(t.Context(), app(io.Discard), []string{"run", "--all"}); code > 1 {
		t.Fatalf("gavel run ends with %d", code)
	}
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, app(log), []string{"ui", "--no-browser", "--listen", "127.0.0.1:0"})
	}()
	defer func() { cancel(); <-code }()
	_, address, _ := strings.Cut(log.await(t, "http://"), "http://")
	address, _, _ = strings.Cut(address, "/;")
	b := browsertest.Open(t, "http://"+address)
	b.Visit("/")
	b.Tab(".skip")
	b.Press(kb.Enter)
	b.Tab("table.runs th a")
	b.PressLoad(kb.Enter)
	b.Press("/")
	if at := browsertest.Eval[string](b, "document.activeElement.name"); at != "text" {
		t.Errorf("the key / leads to %q, want the filter", at)
	}
	b.Press(kb.Backspace + "a") // the browser that is steered types the / itself
	b.PressLoad(kb.Enter)
	b.Tab("table.cases th a")
	b.PressLoad(kb.Enter)
	b.Tab(".sample summary")
	b.Press(kb.Enter)
	if browsertest.Eval[bool](b, "document.querySelector('.sample').open") {
		t.Error("the transcript is not folded by the key enter")
	}
	b.Visit("/settings")
	b.Tab(".side ul li a")
	b.PressLoad(kb.Enter)
	b.Tab("a.button.main")
	b.PressLoad(kb.Enter)
	for _, field := range []struct{ name, text string }{{"name", "By keys"}, {"prompt", "Hello?"}, {"expected", `{"keywords": ["hello"]}`}} {
		b.Tab("#in-" + field.name)
		b.Press(field.text)
	}
	b.Tab("button[value=save]")
	b.PressLoad(kb.Enter)
	if text := b.Text("main"); !strings.Contains(text, "Saved") || !strings.Contains(text, "By keys") {
		t.Errorf("after saving the page says\n%s", text)
	}
	b.Check("saved")
	commitByKeys(t, b, dir)
	for _, format := range []string{"testcase", "promptval", "evalcase"} {
		b.Visit("/settings/form?path=test_definitions/new.json&format=" + format)
		b.Check("form-" + format)
	}
	checkList(t, b, filepath.Join(dir, "test_definitions", "list.yaml"))
	checkRows(t, b, filepath.Join(dir, "test_definitions", "rows.json"))
	checkItems(t, b, filepath.Join(dir, "test_definitions", "items.yaml"))
	var runs struct{ Total int }
	if err := json.Unmarshal([]byte(mustGet(t, "http://"+address+"/api/runs")), &runs); err != nil || runs.Total != 1 {
		t.Errorf("there are %d runs, %v, want 1", runs.Total, err)
	}
}

// commitByKeys commits the file that was saved last, and looks at the pages on the way.
func commitByKeys(t *testing.T, b *browsertest.Browser, dir string) {
	t.Helper()
	b.Visit("/changes")
	b.Check("changes-without-author")
	gittest.Run(t, dir, "config", "user.name", "Ada")
	gittest.Run(t, dir, "config", "user.email", "ada@example.com")
	b.Visit("/tests")
	b.Tab(`main a[href="/changes"]`)
	b.PressLoad(kb.Enter)
	b.Check("changes")
	b.Tab(`a[href^="/changes/undo"]`)
	b.PressLoad(kb.Enter)
	b.Check("undo")
	b.Tab(`main a.button[href="/changes"]`)
	b.PressLoad(kb.Enter)
	b.Tab("button.main")
	b.PressLoad(kb.Enter)
	b.Check("committed")
	if text := b.Text("main"); !strings.Contains(text, "Committed on main") || !strings.Contains(text, "Nothing to commit") {
		t.Errorf("after committing the page says\n%s", text)
	}
	if got := gittest.Run(t, dir, "log", "-1", "--format=%an: %s"); !strings.HasPrefix(got, "Ada: Add test_definitions/") {
		t.Errorf("the commit is %q", got)
	}
}

// checkRows adds a key of an object by keys and removes one, and hears of a mistake while it
// is typed.
func checkRows(t *testing.T, b *browsertest.Browser, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(`{"name": "Rows", "initial_message": "Hi", "user_context": {"zip": "0815", "count": 1.0}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Visit("/settings/form?path=test_definitions/rows.json&format=testcase")
	b.Check("form-rows")
	b.Tab(`[data-field=user_context] [data-add]`)
	b.Press(kb.Enter)
	b.Press("zip" + kb.Tab + "4")
	b.Await(`document.querySelector("#say-user_context").textContent.includes("is there twice")`)
	b.Check("form-rows-mistake")
	b.Tab(`[name="f.user_context.key.3"]`)
	b.Press("size")
	b.Tab(`[aria-label="Remove count"]`)
	b.Press(kb.Enter)
	b.Await(`document.querySelector("#say-user_context").textContent === ""`)
	b.Click("button[value=save]")
	data, err := os.ReadFile(file)
	if want := `{"name": "Rows", "initial_message": "Hi", "user_context": {"zip": "0815", "size": 4}}` + "\n"; err != nil || string(data) != want {
		t.Errorf("the file is %s, %v, want %s", data, err, want)
	}
}

const itemsFile = `evalcases:
- id: refund
  input:
  - role: system # always
    content: 'Be brief.'
  - {role: user, content: "How long?"}
  expected_outcome: It names thirty days.
  rubrics: [Kind, {id: short, expected_outcome: Is short}]
  evaluators:
  - type: llm_judge
    prompt: Is it good? {{candidate_answer}}
  metadata: {tags: [slow], owner: ada}
`

// checkItems adds a message and an evaluator by keys, whose type shows its fields, and removes a
// message.
func checkItems(t *testing.T, b *browsertest.Browser, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(itemsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Visit("/settings/form?path=test_definitions/items.yaml&format=evalcase&item=0")
	b.Check("form-items")
	b.Tab(`[data-field=evaluators] > .more > summary`)
	b.Press(kb.Enter)
	b.Press("lat")
	b.Await(`document.getElementById("in-evaluators.1.threshold")`)
	b.Tab(`[name="f.evaluators.1.threshold"]`)
	b.Press("-5")
	b.Await(`document.getElementById("say-evaluators.1.threshold").textContent !== ""`)
	b.Check("form-items-mistake")
	b.Press(kb.Backspace + kb.Backspace + "500")
	b.Tab(`[data-field=input] > .more > summary`)
	b.Press(kb.Enter)
	b.Press("ass" + kb.Tab)
	b.Tab(`[name="f.input.2.content"]`)
	b.Press("Thirty days.")
	b.Tab(`[data-field=input] > .more > summary`)
	b.Press(kb.Enter)
	b.Await(`document.getElementById("in-input.3.role")`)
	b.Check("form-items-added")
	b.Tab(`[aria-label="Remove message 2"]`)
	b.Press(kb.Enter)
	b.Click("button[value=save]")
	data, err := os.ReadFile(file)
	want := strings.Replace(itemsFile, `{role: user, content: "How long?"}`, "{role: assistant, content: Thirty days.}", 1)
	want = strings.Replace(want, "candidate_answer}}\n", "candidate_answer}}\n  - type: latency\n    threshold: 500\n", 1)
	if err != nil || string(data) != want {
		t.Errorf("the file is\n%s%v\nwant\n%s\nthe page says\n%s", data, err, want, b.Text("main"))
	}
}

// checkList looks at the forms of a file with several cases, at a page that is refused,
// and at what the form of one case says when somebody else was quicker.
func checkList(t *testing.T, b *browsertest.Browser, file string) {
	t.Helper()
	put := func(message string) {
		t.Helper()
		text := "# Parcels.\n- name: First\n  initial_message: Hi\n- name: Second\n  initial_message: " + message + " # said first\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("Hello")
	const list = "/settings/form?path=test_definitions/list.yaml&format=testcase"
	for _, page := range []struct{ name, path string }{{"form-list", list}, {"form-item", list + "&item=1"}, {"refused", list + "&item=9"}} {
		b.Visit(page.path)
		b.Check(page.name)
	}
	b.Visit(list + "&item=1")
	put("Hello again")
	b.Tab("#in-description")
	b.Press("Late")
	b.Click("button[value=save]")
	if text := b.Text("main"); !strings.Contains(text, "Nothing was saved") {
		t.Errorf("after saving over a change of somebody else the page says\n%s", text)
	}
	if typed := browsertest.Eval[string](b, `document.querySelector("#in-description").value`); typed != "Late" {
		t.Errorf("after a conflict the field has %q, want what was typed", typed)
	}
	b.Check("conflict")
}
