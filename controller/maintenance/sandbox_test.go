package maintenance_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/plan"
)

// TestNeededWithAnotherSandbox holds that the verdicts of runs without a sandbox are needed by
// a process that has one, and the other way round, in each state. Cases without programs have
// one kind of verdicts.
func TestNeededWithAnotherSandbox(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		differ       bool
	}{
		{"a program", "{provider: command, argv: [sh, agent.sh], inputs: [agent.sh]}", true},
		{"a mock", "{provider: mock, replies: [{reply: hello}]}", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := files("hello")
			tree["gavel.yaml"], tree["agent.sh"] = []byte("version: 1\ntargets: {bot: "+tt.target+"}\n"), []byte("echo hello\n")
			dir := t.TempDir()
			if err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{{Branch: "main", Message: "main", Write: tree}}); err != nil {
				t.Fatal(err)
			}
			repo, err := gitrepo.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer repo.Close()
			commit, err := repo.Resolve(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			path, unset := filepath.Join(t.TempDir(), "ledger.db"), func(string) (string, bool) { return "", false }
			digests := map[bool]string{}
			needed := map[bool][]plan.Digests{}
			for _, unconfined := range []bool{false, true} {
				store, err := ledger.Open(t.Context(), ledger.Config{Path: path, Unconfined: unconfined})
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				head := state(t, repo, commit)
				prepared, err := controller.Prepare(t.Context(), controller.Request{Head: head, Ledger: store, ConfigFile: "gavel.yaml", LookupEnv: unset, HeadTrust: ledger.Trust{Level: ledger.LevelOperator}})
				if err != nil {
					t.Fatal(err)
				}
				digests[unconfined] = prepared.Plan.Rows[0].HeadDigests.D
				roots := maintenance.Roots{Head: head, Repo: repo, Ledger: store, ConfigFile: "gavel.yaml", LookupEnv: unset}
				if needed[unconfined], err = roots.LiveDigests(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if (digests[true] != digests[false]) != tt.differ {
				t.Errorf("with and without a sandbox the digests are %v", digests)
			}
			for _, mine := range []bool{false, true} {
				for other, d := range digests {
					if !slices.ContainsFunc(needed[mine], func(n plan.Digests) bool { return n.D == d }) {
						t.Errorf("unconfined %v: the verdict of a run with unconfined %v is not needed", mine, other)
					}
				}
			}
		})
	}
}
