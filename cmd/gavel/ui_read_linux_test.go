package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// serving serves the pages of a folder while do runs. Without watching, nobody knows
// whether files have changed.
func serving(tb testing.TB, dir string, isWatching bool, do func(base string)) {
	tb.Helper()
	a := &App{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir, ConfigFile: defaultConfig}
	err := a.WithRead(tb.Context(), func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
		runner := newUIRunner(ctx, a, w)
		defer runner.runs.Wait()
		read := readsOf(a, w)
		defer read.Close()
		if !isWatching {
			read.Close()
		}
		handler, err := Handler(a, w, store, runner, read)
		if err != nil {
			return err
		}
		server := httptest.NewServer(handler)
		defer server.Close()
		do(server.URL + "/")
		if _, known := read.Version(); known != isWatching {
			tb.Errorf("changes are known: %v, want %v", known, isWatching)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// changing is a repository whose files others change while its pages are open.
type changing struct {
	*uiVisitor
	dir string
}

// shell runs a command in a process of its own.
func (c *changing) shell(command string) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), "sh", "-ec", command)
	cmd.Dir = c.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// has holds that pages have a text, or do not have it.
func (c *changing) has(text string, want bool, pages ...string) {
	c.Helper()
	for _, page := range pages {
		if got, _ := c.get(page); strings.Contains(got, text) != want {
			c.Fatalf("%s contains %q: %v, want %v:\n%s", page, text, !want, want, got)
		}
	}
}

const (
	talkPage = "settings?domain=talk"
	testPage = "api/settings/tests?domain=talk"
)

// TestUIPagesAreNeverBehind changes files in other processes, and asks for the pages at
// once. They show the new state, whether the files are watched or not.
func TestUIPagesAreNeverBehind(t *testing.T) {
	for _, isWatching := range []bool{true, false} {
		t.Run(fmt.Sprintf("watching %v", isWatching), func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			dir := twoTests(t)
			gittest.Commit(t, dir, map[string]string{"notes.txt": "1\n"})
			gittest.Run(t, dir, "branch", "other")
			first := strings.TrimSpace(gittest.Run(t, dir, "branch", "--show-current"))
			serving(t, dir, isWatching, func(base string) {
				c := &changing{newUIVisitor(t, base), dir}
				c.edits()
				c.saves()
				c.moves()
				c.switches(first)
			})
		})
	}
}

// edits changes a file 200 times, in place and by another file that takes its place.
func (c *changing) edits() {
	c.Helper()
	for i := range 200 {
		text := fmt.Sprintf(`{"id": "hello", "name": "State %d.", "prompt": "Hi", "expected": {"keywords": ["hello"]}}`, i)
		to := helloFile
		if i%2 == 1 {
			to = "draft"
		}
		c.shell("printf '%s' '" + text + "' > " + to + "\nif test -e draft; then mv draft " + helloFile + "; fi")
		c.has(fmt.Sprintf("State %d.", i), true, []string{"tests", talkPage, testPage}[i%3])
	}
}

// saves changes a file by its form.
func (c *changing) saves() {
	c.Helper()
	for i := range 20 {
		c.save(helloFile, fmt.Sprintf(`{"id": "hello", "name": "Saved %d.", "prompt": "Hi", "expected": {"keywords": ["hello"]}}`, i))
		c.has(fmt.Sprintf("Saved %d.", i), true, "tests", talkPage, testPage)
	}
}

// moves renames, adds and removes files and folders, the configuration, and a file that a
// definition reads elsewhere.
func (c *changing) moves() {
	c.Helper()
	for _, step := range []struct {
		command, text string
		want          bool
		pages         []string
	}{
		{"mv test_definitions/talk/level_1/refuse.json test_definitions/talk/level_1/deny.json", "deny.json", true, []string{"settings/file"}},
		{"mkdir -p test_definitions/talk/level_2; sed 's/hello/later/; s/Saved [0-9]*/Later/' " + helloFile + " > test_definitions/talk/level_2/later.json", "Later.", true, []string{"tests", talkPage, testPage}},
		{"mv test_definitions/talk/level_2 level_2", "Later.", false, []string{"tests", talkPage, testPage}},
		{"mv level_2 test_definitions/talk/level_3", "Later.", true, []string{"tests", talkPage, testPage}},
		{"rm -r test_definitions/talk/level_3", "Later.", false, []string{"tests", talkPage, testPage}},
		{"mkdir -p test_definitions/talk/level_3/.git; echo > test_definitions/talk/level_3/.git/HEAD", "Later.", false, []string{"tests"}},
		{"printf 'prompts: [\"file://../texts/greeting.txt\"]\\nproviders: [bot]\\ntests: [{vars: {name: Ann}}]\\n' > test_definitions/matrix.yaml", "greeting.txt does not exist", true, []string{"tests?words=matrix"}},
		{"mkdir texts; echo 'Good morning' > texts/greeting.txt", "greeting.txt does not exist", false, []string{"tests?words=matrix"}},
		{"true", "matrix.yaml", true, []string{"tests?words=morning"}},
		{"echo 'Good evening' > texts/greeting.txt", "matrix.yaml", true, []string{"tests?words=evening"}},
		{"echo 'defaults: {rounds: 1}' >> gavel.yaml", "unknown field", true, []string{"", "settings"}},
		{"sed -i '/rounds/d' gavel.yaml", "unknown field", false, []string{"", "settings"}},
		{"echo 'matrix.yaml' > .gavelignore", "matrix.yaml", false, []string{"tests"}},
		{"rm .gavelignore test_definitions/matrix.yaml; rm -r test_definitions/talk/level_3", "matrix.yaml", false, []string{"tests"}},
	} {
		c.shell(step.command)
		c.has(step.text, step.want, step.pages...)
	}
}

