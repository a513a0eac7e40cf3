package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/report"
)

// grow adds commits to main, each of which changes a file of 2 KiB that does not compress.
func grow(t *testing.T, dir string, commits int) {
	t.Helper()
	tip := gittest.Run(t, dir, "rev-parse", "main")
	random := rand.New(rand.NewPCG(1, 2))
	var in bytes.Buffer
	for i := range commits {
		text := make([]byte, 0, 2<<10)
		for len(text) < cap(text) {
			text = fmt.Appendf(text, "%016x", random.Uint64())
		}
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 1\nc\n", 1_700_000_000+i)
		if i == 0 {
			fmt.Fprintf(&in, "from %s\n", tip)
		}
		fmt.Fprintf(&in, "M 100644 inline notes.txt\ndata %d\n%s\n", len(text), text)
	}
	cmd := exec.CommandContext(t.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// metered serves a repository by git itself, and counts the bytes of its answers. Where
// histories are off, a fetch with one fails.
func metered(t *testing.T, dir string, histories bool, sent *atomic.Int64) string {
	t.Helper()
	at, err := url.Parse(gittest.Backend(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: at.Scheme, Host: at.Host})
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Body = &meter{r.Body, sent}
		return nil
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !histories {
			request, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Contains(request, []byte("deepen 2\n")) {
				http.Error(w, "no history now", http.StatusServiceUnavailable)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(request))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + at.Path
}

// A meter counts the bytes that are read.
type meter struct {
	io.ReadCloser
	read *atomic.Int64
}

// Read counts.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.read.Add(int64(n))
	return n, err
}

// longHistory returns a job about a pull request that changes one case, in a repository
// with a thousand commits, and the commit that it forked from.
func longHistory(t *testing.T) (j *job, fork string) {
	t.Helper()
	const folder = "test_definitions/shop/level_1/"
	keyword := func(word string) string {
		return fmt.Sprintf(`{"id": "one", "name": "One", "prompt": "say hello", "expected": {"keywords": [%q]}}`, word)
	}
	j = newOrigin(t, map[string]string{
		"gavel.yaml":                        "version: 1\ntargets: {bot: {provider: mock, replies: [{echo: true}]}}\n",
		"test_definitions/shop/domain.json": `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
		folder + "one.json":                 keyword("hello"),
		folder + "two.json":                 `{"id": "two", "name": "Two", "prompt": "say two", "expected": {"keywords": ["two"]}}`,
	}, map[string]string{"README.md": "replaced below"})
	grow(t, j.folder, 1000)
	j.git(t, "checkout", "-q", "-B", "topic", "main")
	fork = j.git(t, "rev-parse", "main")
	j.head = gittest.Commit(t, j.folder, map[string]string{folder + "one.json": keyword("bye")})
	j.git(t, "update-ref", "refs/pull/1/head", j.head)
	grow(t, j.folder, 1)
	j.base = j.git(t, "rev-parse", "main")
	j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: j.head, BaseSHA: j.base, HeadRef: "topic"})
	j.git(t, "config", "uploadpack.allowReachableSHA1InWant", "true")
	return j, fork
}

// TestAJobFetchesBothSides: a job with a shallow checkout of a pull request fetches the two
// commits that it compares, and the history only where the forge does not report their
// merge base. Both give the same report.
func TestAJobFetchesBothSides(t *testing.T) {
	t.Parallel()
	j, fork := longHistory(t)
	judge := func(known bool) (sent int64, text string) {
		t.Helper()
		if known {
			j.forge.Compares(j.base, j.head, fork)
		}
		var bytes atomic.Int64
		j.checkout = filepath.Join(t.TempDir(), "checkout")
		j.git(t, "clone", "-q", "--depth", "1", "--branch", "topic", "file://"+j.folder, j.checkout)
		gittest.Run(t, j.checkout, "remote", "set-url", "origin", metered(t, j.folder, !known, &bytes))
		stdout, stderr, code := j.run(t, "--json")
		if code != exitGate {
			t.Fatalf("it ends with %d:\n%s%s", code, stdout, stderr)
		}
		var r report.Report
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		if r.Base == nil || *r.Base != fork {
			t.Errorf("base is %v, want %s", r.Base, fork)
		}
		return bytes.Load(), j.states()["gavel/verdict"]
	}
	fetchesLittle(t, judge)
}

// fetchesLittle holds that a judge gives the same verdict with the merge base of the forge as
// with the history, for a fortieth of the bytes.
func fetchesLittle(t *testing.T, judge func(known bool) (sent int64, text string)) {
	t.Helper()
	all, want := judge(false)
	few, got := judge(true)
	if got != want || !strings.HasPrefix(got, "failure: 1 regression") {
		t.Errorf("the status is %q, with the history %q", got, want)
	}
	if few > all/40 {
		t.Errorf("both sides take %d bytes, and the history %d", few, all)
	}
}

// TestAServerFetchesBothSides: at its first look at a repository a server fetches as little as
// a job, also for its branch, and decides the same.
func TestAServerFetchesBothSides(t *testing.T) {
	t.Parallel()
	judge := func(known bool) (sent int64, text string) {
		t.Helper()
		j, fork := longHistory(t)
		if known {
			j.forge.Compares(j.base, j.head, fork)
		}
		file := operatorsFile(t, j, "")
		var bytes atomic.Int64
		j.forge.CloneURL = metered(t, j.folder, true, &bytes)
		_, log, end := j.serving(t, file)
		for left := map[string]bool{`"repo":"octo/demo#1","duration"`: true, `"branch":"main","repo":"octo/demo","duration"`: true}; len(left) > 0; {
			line := log.await(t, "")
			for want := range left {
				if strings.Contains(line, want) {
					delete(left, want)
				}
			}
		}
		if code := end(); code != exitPass {
			t.Errorf("the server ends with %d", code)
		}
		text = j.states()["gavel/verdict"]
		for _, s := range j.forge.Statuses(j.base) {
			text += fmt.Sprintf("\nmain: %s: %s: %s", s.Context, s.State, s.Description)
		}
		if !strings.Contains(text, "main: gavel/verdict: ") {
			t.Errorf("the branch has no verdict: %s", text)
		}
		return bytes.Load(), text
	}
	fetchesLittle(t, judge)
}

// TestAHeadThatGitDoesNotHaveYet: the forge knows a push some seconds before its git server
// does. A job waits for it, as for a forge that does not answer.
func TestAHeadThatGitDoesNotHaveYet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		comes bool
		want  string
	}{
		{"it comes", true, "success: "},
		{"it never comes", false, "error: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newOrigin(t, map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: mock, replies: [{echo: true}]}}\n",
				"test_definitions/shop/domain.json":      `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
				"test_definitions/shop/level_1/one.json": `{"id": "one", "name": "One", "prompt": "say hello", "expected": {"keywords": ["hello"]}}`,
			}, map[string]string{"README.md": "x"})
			j.checkout = filepath.Join(t.TempDir(), "checkout")
			clone, late := t.TempDir(), j.head
			gittest.Run(t, clone, "clone", "-q", "--bare", j.folder, ".")
			gittest.Run(t, clone, "update-ref", "refs/pull/1/head", j.base)
			gittest.Run(t, clone, "update-ref", "-d", "refs/heads/topic")
			gittest.Run(t, clone, "gc", "-q", "--prune=now")
			gittest.Run(t, clone, "clone", "-q", "--branch", "main", "file://"+clone, j.checkout)
			gittest.Run(t, j.checkout, "remote", "set-url", "origin", lateServer(t, clone, func(n int) {
				if n == 5 && tt.comes {
					gittest.Run(t, clone, "fetch", "-q", j.folder, "+refs/pull/1/head:refs/pull/1/head")
				}
			}))
			stdout, stderr, code := j.run(t)
			if got := j.states()["gavel/verdict"]; !strings.HasPrefix(got, tt.want) || (code == exitPass) != tt.comes {
				t.Errorf("it ends with %d and %q, want %q\n%s%s", code, got, tt.want, stdout, stderr)
			}
			if !strings.Contains(stderr, "the commit "+late[:12]+" is not at the git server yet") {
				t.Errorf("it does not say what it waits for: %s", stderr)
			}
		})
	}
}

// lateServer serves a repository, and calls seen before each request with its number.
func lateServer(t *testing.T, dir string, seen func(n int)) string {
	t.Helper()
	at, err := url.Parse(gittest.Backend(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: at.Scheme, Host: at.Host})
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(int(n.Add(1)))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + at.Path
}
