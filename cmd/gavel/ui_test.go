package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/run/limit"
)

// browsing starts gavel ui in a folder and returns the address of its pages. It ends
// with the test, and its exit code has to be 0.
func browsing(t *testing.T, dir string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log, ended := make(lines, 100), make(chan int, 1)
	a := &App{Stdout: io.Discard, Stderr: log, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir, Breakers: &limit.Breakers{}}
	go func() { ended <- execute(ctx, a, []string{"ui", "--listen", "127.0.0.1:0"}) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != ExitPass {
			t.Errorf("gavel ui ends with %d, want 0", code)
		}
	})
	return regexp.MustCompile(`http://\S+/`).FindString(log.await(t, "the pages are at"))
}

// read is the text of a page.
func read(t *testing.T, url string) (status int, text string) {
	t.Helper()
	res, err := visitor.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// twoTests is a repository with one test that passes and one that fails.
func twoTests(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, tt := range []struct{ file, text string }{
		{"gavel.yaml", "version: 1\ndefault_target: bot\ntargets: {bot: {provider: mock, replies: [{reply: 'hello <b>you</b>'}]}}\n"},
		{"test_definitions/talk/domain.json", `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`},
		{"test_definitions/talk/level_1/hello.json", `{"id": "hello", "name": "Hello", "prompt": "Hi", "expected": {"keywords": ["hello"]}}`},
		{"test_definitions/talk/level_1/refuse.json", `{"id": "refuse", "name": "Refuse", "prompt": "Hi", "expected": {"keywords": ["sorry"]}}`},
	} {
		path := filepath.Join(dir, tt.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := git.PlainInit(dir, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestUI reads what gavel run has stored, by the links that the pages have, also when
// it was stored after the pages were opened.
func TestUI(t *testing.T) {
	dir := twoTests(t)
	base := browsing(t, dir)
	if status, text := read(t, base); status != 200 || !strings.Contains(text, "Nothing was judged here yet") {
		t.Errorf("before the first run the page is %d:\n%s", status, text)
	}
	if _, stderr, code := gavel(t, dir, "run"); code != ExitGate {
		t.Fatalf("gavel run ends with %d, want 1: %s", code, stderr)
	}
	_, runs := read(t, base)
	_, one := read(t, base+"runs/"+regexp.MustCompile(`href="/runs/([0-9a-f]+)"`).FindStringSubmatch(runs)[1])
	if !strings.Contains(one, "1 of 2 cases fails") || !strings.Contains(one, "talk/level_1/refuse") {
		t.Errorf("the page of the run is\n%s", one)
	}
	link := regexp.MustCompile(`href="/(runs/[^"]*case\?name=[^"]*refuse)"`).FindStringSubmatch(one)
	_, page := read(t, base+link[1])
	for _, want := range []string{"hello &lt;b&gt;you&lt;/b&gt;", "sorry", "refuse.json", "Judged by"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the case should contain %q:\n%s", want, page)
		}
	}
	edit := regexp.MustCompile(`href="/(settings/file\?[^"]*refuse\.json)">Edit<`).FindStringSubmatch(page)
	if edit == nil {
		t.Fatalf("the page of the case does not lead to an editor:\n%s", page)
	}
	if status, text := read(t, base+strings.ReplaceAll(edit[1], "&amp;", "&")); status != 200 || !strings.Contains(text, "sorry") {
		t.Errorf("the editor of the definition is %d:\n%s", status, text)
	}
}

// TestUIAnswersTheDocumentsCommands sends them as curl does, without a token.
func TestUIAnswersTheDocumentsCommands(t *testing.T) {
	dir := twoTests(t)
	base := browsing(t, dir)
	if _, text := read(t, base+"api/settings/tests?domain=talk&level=1"); !strings.Contains(text, `"id": "refuse"`) {
		t.Errorf("the tests are %s", text)
	}
	res, err := visitor.Post(base+"api/settings/tests", "application/json", strings.NewReader(
		`{"domain_id": "talk", "level": 1, "name": "Bye", "prompt": "Bye!", "expected": {"keywords": ["bye"]}, "evaluator_id": "keyword"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, stderr, code := gavel(t, dir, "validate", "--strict"); res.StatusCode != 200 || code != ExitPass {
		t.Errorf("after POST, which is answered with %d, gavel validate ends with %d: %s", res.StatusCode, code, stderr)
	}
	_, served := read(t, base+"api/settings/export")
	printed, _, _ := gavel(t, dir, "export")
	var a, b any
	if json.Unmarshal([]byte(served), &a) != nil || json.Unmarshal([]byte(printed), &b) != nil {
		t.Fatalf("the exports are not JSON:\n%s\n%s", served, printed)
	}
	for _, doc := range []any{a, b} {
		delete(doc.(map[string]any), "exported_at")
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("gavel export prints what the API does not answer (-printed +answered):\n%s", diff)
	}
}

// TestUISaysWhatAChangeWouldRerun changes a test by its form.
func TestUISaysWhatAChangeWouldRerun(t *testing.T) {
	dir := twoTests(t)
	base := browsing(t, dir)
	if _, stderr, code := gavel(t, dir, "run"); code != ExitGate {
		t.Fatalf("gavel run ends with %d, want 1: %s", code, stderr)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	text := func(res *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	page := text(browser.Get(base + "settings/edit?kind=test&id=refuse"))
	form := url.Values{"kind": {"test"}, "id": {"refuse"}, "domain": {"talk"}, "level": {"1"}, "action": {"preview"}}
	for _, name := range []string{"form_token", "version"} {
		form.Set(name, regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)[1])
	}
	form.Set("f.prompt", "Say no")
	if got := text(browser.PostForm(base+"settings/edit", form)); !strings.Contains(got, "talk/level_1/refuse: run, changed") || strings.Contains(got, "level_1/hello") || !strings.Contains(got, "about 1 call") {
		t.Errorf("a changed prompt should rerun the test alone:\n%s", got)
	}
	form.Del("f.prompt")
	form.Set("f.description", "For people")
	if got := text(browser.PostForm(base+"settings/edit", form)); !strings.Contains(got, "no case is judged in another way") {
		t.Errorf("a changed description should rerun nothing:\n%s", got)
	}
}

// TestUIIsForOnePerson holds that gavel ui refuses to be reached by others.
func TestUIIsForOnePerson(t *testing.T) {
	for _, tt := range []struct{ listen, want string }{
		{"0.0.0.0:8080", "others reach this address"}, {":8080", "others reach this address"}, {"8080", "write an address and a port"},
		{"example.com:80", "others reach this address"},
	} {
		_, stderr, code := gavel(t, t.TempDir(), "ui", "--listen", tt.listen)
		if code != ExitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("--listen %s ends with %d, want 2 and %q: %s", tt.listen, code, tt.want, stderr)
		}
	}
}

// TestUITests holds that the page of the tests has the verdicts of the last run, with links
// to the pages of the cases, as soon as there are some.
func TestUITests(t *testing.T) {
	dir := twoTests(t)
	base := browsing(t, dir)
	if _, text := read(t, base+"tests"); strings.Count(text, "not run</td>") != 2 {
		t.Errorf("before the first run the page of the tests is\n%s", text)
	}
	if _, stderr, code := gavel(t, dir, "run"); code != ExitGate {
		t.Fatalf("gavel run ends with %d, want 1: %s", code, stderr)
	}
	_, text := read(t, base+"tests?words=refuse")
	link := regexp.MustCompile(`href="/(runs/[^"]*refuse)"[^>]*>fail<`).FindStringSubmatch(text)
	if link == nil || strings.Contains(text, "level_1/hello") {
		t.Fatalf("the failed case has no link to its page, or the other one is listed:\n%s", text)
	}
	if status, page := read(t, base+link[1]); status != 200 || !strings.Contains(page, "sorry") {
		t.Errorf("the page of the case is %d:\n%s", status, page)
	}
}

// TestUITestsOfChangedCases holds that a verdict shows as current only while the case is as it
// was judged: its definition, what that uses, and the configuration.
func TestUITestsOfChangedCases(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		want             string // verdicts of hello and refuse
	}{
		{"nothing", "notes.txt", "x", "pass fail"},
		{"another space", helloFile, `{"id":  "hello", "name": "Hello", "prompt": "Hi", "expected": {"keywords": ["hello"]}}`, "pass fail"},
		{"a definition", helloFile, changedHello, "changed was pass fail"},
		{"its domain", "test_definitions/talk/domain.json", `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be short"}`, "changed was pass changed was fail"},
		{"checks", "test_definitions/talk/level_1/hello.checks.yaml", ".: [{contains: hello}]\n", "changed was pass fail"},
		{"the prompt of the target", "prompt.txt", "Be long", "changed was pass changed was fail"},
		{"a broken configuration", "gavel.yaml", "version: 1\ntarget: bot\n", "changed was pass changed was fail"},
		{"a broken definition", helloFile, "{", "fail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := twoTests(t)
			writeFile(t, dir, "prompt.txt", "Be short")
			writeFile(t, dir, "gavel.yaml", "version: 1\ndefault_target: bot\ntargets: {bot: {provider: mock, inputs: [prompt.txt], replies: [{reply: hello}]}}\n")
			if _, stderr, code := gavel(t, dir, "run"); code != ExitGate {
				t.Fatalf("gavel run ends with %d, want 1: %s", code, stderr)
			}
			writeFile(t, dir, tt.file, tt.text)
			_, text := read(t, browsing(t, dir)+"tests")
			var got []string
			for _, cell := range regexp.MustCompile(`(?s)<td class="label">.*?</td>`).FindAllString(text, -1) {
				got = append(got, regexp.MustCompile(`<i[^>]*>[^<]*</i>|<[^>]*>|\s+`).ReplaceAllString(cell, " "))
			}
			if got := strings.Join(strings.Fields(strings.Join(got, " ")), " "); got != tt.want {
				t.Errorf("the verdicts are %q, want %q:\n%s", got, tt.want, text)
			}
		})
	}
}
