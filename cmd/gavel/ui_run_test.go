package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A uiVisitor sends the forms of gavel ui's pages, with the cookie that they need.
type uiVisitor struct {
	*testing.T
	base   string
	client *http.Client
}

func newUIVisitor(t *testing.T, base string) *uiVisitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &uiVisitor{t, base, &http.Client{Jar: jar}}
}

// get returns a page, and the path that it has after redirects.
func (v *uiVisitor) get(path string) (text, at string) {
	v.Helper()
	res, err := v.client.Get(v.base + path)
	return v.text(res, err)
}

// post sends a form with the token of a page.
func (v *uiVisitor) post(from, path string, form url.Values) (text, at string) {
	v.Helper()
	page, _ := v.get(from)
	token := regexp.MustCompile(`name="form_token" value="([^"]*)"`).FindStringSubmatch(page)
	if token == nil {
		v.Fatalf("the page %s has no form:\n%s", from, page)
	}
	form.Set("form_token", token[1])
	res, err := v.client.PostForm(v.base+path, form)
	return v.text(res, err)
}

// wantForbidden posts a form without its token, which must be refused.
func (v *uiVisitor) wantForbidden(path string, form url.Values) {
	v.Helper()
	res, err := http.PostForm(v.base+path, form)
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		v.Errorf("a form without its token is answered with %d, want 403", res.StatusCode)
	}
}

func (v *uiVisitor) text(res *http.Response, err error) (text, at string) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.Fatal(err)
	}
	return string(body), res.Request.URL.Path
}

// ended returns the page to which the page of a run leads once the run has ended.
func (v *uiVisitor) ended() (text, at string) {
	v.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if text, at = v.get("tests/run"); !strings.Contains(text, "A run is going on") {
			return text, at
		}
	}
	v.Fatalf("the run does not end:\n%s", text)
	return "", ""
}

