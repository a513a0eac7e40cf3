package controller_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/schema/golden"
)

// TestDigestsOfTheExamples holds the digests E, J and D of every case of the examples, so
// that moving code changes none. A change that raises a version on purpose rewrites the
// lines of the cases that it names.
func TestDigestsOfTheExamples(t *testing.T) {
	var list strings.Builder
	list.WriteString("# The first 16 digits of the digests E, J and D of every case of the examples.\n")
	for _, name := range []string{"agentv", "domain", "evalcase", "evaluators", "matrix", "promptval", "skills", "testcase"} {
		writeDigests(t, &list, name, filepath.Join("../examples", name))
	}
	base, change, err := examples.Mixed()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, base)
	writeDigests(t, &list, "mixed/main", dir)
	put(t, dir, change)
	writeDigests(t, &list, "mixed/pull", dir)
	golden.Compare(t, "testdata/digests.txt", list.String())
}

// writeDigests writes a line for every case of a folder.
func writeDigests(t *testing.T, list *strings.Builder, name, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems := config.Parse("gavel.yaml", text)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", name, problems)
	}
	// The pull request of mixed has a file with an error, whose case has no digests.
	p, err := controller.Prepare(t.Context(), controller.Request{
		Head:       controller.Checkout{Commit: controller.Worktree, FS: os.DirFS(dir), Config: cfg, Dir: dir},
		ConfigFile: "gavel.yaml", Ledger: ledgertest.Open(t, ledger.Config{}), HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(p.Plan.Rows))
	for i, row := range p.Plan.Rows {
		d := row.HeadDigests
		lines[i] = fmt.Sprintf("%s %s@%s %.16s %.16s %.16s\n", name, row.Key, row.Target, d.E, d.J, d.D)
	}
	slices.Sort(lines)
	list.WriteString("\n" + strings.Join(lines, ""))
}

// put writes files into a folder, and removes those that are nil.
func put(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && data == nil {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
