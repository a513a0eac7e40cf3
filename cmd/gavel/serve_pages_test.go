package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

const (
	adasToken = "a-token-of-ada-0123456789"
	bobsToken = "a-token-of-bob-0123456789"
)

// usersOfPages is the pages section of the operator's file.
const usersOfPages = `pages:
  users:
    ada: {token_env: ADA, role: edit}
    bob: {token_env: BOB}
`

// newPages is a job whose server has pages, and whose forge opens pull requests.
func newPages(t *testing.T, isPrivate bool) *job {
	t.Helper()
	j := newJob(t, forgetest.Pull{Title: "Friendlier <b>support</b>"}, forgetest.TokenUser)
	j.forge.Private = isPrivate
	j.forge.Tip = func(branch string) string {
		ref, err := j.origin.Reference(plumbing.NewBranchReferenceName(branch), true)
		if err != nil {
			return ""
		}
		return ref.Hash().String()
	}
	j.env["ADA"], j.env["BOB"] = adasToken, bobsToken
	return j
}

// ask sends a request with a token, where there is one.
func ask(t *testing.T, method, address, token, body string) (status int, answer string) {
	t.Helper()
	return askBy(t, visitor, method, address, token, "application/json", body)
}

// askBy is ask by a browser, with a body of a type.
func askBy(t *testing.T, browser *http.Client, method, address, token, kind, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", kind)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestServePages shows the pull requests of a repository with their state, and opens a
// pull request for a test that somebody adds who may.
func TestServePages(t *testing.T) {
	j := newPages(t, false)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	_, list := ask(t, "GET", base+"/api/repositories", "", "")
	var got struct {
		Repositories []struct {
			Name  string
			Pulls []struct {
				Number             int
				Title, Head, State string
				Run                string
			} `json:"pull_requests"`
		}
	}
	if err := json.Unmarshal([]byte(list), &got); err != nil || len(got.Repositories) != 1 || len(got.Repositories[0].Pulls) != 1 {
		t.Fatalf("the repositories are %s, %v", list, err)
	}
	pull := got.Repositories[0].Pulls[0]
	if got.Repositories[0].Name != "octo/demo" || pull.Number != 1 || pull.Head != j.head || pull.State != "fail" || pull.Title != "Friendlier <b>support</b>" {
		t.Errorf("the pull request is %+v", pull)
	}
	for _, tt := range []struct{ path, want string }{
		{"/", `href="/r/octo/demo/runs/` + pull.Run + `"`},
		{"/costs", "octo/demo"},
		{"/r/octo/demo/", "#1"},
		{"/r/Octo/Demo/pulls", "#1 Friendlier &lt;b&gt;support&lt;/b&gt;"},
		{"/r/octo/demo/scores", "Scores over time"},
		{"/r/octo/demo/runs/" + pull.Run, "1 regression"},
		{"/r/octo/demo/settings", `href="/r/octo/demo/settings?domain=`},
		{"/r/octo/demo/api/settings/tests", `"domain_id"`},
		{"/sign-in", `name="token"`},
	} {
		if status, body := ask(t, "GET", base+tt.path, "", ""); status != 200 || !strings.Contains(body, tt.want) {
			t.Errorf("%s is %d without %s:\n%.2000s", tt.path, status, tt.want, body)
		}
	}
	// Base is judged on its own, and its verdicts are of the definitions as they are.
	tests := ""
	for until := time.Now().Add(time.Minute); !strings.Contains(tests, `<p class="note small">2 pass</p>`); time.Sleep(20 * time.Millisecond) {
		if tests = mustGet(t, base+"/r/octo/demo/tests"); time.Now().After(until) {
			t.Fatalf("the tests have no current verdicts:\n%s", tests)
		}
	}
	first, _, _ := strings.Cut(strings.SplitN(mustGet(t, base+"/r/octo/demo/api/settings/tests"), `"domain_id": "`, 2)[1], `"`)
	added := `{"name": "Later", "domain_id": "` + first + `", "level": 1, "prompt": "Hello?", "expected": {"keywords": ["hello"]}, "evaluator_id": "keyword"}`
	for _, tt := range []struct {
		token  string
		status int
	}{{"", 401}, {bobsToken, 403}, {"a-token-of-nobody-012", 401}} {
		if status, body := ask(t, "POST", base+"/r/octo/demo/api/settings/tests", tt.token, added); status != tt.status {
			t.Errorf("with the token %q a test is added with %d, want %d: %s", tt.token, status, tt.status, body)
		}
	}
	if status, body := ask(t, "POST", base+"/r/octo/demo/pulls/1/look", bobsToken, "{}"); status != 403 {
		t.Errorf("somebody who only sees has a commit looked at again: %d %s", status, body)
	}
	if n := len(j.forge.Writes()); n == 0 || j.forge.Pull(2).HeadRef != "" {
		t.Fatalf("after refused requests there is a pull request, or nothing was written at all (%d)", n)
	}
	status, body := ask(t, "POST", base+"/r/octo/demo/api/settings/tests", adasToken, added)
	var saved struct {
		Success     bool
		Files       []string
		Branch      string
		PullRequest string `json:"pull_request"`
	}
	if err := json.Unmarshal([]byte(body), &saved); err != nil || status != 200 || !saved.Success || !strings.HasSuffix(saved.PullRequest, "/pull/2") {
		t.Fatalf("adding a test is %d %s, %v", status, body, err)
	}
	opened := j.forge.Pull(2)
	if opened.BaseRef != "main" || opened.HeadRef != saved.Branch || opened.Title != "settings: change "+saved.Files[0] || !strings.Contains(opened.Body, "ada") {
		t.Errorf("the pull request is %+v", opened)
	}
	if diff := j.git(t, "diff", "--name-status", j.base, saved.Branch); diff != "A\t"+saved.Files[0] {
		t.Errorf("the branch changes\n%s\nwant the one file %s", diff, saved.Files[0])
	}
	if who := j.git(t, "log", "-1", "--format=%an", saved.Branch); who != "ada" {
		t.Errorf("the commit is of %s", who)
	}
	// The very same change is that branch again, and not one more.
	if status, body := ask(t, "POST", base+"/r/octo/demo/api/settings/tests", adasToken, added); status != 200 || !strings.Contains(body, "/pull/2\"") || j.forge.Pull(3).HeadRef != "" {
		t.Errorf("the same change twice is %d %s, and the next pull request %+v", status, body, j.forge.Pull(3))
	}
	if status, _ := ask(t, "POST", base+"/r/octo/demo/pulls/1/look", adasToken, "{}"); status != 200 {
		t.Errorf("looking again is %d", status) // after the redirect
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// mustGet reads what everybody may.
func mustGet(t *testing.T, url string) string {
	t.Helper()
	status, body := ask(t, "GET", url, "", "")
	if status != 200 {
		t.Fatalf("%s is %d %s", url, status, body)
	}
	return body
}

// TestServePagesConflict shows that somebody else was quicker, and writes nothing.
func TestServePagesConflict(t *testing.T) {
	j := newPages(t, false)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	var list struct {
		Tests []struct{ ID, Path, Version string }
	}
	if err := json.Unmarshal([]byte(mustGet(t, base+"/r/octo/demo/api/settings/tests")), &list); err != nil || len(list.Tests) == 0 {
		t.Fatal(list, err)
	}
	one := list.Tests[0]
	j.git(t, "checkout", "-q", "main")
	file := filepath.Join(j.folder, one.Path)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	j.git(t, "commit", "-q", "-a", "-m", "another one's")
	status, body := ask(t, "PUT", base+"/r/octo/demo/api/settings/tests/"+one.ID, adasToken, `{"prompt": "Mine", "version": "`+one.Version+`"}`)
	if status != http.StatusConflict || !strings.Contains(body, "was changed since it was read") {
		t.Errorf("a change over another one is %d %s", status, body)
	}
	if j.forge.Pull(2).HeadRef != "" {
		t.Error("a pull request is open")
	}
	end()
}

// TestServePagesOfAPrivateRepository exist only for those who may see it.
func TestServePagesOfAPrivateRepository(t *testing.T) {
	j := newPages(t, true)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	run := strings.SplitN(strings.SplitN(getAs(t, base+"/r/octo/demo/api/runs", bobsToken), `"run": "`, 2)[1], `"`, 2)[0]
	for _, path := range []string{
		"/r/octo/demo/", "/r/octo/demo/pulls", "/r/octo/demo/runs/" + run, "/r/octo/demo/badge.svg", "/r/octo/demo/settings",
		"/r/octo/demo/api/runs", "/r/octo/demo/api/events", "/r/octo/demo/api/settings/export", "/r/octo/demo/api/test-cases", "/r/octo/none/",
	} {
		if status, body := ask(t, "GET", base+path, "", ""); status != 404 || strings.Contains(body, "octo") {
			t.Errorf("%s is %d for everybody:\n%s", path, status, body)
		}
	}
	for _, path := range []string{"/", "/costs", "/api/repositories"} {
		if body := mustGet(t, base+path); strings.Contains(body, "octo") {
			t.Errorf("%s names the repository:\n%s", path, body)
		}
		if body := getAs(t, base+path, bobsToken); !strings.Contains(body, "octo/demo") {
			t.Errorf("%s does not name the repository for those who may see it:\n%s", path, body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/r/octo/demo/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bobsToken)
	resp, err := visitor.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); ; {
		if !lines.Scan() {
			t.Fatal("the events have no state")
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			// The run of the base branch may have ended since.
			newest, _, _ := strings.Cut(strings.TrimPrefix(text, `{"newest":"`), `"`)
			if runs := getAs(t, base+"/r/octo/demo/api/runs", bobsToken); newest == "" || !strings.Contains(runs, `"run": "`+newest+`"`) {
				t.Errorf("the state is %s, want one of the runs as the newest:\n%s", text, runs)
			}
			break
		}
	}
	end()
}

func getAs(t *testing.T, url, token string) string {
	t.Helper()
	status, body := ask(t, "GET", url, token, "")
	if status != 200 {
		t.Fatalf("%s is %d %s", url, status, body)
	}
	return body
}

// TestAForgeThatHiccups keeps a change that it does not make a pull request of: the
// person learns why, keeps what was typed, and sends the same again. A form has it again.
func TestAForgeThatHiccups(t *testing.T) {
	j := newPages(t, false)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	first, _, _ := strings.Cut(strings.SplitN(mustGet(t, base+"/r/octo/demo/api/settings/tests"), `"domain_id": "`, 2)[1], `"`)
	pulls := func(f forgetest.Fault) forgetest.Fault { return f.On("POST", "/pulls") }
	for i, tt := range []struct {
		fault  forgetest.Fault
		status int
		want   string
	}{
		{forgetest.Fault{Status: 502}, 503, "and its pull request is not open: the forge does not answer now"},
		{forgetest.LostReply("POST"), 503, "send it again in a minute"},
		{forgetest.Fault{Status: 403}, 403, "pull-requests: write"},
	} {
		added := fmt.Sprintf(`{"name": "Later %d", "domain_id": %q, "level": 1, "prompt": "Hello?", "expected": {"keywords": ["hello"]}, "evaluator_id": "keyword"}`, i, first)
		j.forge.Inject(pulls(tt.fault))
		if status, body := ask(t, "POST", base+"/r/octo/demo/api/settings/tests", adasToken, added); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("with a forge that answers %d: %d %s", tt.fault.Status, status, body)
		}
		page := fmt.Sprintf("/pull/%d\"", i+2)
		if status, body := ask(t, "POST", base+"/r/octo/demo/api/settings/tests", adasToken, added); status != 200 || !strings.Contains(body, page) {
			t.Errorf("sent again: %d %s, want %s", status, body, page)
		}
	}
	j.forge.Inject(pulls(forgetest.Fault{Status: 502}))
	status, page := typed(t, base+"/r/octo/demo/settings/edit?kind=test&domain="+first+"&level=1", url.Values{
		"action": {"save"}, "domain": {first}, "level": {"1"}, "f.name": {"Typed once"}, "f.prompt": {"Are you <there>?"}, "f.expected": {`{"keywords": ["typed"]}`}, "f.evaluator_id": {"keyword"},
	})
	for _, want := range []string{"the forge does not answer now", `value="Typed once"`, "Are you &lt;there&gt;?", `&#34;typed&#34;`} {
		if status != 503 || !strings.Contains(page, want) {
			t.Errorf("a form whose pull request was not opened is %d without %s:\n%s", status, want, page)
		}
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// hiddenFields are the fields of a form that nobody types.
var hiddenFields = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// typed opens a form as ada, and sends it with fields.
func typed(t *testing.T, address string, fields url.Values) (status int, page string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: visitor.Transport}
	_, empty := askBy(t, browser, "GET", address, adasToken, "", "")
	for _, found := range hiddenFields.FindAllStringSubmatch(empty, -1) {
		fields.Set(found[1], found[2])
	}
	address, _, _ = strings.Cut(address, "?")
	return askBy(t, browser, "POST", address, adasToken, "application/x-www-form-urlencoded", fields.Encode())
}
