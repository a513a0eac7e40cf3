package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema/golden"
)

// shopFolder makes a repository of the example of the domain dialect, with a
// pull request checked out that edits, breaks, adds, moves and removes cases.
func shopFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, shop(t).origin); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shopImages are a repository of the example and a clone of its main, kept in
// memory: nearly a hundred tests begin with a copy.
type shopImages struct{ origin, clone fs.FS }

var (
	shopOnce sync.Once
	shopMade shopImages
)

// shop makes the images when the first test asks for them.
func shop(t *testing.T) shopImages {
	t.Helper()
	shopOnce.Do(func() {
		origin, clone := makeShop(t), filepath.Join(t.TempDir(), "clone")
		_, err := git.PlainClone(clone, false, &git.CloneOptions{URL: origin, ReferenceName: plumbing.Main, SingleBranch: true})
		if err != nil {
			t.Fatal(err)
		}
		shopMade = shopImages{imageOf(t, origin), imageOf(t, clone)}
	})
	if shopMade.clone == nil {
		t.Fatal("the repository of the example was not made; the first test that asked for it says why")
	}
	return shopMade
}

func makeShop(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("../../examples/pull_requests/domain.txtar")
	if err != nil {
		t.Fatal(err)
	}
	change := map[string][]byte{}
	for _, f := range archive.Files {
		change[f.Name] = f.Data
		if len(f.Data) == 0 {
			change[f.Name] = nil
		}
	}
	dir := t.TempDir()
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	if err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{
		{Message: "shop assistant with its tests", Write: exampleFiles(t, "domain"), At: start},
		{Branch: "friendlier-support", Message: "friendlier support", Write: change, At: start.Add(24 * time.Hour)},
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// imageOf reads all of a folder.
func imageOf(t *testing.T, dir string) fs.FS {
	t.Helper()
	image := fstest.MapFS{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		image[name] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// cloneShop makes a clone of the main of a copy of the repository, in a folder
// that is not there.
func cloneShop(t *testing.T, origin, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, shop(t).clone); err != nil {
		t.Fatal(err)
	}
	repo, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	config, err := repo.Config()
	if err != nil {
		t.Fatal(err)
	}
	config.Remotes[git.DefaultRemoteName].URLs = []string{origin}
	if err := repo.SetConfig(config); err != nil {
		t.Fatal(err)
	}
}

// TestDomainExample runs the example of the domain dialect and the pull request
// to it against its recordings.
func TestDomainExample(t *testing.T) {
	dir := shopFolder(t)
	if golden.Update() {
		recordSides(t, "domain", side{mainOf(t, dir), "domain_main.yaml"}, side{shopFolder(t), "domain_pull.yaml"})
	}
	want := map[string]string{
		"conversation/level_1/test_greeting":          "pass 1.00 of 1 all 2 keywords were found",
		"conversation/level_1/test_thanks":            "pass 1.00 of 1 the keyword was found",
		"conversation/level_2/test_opening_hours":     "pass 1.00 of 1 all 2 keywords were found",
		"math/level_1/test_sum":                       `pass 1.00 of 1 the answer is "40"`,
		"math/level_2/test_discount":                  `fail 0.00 of 1 the answer is "520", expected "540"`,
		"math/level_2/test_ratio":                     `pass 1.00 of 1 the answer is "3"`,
		"sql/level_1/test_cheap_products":             "pass 1.00 of 1 all 4 checks of the statement hold",
		"support/level_1/test_order_number":           `pass 1.00 of 1 found "A-1042", expected "A-1042"`,
		"support/level_1/test_refund_window":          "pass 1.00 of 1 the keyword was found",
		"support/level_2/test_angry_customer":         "fail 0.50 of 1 Polite, but without an apology or a date.",
		"tool_calling/level_1/test_order_status":      "pass 1.00 of 1 1 of 1 expected tool calls were made",
		"tool_calling/level_2/test_order_then_notify": "pass 1.00 of 1 2 of 2 expected tool calls were made in order",
	}
	main := mainOf(t, dir)
	if diff := cmp.Diff(want, verdicts(runExample(t, main))); diff != "" {
		t.Errorf("main (-want +got):\n%s", diff)
	}
	delete(want, "conversation/level_1/test_thanks")
	delete(want, "math/level_1/test_sum")
	maps.Copy(want, map[string]string{
		// math/level_1/test_total is as it was when it was called test_sum.
		"math/level_2/test_discount":          `pass 1.00 of 1 the answer is "540"`,
		"math/level_2/test_ratio":             "the definition is invalid in test_definitions/math/level_2/test_ratio.json ",
		"sql/level_2/test_never_sold":         "pass 1.00 of 1 all 4 checks of the statement hold",
		"support/level_1/test_refund_window":  `fail 0.00 of 1 the reply contains the forbidden "60 days"; 0 of 1 keywords were found; missing: "30 days"`,
		"support/level_2/test_angry_customer": "pass 1.00 of 1 Apologises and names the day of the refund.",
	})
	if diff := cmp.Diff(want, judgedOnly(runExample(t, dir, "--base", "main", "--all"))); diff != "" {
		t.Errorf("the pull request (-want +got):\n%s", diff)
	}
}

// TestDomainMessages holds the exact messages that the target, the extractor and
// the judge are sent. The delimiters, which nobody can guess, are shown as ␀.
func TestDomainMessages(t *testing.T) {
	dir := mainOf(t, shopFolder(t))
	runExample(t, dir)
	golden.Compare(t, "testdata/domain_messages.txt", messages(t, dir,
		"tool_calling/level_2/test_order_then_notify", "math/level_2/test_discount", "support/level_2/test_angry_customer"))
}

// judgedOnly are the verdicts of a report without removed cases.
func judgedOnly(report report.Report) map[string]string {
	out := verdicts(report)
	maps.DeleteFunc(out, func(_, verdict string) bool { return verdict == "" })
	return out
}

// TestOneReplyIsOneCase changes a byte of a recorded reply: what it answers is
// judged again and nothing else.
func TestOneReplyIsOneCase(t *testing.T) {
	dir := shopFolder(t)
	if _, stderr, code := gavel(t, dir, "run"); code != exitUsage {
		t.Fatalf("exit code %d, want %d for the invalid definition: %s", code, exitUsage, stderr)
	}
	stdout, _, _ := gavel(t, dir, "run")
	if !strings.Contains(stdout, "\n0 calls") {
		t.Errorf("the second run made calls:\n%s", stdout)
	}
	file := filepath.Join(dir, "recordings", "assistant.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(data, []byte(`is 540.\n540"`), []byte(`is 540.\n541"`), 1)
	if bytes.Equal(data, changed) {
		t.Fatal("the reply to change is not there")
	}
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	plan, _, _ := gavel(t, dir, "plan")
	if got := strings.Count(plan, "run      "); got != 1 || !strings.Contains(plan, "math/level_2/test_discount") {
		t.Errorf("a changed reply reruns %d cases:\n%s", got, plan)
	}
}