// switches switches between two branches.
func (c *changing) switches(first string) {
	c.Helper()
	c.shell("git add -A; git -c user.name=a -c user.email=a@example.com commit -qm saved")
	c.has("Saved 19.", true, "tests", talkPage)
	for range 5 {
		c.shell("git checkout -q other")
		c.has("Saved 19.", false, "tests", talkPage, testPage)
		c.shell("git checkout -q " + first)
		c.has("Saved 19.", true, "tests", talkPage, testPage)
	}
}

// TestUIVerdictsOfChangedPrompts: a verdict is of an earlier state as soon as another
// process has changed what the case uses.
func TestUIVerdictsOfChangedPrompts(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := twoTests(t)
	gittest.Commit(t, dir, map[string]string{"notes.txt": "1\n"})
	if _, stderr, code := gavel(t, dir, "run"); code != ExitGate {
		t.Fatalf("gavel run ends with %d, want 1: %s", code, stderr)
	}
	serving(t, dir, true, func(base string) {
		c := &changing{newUIVisitor(t, base), dir}
		page := "tests?" + url.Values{"words": {"pass"}}.Encode()
		for i := range 5 {
			c.has("hello.json", true, page)
			c.has("hello.json", true, page)
			c.shell(fmt.Sprintf(`printf '{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "%d"}' > test_definitions/talk/domain.json`, i))
			c.has("hello.json", false, page)
			c.shell("git checkout -q test_definitions/talk/domain.json")
		}
		c.has("hello.json", true, page)
	})
}

// benchRepository is a repository with 10,000 judged cases.
func benchRepository(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	put("gavel.yaml", "version: 1\ndefault_target: bot\ntargets: {bot: {provider: mock, replies: [{reply: hello}]}}\n")
	for d := range 10 {
		put(fmt.Sprintf("test_definitions/d%d/domain.json", d), fmt.Sprintf(`{"id": "d%d", "name": "D", "evaluator_id": "keyword"}`, d))
	}
	for i := range 10_000 {
		put(fmt.Sprintf("test_definitions/d%d/level_%d/t%d.json", i%10, 1+i/10%10, i), fmt.Sprintf(`{"id": "t%d", "name": "Test %d", "prompt": "Say %d", "expected": {"keywords": ["hello"]}}`, i, i, i))
	}
	gittest.Init(b, dir, "main")
	gittest.Commit(b, dir, nil)
	a := &App{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir, ConfigFile: defaultConfig}
	if code := execute(b.Context(), a, []string{"run"}); code != ExitPass {
		b.Fatalf("gavel run ends with %d", code)
	}
	return dir
}

// BenchmarkUIPages asks for the pages of 10,000 cases: while nothing changes, and each
// time after a save.
func BenchmarkUIPages(b *testing.B) {
	dir := benchRepository(b)
	for _, isWatching := range []bool{true, false} {
		serving(b, dir, isWatching, func(base string) {
			get := func(page string) time.Duration {
				began := time.Now()
				res, err := http.Get(base + page)
				if err != nil {
					b.Fatal(err)
				}
				_, err = io.Copy(io.Discard, res.Body)
				if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(res.Status, err)
				}
				return time.Since(began)
			}
			for _, page := range []string{"settings/file", "settings", "tests", ""} {
				for _, isSaved := range []bool{false, true} {
					b.Run(fmt.Sprintf("watching=%v/page=%s/saved=%v", isWatching, strings.ReplaceAll("/"+page, "/", "|"), isSaved), func(b *testing.B) {
						get(page)
						time.Sleep(2500 * time.Millisecond) // a file that was just written is not remembered
						get(page)
						var took []time.Duration
						n := 0
						for b.Loop() {
							if n++; isSaved {
								if err := os.WriteFile(filepath.Join(dir, "test_definitions", "d0", "level_1", "t0.json"), fmt.Appendf(nil, `{"id": "t0", "name": "Test %d", "prompt": "Say", "expected": {"keywords": ["hello"]}}`, n), 0o600); err != nil {
									b.Fatal(err)
								}
							}
							took = append(took, get(page))
						}
						slices.Sort(took)
						b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
						b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
					})
				}
			}
		})
	}
}