// TestUIRuns starts a run of one file and a run of all cases by the buttons of the page.
func TestUIRuns(t *testing.T) {
	dir := twoTests(t)
	v := newUIVisitor(t, browsing(t, dir))
	v.post("tests", "tests/run", url.Values{"file": {"test_definitions/talk/level_1/refuse.json"}})
	text, at := v.ended()
	if !strings.HasPrefix(at, "/runs/") || !strings.Contains(text, "talk/level_1/refuse") || strings.Contains(text, "talk/level_1/hello") {
		t.Errorf("the run of one file ends at %s:\n%s", at, text)
	}
	v.post("tests", "tests/run", url.Values{})
	if text, at := v.ended(); !strings.HasPrefix(at, "/runs/") || !strings.Contains(text, "talk/level_1/hello") {
		t.Errorf("the run of all cases ends at %s:\n%s", at, text)
	}
	_, at = v.get("tests/run")
	casePage := strings.TrimPrefix(at, "/") + "/case?name=" + url.QueryEscape("talk/level_1/hello")
	if text, _ := v.get(casePage); !strings.Contains(text, "Run this case") || !strings.Contains(text, `name="key" value="talk/level_1/hello"`) {
		t.Errorf("the page of a case does not run it:\n%s", text)
	}
	v.post(casePage, "tests/run", url.Values{"key": {"talk/level_1/hello"}})
	if text, at := v.ended(); !strings.HasPrefix(at, "/runs/") || strings.Contains(text, "talk/level_1/refuse") {
		t.Errorf("the run of one case ends at %s:\n%s", at, text)
	}
	if text, _ := v.get("tests"); !strings.Contains(text, ">pass<") || !strings.Contains(text, ">fail<") {
		t.Errorf("after the runs the page of the tests is\n%s", text)
	}
	askedAgain := "tests/run/again?key=" + url.QueryEscape("talk/level_1/hello")
	if text, _ := v.get(casePage); !strings.Contains(strings.ReplaceAll(text, "%2f", "%2F"), `href="/`+askedAgain) {
		t.Errorf("the page of a case does not judge it again:\n%s", text)
	}
	if text, _ := v.get("tests"); !strings.Contains(text, `href="/tests/run/again?file=`) || !strings.Contains(text, `href="/tests/run/again"`) {
		t.Errorf("the page of the tests does not judge a file and all cases again:\n%s", text)
	}
	if text, _ := v.get(askedAgain); !strings.Contains(text, "1 case: about 1 call") {
		t.Errorf("before a case is judged again the page is\n%s", text)
	}
	if text, _ := v.get("tests/run/again"); !strings.Contains(text, "2 cases: about 2 calls") {
		t.Errorf("before all cases are judged again the page is\n%s", text)
	}
	v.post(casePage, "tests/run", url.Values{"key": {"talk/level_1/hello"}})
	if text, _ := v.ended(); !strings.Contains(text, "<dd>0 calls</dd>") {
		t.Errorf("a run of a judged case reuses nothing:\n%s", text)
	}
	v.post(askedAgain, "tests/run", url.Values{"key": {"talk/level_1/hello"}, "again": {"yes"}})
	if text, at := v.ended(); !strings.HasPrefix(at, "/runs/") || !strings.Contains(text, "<dd>1 call</dd>") || strings.Contains(text, "talk/level_1/refuse") {
		t.Errorf("judging one case again ends at %s:\n%s", at, text)
	}
	if text, _ := v.get("tests/run/again?key=nothing"); !strings.Contains(text, "o case has a key like") {
		t.Errorf("an unknown case cannot be judged again:\n%s", text)
	}
	v.post("tests", "tests/run", url.Values{"key": {"talk/level_1/h[e]llo"}})
	if text, _ := v.ended(); !strings.Contains(text, "no case has a key like") && !strings.Contains(text, "No case has a key like") {
		t.Errorf("a key that no case has is answered with\n%s", text)
	}
	written, err := os.ReadFile(filepath.Join(dir, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	was := string(written)
	writeFile(t, dir, "gavel.yaml", "version: 1\ntarget: bot\n")
	v.post("tests", "tests/run", url.Values{})
	if text, _ := v.ended(); !strings.Contains(text, "gavel.yaml:2:1: error: ") {
		t.Errorf("a run with an unknown field in gavel.yaml is answered with\n%s", text)
	}
	pages := []string{"", "tests", "settings", "scores", "costs", at[1:], casePage, "changes", "tests/new", "settings/file", "nothing"}
	for _, page := range pages {
		if text, _ := v.get(page); !strings.Contains(text, "Nothing can be run.</b> gavel.yaml:2:1: error: ") || !strings.Contains(text, `<a href="/settings">All problems`) {
			t.Errorf("the page %q does not say that gavel.yaml is broken:\n%s", page, text)
		}
	}
	if text, _ := v.get("settings"); !strings.Contains(text, "line 2, column 1: ") {
		t.Errorf("the settings lack the problems of gavel.yaml:\n%s", text)
	}
	writeFile(t, dir, "gavel.yaml", was)
	for _, page := range pages {
		if text, _ := v.get(page); strings.Contains(text, "Nothing can be run") {
			t.Errorf("the page %q says that gavel.yaml is still broken:\n%s", page, text)
		}
	}
	if text, _ := v.get("tests/run"); !strings.Contains(text, "that is repaired now") || strings.Contains(text, "gavel.yaml:2:1") {
		t.Errorf("after the repair of gavel.yaml the page of the run is\n%s", text)
	}
	v.post("tests/run", "tests/run", url.Values{"name": {"talk/level_1/hello"}})
	if text, at := v.ended(); !strings.HasPrefix(at, "/runs/") || strings.Contains(text, "talk/level_1/refuse") {
		t.Errorf("the refused run, run again, ends at %s:\n%s", at, text)
	}
	v.wantForbidden("tests/run", url.Values{})
}

// TestUICancelsARun starts a run whose agent does not answer, is refused another one, and
// cancels it. A run that is going on ends with gavel ui.
func TestUICancelsARun(t *testing.T) {
	asked := make(chan struct{}, 10)
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(agent.Close)
	dir := twoTests(t)
	config := "version: 1\ndefault_target: bot\ntargets: {bot: {provider: http, url: " + agent.URL + "}}\n"
	if err := os.WriteFile(filepath.Join(dir, "gavel.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	v := newUIVisitor(t, browsing(t, dir))
	text, at := v.post("tests", "tests/run", url.Values{})
	if at != "/tests/run" || !strings.Contains(text, "A run is going on") {
		t.Fatalf("the button leads to %s:\n%s", at, text)
	}
	<-asked
	if text, _ := v.post("tests/run", "tests/run", url.Values{}); !strings.Contains(text, "Yours was not started") {
		t.Errorf("a second run is answered with\n%s", text)
	}
	if text, _ := v.get("tests"); !strings.Contains(text, "See its progress") {
		t.Errorf("the page of the tests does not lead to the run:\n%s", text)
	}
	v.post("tests/run", "tests/run/cancel", url.Values{})
	if text, at := v.ended(); !strings.HasPrefix(at, "/runs/") && !strings.Contains(text, "The run was canceled") {
		t.Errorf("a canceled run ends at %s:\n%s", at, text)
	}
	v.post("tests", "tests/run", url.Values{})
	if text, at := v.get("tests/run"); at != "/tests/run" || !strings.Contains(text, "A run is going on") {
		t.Errorf("after a canceled run no other one starts: %s:\n%s", at, text)
	}
	<-asked // gavel ui ends while it waits for the agent
}
