package editor

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/schema"
)

// A reader looks at the pages as a browser does: it keeps the cookie.
type reader struct {
	*testing.T
	dir    string
	server *httptest.Server
	cookie string
	script bool // asks as the script does
}

func newReader(t *testing.T, files map[string]string) *reader {
	t.Helper()
	return newReaderOf(t, files, nil)
}

// newReaderOf is newReader for pages with commits.
func newReaderOf(t *testing.T, files map[string]string, committer Committer) *reader {
	t.Helper()
	return readerOf(t, writeFiles(t, files), committer)
}

// readerOf is newReaderOf for a folder.
func readerOf(t *testing.T, dir string, committer Committer) *reader {
	t.Helper()
	mux := http.NewServeMux()
	New(Config{
		Committer: committer,
		Open: func(context.Context) (fs.FS, func() error, error) {
			return os.DirFS(dir), func() error { return nil }, nil
		},
		Write: Folder(dir),
		Settings: func(context.Context, fs.FS) (schema.Settings, error) {
			return schema.Settings{Definitions: []string{"test_definitions"}, Skills: schema.SkillSettings{Find: true}}, nil
		},
		Forecast: func(_ context.Context, before, after fs.FS) (*Forecast, error) {
			was, _ := fs.ReadFile(before, "test_definitions/math/level_1/sum.json")
			is, _ := fs.ReadFile(after, "test_definitions/math/level_1/sum.json")
			return &Forecast{Cases: []string{string(was) + " => " + string(is)}, Estimate: "about 3 calls"}, nil
		},
	}).Pages(mux, dashboard.New(dashboard.Config{}).Frame)
	server := httptest.NewServer(access.Guard{}.Handler(mux))
	t.Cleanup(server.Close)
	return &reader{T: t, dir: dir, server: server}
}

