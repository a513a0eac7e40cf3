package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gavel-evals/gavel/controller/dashboard/browsertest"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// runsInTitle is a text that a page which does not escape it would run.
const runsInTitle = `</textarea></script>"'><img src=x onerror="document.title='run'"><script>document.title='run'</script>`

// checkHostile looks at a page of hostile texts: it runs none of them.
func checkHostile(b *browsertest.Browser, name, path string) {
	b.Helper()
	b.Visit(path)
	b.Check(name)
	if title := browsertest.Eval[string](b, "document.title"); title == "run" || !strings.HasSuffix(title, "Gavel") {
		b.Errorf("%s has the title %q", path, title)
	}
	if got := browsertest.Eval[int](b, `document.querySelectorAll("main script, main img, main iframe, main [onerror]").length`); got != 0 {
		b.Errorf("%s has %d elements that a text made", path, got)
	}
}

// hostileFolder has definitions whose names and texts are hostile, in each format, and the
// paths of the pages that show them.
func hostileFolder(t *testing.T) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	// A definition with a NUL or a mark of the byte order is not read, so that its texts
	// would be on no page.
	text := strings.NewReplacer("\x00", "", "\ufeff", "").Replace(runsInTitle + strings.Join(reporttest.HostileTexts(), "\n"))
	quoted := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	put := func(name string, fields map[string]any) {
		t.Helper()
		file := filepath.Join(dir, "test_definitions", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(quoted(fields)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("talk/domain.json", map[string]any{"id": "talk", "name": text, "description": text, "evaluator_id": "keyword", "system_prompt": text})
	put("talk/level_1/level.json", map[string]any{"system_prompt": text})
	put("talk/level_1/hello.json", map[string]any{"id": "hello", "name": text, "prompt": text, "expected": map[string]any{"keywords": []string{text}}})
	put("evaluators/own.json", map[string]any{"id": "own", "name": text, "type": "custom", "eval_prompt": text})
	put("tools/clock.json", map[string]any{"id": "clock", "name": text, "description": text, "function": map[string]any{"name": "clock", "description": text}})
	lines := "test_definitions/li<b>&\"'nes.jsonl"
	put(strings.TrimPrefix(lines, "test_definitions/"), map[string]any{"id": text, "input": text, "expected_outcome": text})
	one := "test_definitions/" + strings.Repeat("w", 200) + ".json"
	put(strings.TrimPrefix(one, "test_definitions/"), map[string]any{"name": text, "initial_message": text, "tags": []string{text}})
	put("broken.json", map[string]any{"name": text, "initial_message": 1, text: text})
	config := "version: 1\ndefault_target: bot\ntargets: {bot: {provider: mock, replies: [{reply: " + quoted(text) + "}]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "gavel.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(path string, pairs ...string) {
		q := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		paths = append(paths, path+"?"+q.Encode())
	}
	at("/settings")
	at("/settings", "domain", "talk")
	at("/settings", "domain", "talk", "level", "1")
	at("/settings", "domain", runsInTitle)
	for _, one := range []struct{ kind, id string }{{"test", "hello"}, {"domain", "talk"}, {"level", "talk/1"}, {"evaluator", "own"}, {"tool", "clock"}, {"test", runsInTitle}, {runsInTitle, "x"}} {
		at("/settings/edit", "kind", one.kind, "id", one.id)
	}
	at("/settings/file")
	at("/changes")
	at("/changes/undo", "file", runsInTitle)
	for _, file := range []string{lines, one, "test_definitions/broken.json", "test_definitions/" + runsInTitle + ".json", runsInTitle} {
		at("/settings/file", "path", file)
	}
	at("/settings/form", "path", lines, "format", "evalcase")
	at("/settings/form", "path", lines, "format", "evalcase", "item", "0")
	at("/settings/form", "path", one, "format", "testcase")
	at("/tests")
	at("/tests", "words", "b")
	return dir, append(paths, "/", "/scores", "/costs")
}

// TestBrowserAbuseHostileDefinitions holds that hostile definitions run nothing on any page of
// gavel ui, ask no other server, and push nothing out of the window.
func TestBrowserAbuseHostileDefinitions(t *testing.T) {
	dir, paths := hostileFolder(t)
	gittest.Init(t, dir, "main")
	log := make(lines, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	app := func(stderr io.Writer) *App {
		return &App{Stdout: io.Discard, Stderr: stderr, Dir: dir, LookupEnv: func(string) (string, bool) { return "", false }}
	}
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, app(log), []string{"ui", "--no-browser", "--listen", "127.0.0.1:0"})
	}()
	defer func() { cancel(); <-code }()
	_, address, _ := strings.Cut(log.await(t, "http://"), "http://")
	address, _, _ = strings.Cut(address, "/;")
	b := browsertest.Open(t, "http://"+address)
	for i, path := range paths {
		checkHostile(b, fmt.Sprintf("hostile-settings-%d", i), path)
	}
	b.Visit("/settings?domain=talk&level=1")
	if text := b.Text("main"); strings.Count(text, "<img src=x onerror=") < 4 || strings.Contains(text, "cannot be read") || strings.Contains(text, strings.Repeat("W", 300)) {
		t.Errorf("the names of the domain, its test, evaluator and tool are not on their page:\n%.3000s", text)
	}
	b.Visit("/settings/edit?kind=test&id=hello")
	if typed := browsertest.Eval[string](b, `document.querySelector("#in-prompt").value`); !strings.HasPrefix(typed, runsInTitle) {
		t.Errorf("the form has the prompt %.300q, want the hostile one", typed)
	}
	b.Click("button[value=preview]")
	b.Check("hostile-preview")
	gittest.Run(t, dir, "config", "user.name", runsInTitle)
	gittest.Run(t, dir, "config", "user.email", runsInTitle)
	b.Do(chromedp.SetValue("#in-description", "changed", chromedp.ByQuery))
	b.Click("button[value=save]")
	b.Check("hostile-saved")
	checkHostile(b, "hostile-changes", "/changes")
	if text := b.Text("main"); !strings.Contains(text, "Author: ") || !strings.Contains(text, "onerror") {
		t.Errorf("the changes and their author are not on their page:\n%.3000s", text)
	}
	checkHostile(b, "hostile-undo", "/changes/undo?file=test_definitions/talk/level_1/hello.json")
	b.Visit("/changes")
	b.Do(chromedp.SetValue("#in-message", runsInTitle, chromedp.ByQuery))
	b.Click("button.main")
	checkHostile(b, "hostile-committed", "/changes")
}

// TestBrowserAbuseHostilePullRequest holds the same of the pages of a server, whose forge has a pull
// request with a hostile title.
func TestBrowserAbuseHostilePullRequest(t *testing.T) {
	j := newJob(t, forgetest.Pull{Title: runsInTitle + strings.Repeat("W", 300)}, forgetest.TokenUser)
	j.env["ADA"], j.env["BOB"] = adasToken, bobsToken
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	b := browsertest.Open(t, base)
	for i, path := range []string{"/", "/costs", "/sign-in", "/r/octo/demo/pulls", "/r/octo/demo/", "/r/octo/demo/settings", "/none?" + url.QueryEscape(runsInTitle), "/" + url.PathEscape(runsInTitle)} {
		checkHostile(b, fmt.Sprintf("hostile-serve-%d", i), path)
	}
	end()
}