// ask reads a page, or sends a form where there is one.
func (r *reader) ask(path string, form url.Values) (status int, page string) {
	r.Helper()
	method, body := "GET", ""
	if form != nil {
		method, body = "POST", form.Encode()
	}
	req, err := http.NewRequestWithContext(r.Context(), method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if r.script {
		req.Header.Set("Accept", "application/json")
	}
	req.Header.Set("Cookie", r.cookie)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	res.TransferEncoding = []string{"identity"} // no sizes between the parts of a long page
	var text strings.Builder
	if err := res.Write(&text); err != nil {
		r.Fatal(err)
	}
	if set := res.Header.Get("Set-Cookie"); set != "" {
		r.cookie = strings.Split(set, ";")[0]
	}
	return res.StatusCode, text.String()
}

// form is a browser's request for the form of a page, with changed fields.
func (r *reader) form(page string, changes ...url.Values) url.Values {
	r.Helper()
	out := url.Values{}
	for _, found := range regexp.MustCompile(`<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		out.Set(found[1], unescape(found[2]))
	}
	for _, found := range regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]*)"[^>]*>\n(.*?)</textarea>`).FindAllStringSubmatch(page, -1) {
		out.Set(found[1], strings.ReplaceAll(unescape(found[2]), "\n", "\r\n"))
	}
	for _, found := range regexp.MustCompile(`(?s)<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>`).FindAllStringSubmatch(page, -1) {
		if on := regexp.MustCompile(`<option selected>([^<]*)`).FindStringSubmatch(found[2]); on != nil {
			out.Set(found[1], on[1])
		} else {
			out.Set(found[1], "")
		}
	}
	for _, change := range changes {
		maps.Copy(out, change)
	}
	return out
}

// action is the address that a browser sends the form of a page to.
func (r *reader) action(page string) string {
	r.Helper()
	found := regexp.MustCompile(`<form class="sheet" method="post" action="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		r.Fatalf("the page has no form:\n%s", page)
	}
	return unescape(found[1])
}

func unescape(text string) string {
	return strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&#39;", "'", "&#43;", "+", "&amp;", "&").Replace(text)
}

func (r *reader) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *reader) file(name string) string {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil && !os.IsNotExist(err) {
		r.Fatal(err)
	}
	return string(data)
}

func (r *reader) has(page string, want ...string) {
	r.Helper()
	page = strings.ReplaceAll(page, "&#43;", "+")
	for _, text := range want {
		if !strings.Contains(page, text) {
			r.Errorf("the page should contain %q:\n%s", text, page)
		}
	}
}

var mathFiles = map[string]string{
	"test_definitions/math/domain.json":      `{"id": "math", "name": "Math", "evaluator_id": "two_pass"}`,
	"test_definitions/math/level_1/sum.json": `{"id": "math_sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"answer": "2"}}`,
	"test_definitions/chat.yaml":             "# kept\nname: Chat\ninitial_message: hi\n",
}

// TestAddingATest goes from the sidebar to a new test, by way of a message at a field.
func TestAddingATest(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings?domain=math&level=2", nil)
	r.has(page, "+ Add Test", "Math, level 2", "No tests here yet", "Level 1", `aria-current="page"`)
	_, page = r.ask("/settings/edit?kind=test&domain=math&level=2", nil)
	r.has(page, "The user&#39;s message.", "<option selected>math</option>", `name="level" value="2"`)
	form := r.form(page, url.Values{"f.name": {"Times"}, "f.prompt": {"2 * 3?\r\nShort."}, "f.expected": {`{"answer": "6"}`}, "f.weight": {"-1"}, "action": {"save"}})
	status, page := r.ask("/settings/edit", form)
	if status != 400 || r.file("test_definitions/math/level_2/math_times.json") != "" {
		t.Errorf("a negative weight is saved: %d", status)
	}
	weight := regexp.MustCompile(`id="say-weight" role="alert">([^<]+)<`).FindStringSubmatch(page)
	if weight == nil || !strings.Contains(page, `value="-1"`) {
		t.Fatalf("no message is at the weight, or what was typed is gone:\n%s", page)
	}
	r.script = true
	_, said := r.ask("/settings/edit", r.form(page, url.Values{"action": {"check"}}))
	r.script = false
	r.has(said, `"weight": "`+weight[1][:8])
	status, page = r.ask("/settings/edit", r.form(page, url.Values{"f.weight": {"2.50"}, "action": {"save"}}))
	r.has(page, "Saved", "test_definitions/math/level_2/math_times.json", "&#34;weight&#34;: 2.50")
	want := "{\n  \"id\": \"math_times\",\n  \"name\": \"Times\",\n  \"prompt\": \"2 * 3?\\nShort.\",\n  \"expected\": {\n    \"answer\": \"6\"\n  },\n  \"weight\": 2.50\n}\n"
	if got := r.file("test_definitions/math/level_2/math_times.json"); status != 200 || got != want {
		t.Errorf("%d: the file is\n%s\nwant\n%s", status, got, want)
	}
}

// TestChangingATest shows what would be judged before a change is saved, and a conflict
// instead of a lost change.
func TestChangingATest(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings/edit?kind=test&id=math_sum", nil)
	old := r.file("test_definitions/math/level_1/sum.json")
	_, preview := r.ask("/settings/edit", r.form(page, url.Values{"f.prompt": {"2 + 2?"}, "action": {"preview"}}))
	r.has(preview, "What this would rerun", "about 3 calls", "1 + 1?", "2 + 2?", "What would be changed")
	if r.file("test_definitions/math/level_1/sum.json") != old {
		t.Error("a preview has changed the file")
	}
	status, saved := r.ask("/settings/edit", r.form(preview, url.Values{"action": {"save"}}))
	r.has(saved, "Saved", "What was changed")
	if now := r.file("test_definitions/math/level_1/sum.json"); status != 200 || !strings.Contains(now, "2 + 2?") {
		t.Errorf("%d: the file is %s", status, now)
	}
	status, late := r.ask("/settings/edit", r.form(page, url.Values{"f.prompt": {"9 + 9?"}, "action": {"save"}}))
	r.has(late, "Nothing was saved.", "was changed since it was read", "9 + 9?")
	if now := r.file("test_definitions/math/level_1/sum.json"); status != 409 || strings.Contains(now, "9 + 9?") {
		t.Errorf("%d: another one's change is lost: %s", status, now)
	}
	_, untouched := r.ask("/settings/edit", r.form(saved, url.Values{"action": {"save"}}))
	r.has(untouched, "Nothing has changed")
	_, asked := r.ask("/settings/edit", r.form(saved, url.Values{"action": {"remove"}}))
	r.has(asked, "Remove this test?", "math_sum", "Keep it", "What would be changed")
	if r.file("test_definitions/math/level_1/sum.json") == "" {
		t.Error("a test is removed before the page has asked")
	}
	_, removed := r.ask("/settings/edit?kind=test&id=math_sum", r.form(asked, url.Values{"action": {"remove"}}))
	r.has(removed, "<b>Removed</b>", "Removed test math_sum")
	if _, err := os.Stat(filepath.Join(r.dir, "test_definitions/math/level_1")); !os.IsNotExist(err) {
		t.Errorf("the folder of the only test is there after the test was removed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "test_definitions/math")); err != nil {
		t.Errorf("a folder with a file was removed: %v", err)
	}
}

// TestFilesOfOtherFormats changes the text of a file, whose comments stay.
func TestFilesOfOtherFormats(t *testing.T) {
	r := newReader(t, mathFiles)
	_, list := r.ask("/settings/file", nil)
	r.has(list, "test_definitions/chat.yaml", "testcase")
	_, page := r.ask("/settings/file?path=test_definitions/chat.yaml", nil)
	r.has(page, "# kept")
	status, wrong := r.ask("/settings/file", r.form(page, url.Values{"text": {"name: Chat\nmax_turns: soon\n"}, "action": {"save"}}))
	r.has(wrong, "line 2, column 1", "max_turns: soon")
	if status != 400 || !strings.Contains(r.file("test_definitions/chat.yaml"), "initial_message") {
		t.Errorf("%d: a wrong text is saved", status)
	}
	_, right := r.ask("/settings/file", r.form(page, url.Values{"text": {"# kept\r\nname: Chat\r\ninitial_message: hello\r\n"}, "action": {"save"}}))
	r.has(right, "Saved", "initial_message: hello")
	if got := r.file("test_definitions/chat.yaml"); got != "# kept\nname: Chat\ninitial_message: hello\n" {
		t.Errorf("the file is %q", got)
	}
	if status, _ := r.ask("/settings/file", r.form(page, url.Values{"text": {"name: Late\ninitial_message: x\n"}, "action": {"save"}})); status != 409 {
		t.Errorf("a change of an older text: %d, want 409", status)
	}
	for _, path := range []string{"gavel.yaml", "../x.yaml", "test_definitions/../gavel.yaml", "/etc/passwd", "test_definitions/run.sh", ".git/config", "test_definitions//x.yaml"} {
		if status, _ := r.ask("/settings/file?path="+url.QueryEscape(path), nil); status != 400 {
			t.Errorf("reading %s: %d, want 400", path, status)
		}
		r.ask("/settings/file", r.form(page, url.Values{"path": {path}, "text": {"name: x\ninitial_message: y\n"}, "version": {""}, "action": {"save"}}))
		if path != "/etc/passwd" && r.file(path) != "" {
			t.Errorf("%s was written", path)
		}
	}
}

// TestAbuseHostileDefinitionsInSettings holds that definitions and parameters of strangers are shown
// as text, and that a form without its token changes nothing.
func TestAbuseHostileDefinitionsInSettings(t *testing.T) {
	const hostile = `</textarea><script>alert(1)</script><img src=x onerror=alert(1)>"' onfocus=alert(1) {{.}} javascript:alert(1)`
	files := map[string]string{
		"test_definitions/math/domain.json": string(mustJSON(t, map[string]any{"id": "math", "name": hostile, "evaluator_id": "keyword", "color": "red;}body{display:none"})),
		"test_definitions/math/level_1/a.json": string(mustJSON(t, map[string]any{
			"id": "javascript:alert(1)//" + hostile, "name": hostile, "prompt": hostile, "expected": map[string]any{"keywords": []string{hostile}}})),
		"test_definitions/evaluators/e.json": string(mustJSON(t, map[string]any{"id": "e", "name": hostile, "eval_prompt": hostile, "type": "custom"})),
		"test_definitions/tools/t.json":      string(mustJSON(t, map[string]any{"id": "t", "name": hostile, "function": map[string]any{"name": hostile}})),
		"test_definitions/chat.yaml":         "name: Chat\ninitial_message: |\n  " + hostile + "\n",
	}
	r := newReader(t, files)
	raw := regexp.MustCompile(`<script>alert|<img src=x|" onfocus=|href="javascript:|</textarea><script`)
	for _, path := range []string{
		"/settings", "/settings?domain=math", "/settings?domain=math&level=1", "/settings/edit?kind=domain&id=math", "/settings/edit?kind=evaluator&id=e",
		"/settings/edit?kind=tool&id=t", "/settings/edit?kind=test&id=" + url.QueryEscape("javascript:alert(1)//"+hostile), "/settings/file?path=test_definitions/chat.yaml",
		"/settings/edit?kind=" + url.QueryEscape(hostile), "/settings/edit?kind=test&id=" + url.QueryEscape(hostile), "/settings/file?path=" + url.QueryEscape(hostile),
		"/settings/edit?kind=test&domain=" + url.QueryEscape(hostile) + "&level=" + url.QueryEscape(hostile), "/settings?domain=" + url.QueryEscape(hostile),
		"/settings/file", "/settings/file?path=" + url.QueryEscape("test_definitions/"+hostile+".json"),
	} {
		status, page := r.ask(path, nil)
		if found := raw.FindString(page); found != "" || status >= 500 {
			t.Errorf("%s is answered with %d and has %q", path, status, found)
		}
		if !strings.Contains(page, "Content-Security-Policy: default-src 'none'") {
			t.Errorf("%s has no policy", path)
		}
	}
	_, page := r.ask("/settings/edit?kind=domain&id=math", nil)
	form := r.form(page, url.Values{"f.name": {"Changed"}, "action": {"save"}})
	form.Set(access.FormField, "forged")
	if status, _ := r.ask("/settings/edit", form); status != 403 || strings.Contains(r.file("test_definitions/math/domain.json"), "Changed") {
		t.Errorf("a form with a forged token: %d, want 403 and no change", status)
	}
}

// TestErrorsEndOnce: the page of an error ends its sentence with one sign.
func TestErrorsEndOnce(t *testing.T) {
	for text, want := range map[string]string{
		"the folder is missing": "The folder is missing.</p>", "the folder is missing; is it another one?": "is it another one?</p>", "it is away (try again).": "(try again).</p>",
	} {
		mux := http.NewServeMux()
		New(Config{
			Open: func(context.Context) (fs.FS, func() error, error) { return nil, nil, Away(text) },
		}).Pages(mux, dashboard.New(dashboard.Config{}).Frame)
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/settings", nil))
		if body := answer.Body.String(); !strings.Contains(body, want) {
			t.Errorf("the page of %q has no %q:\n%s", text, want, body)
		}
	}
}
