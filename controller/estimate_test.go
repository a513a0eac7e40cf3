package controller_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// TestEstimate holds what a plan is expected to take.
func TestEstimate(t *testing.T) {
	const def = "test_definitions/d/"
	files := map[string]string{
		def + "domain.json":         `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
		def + "level_1/one.json":    `{"id": "one", "name": "One", "prompt": "one", "expected": {"keywords": ["x"]}}`,
		def + "level_1/two.json":    `{"id": "two", "name": "Two", "prompt": "two", "expected": {"keywords": ["x"]}}`,
		def + "level_1/asleep.json": `{"id": "asleep", "name": "Asleep", "prompt": "z", "enabled": false, "expected": {"keywords": ["x"]}}`,
	}
	// A request of 3 characters is under a token; a reply counts as 300.
	const reply = 300 * 2.0 / 1e6
	for _, tt := range []struct {
		name          string
		target, extra string
		cases, calls  int
		usd           float64 // < 0: not known
	}{
		{"free", `{provider: mock, replies: [{reply: x}]}`, "", 2, 2, 0},
		{"priced", `{provider: openai, model: m, price: {input: 1, output: 2}}`, "", 2, 2, 2 * reply},
		{"unpriced", `{provider: openai, model: m}`, "", 2, 2, -1},
		{"three samples", `{provider: openai, model: m, price: {input: 1, output: 2}}`, "defaults: {iterations: 3}\n", 2, 6, 6 * reply},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := maps.Clone(files)
			head["gavel.yaml"] = "version: 1\ntargets: {bot: " + tt.target + "}\n" + tt.extra
			p, err := controller.Prepare(t.Context(), controller.Request{
				Head: stateOf(t, controller.Worktree, head), ConfigFile: "gavel.yaml",
				LookupEnv: nowhere,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Estimate()
			if got.Cases != tt.cases || got.Calls != tt.calls {
				t.Errorf("%d cases in %d calls, want %d in %d", got.Cases, got.Calls, tt.cases, tt.calls)
			}
			switch {
			case tt.usd < 0:
				if got.USD != nil {
					t.Errorf("costs %g, want unknown", *got.USD)
				}
			case got.USD == nil || *got.USD < tt.usd*0.999 || *got.USD > tt.usd*1.001:
				t.Errorf("costs %v, want %g", got.USD, tt.usd)
			}
			again := p.Rerun(func(key string) bool { return strings.HasSuffix(key, "/two") || strings.HasSuffix(key, "/asleep") })
			if e := again.Estimate(); e.Cases != 1 || len(again.Plan.Rows) != 1 || len(p.Plan.Rows) != 3 {
				t.Errorf("again: %d cases, %d rows of %d", e.Cases, len(again.Plan.Rows), len(p.Plan.Rows))
			}
		})
	}
}

// TestEstimateOfExamples holds that judges, simulated users, comparisons and further
// attempts are counted: the comment after each row has the real number of the example.
// A brief plan estimates the same from memory, and reads no definition for it.
func TestEstimateOfExamples(t *testing.T) {
	for _, tt := range []struct {
		name string
		want report.Estimate
	}{
		{"domain", report.Estimate{Calls: 17}},                   // 17
		{"evalcase", report.Estimate{Calls: 16}},                 // 17, one for a tool
		{"promptval", report.Estimate{Calls: 38, RetryCalls: 7}}, // 41, 3 of them to run a failure again; an editor may propose once more
		{"testcase", report.Estimate{Calls: 51}},                 // 30: conversations are shorter than 5 replies
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := controller.Request{
				Head: stateOf(t, controller.Worktree, exampleFiles(t, tt.name)), ConfigFile: "gavel.yaml",
				LookupEnv: nowhere,
			}
			loaded, err := controller.Prepare(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			free := 0.
			tt.want.USD = &free
			if diff := cmp.Diff(tt.want, loaded.Estimate().Estimate); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			read := &countedFS{FS: req.Head.FS}
			req.Head.FS, req.Brief = read, true
			req.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
				defer read.opened.Store(0)
				return load.Scan(ctx, read, load.Options{Settings: req.Head.Config.Settings(), Note: notes.Take})
			}
			brief, err := controller.Prepare(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if n := read.opened.Load(); n > 0 {
				t.Errorf("a brief plan opens %d definitions again, want none", n)
			}
			if diff := cmp.Diff(loaded.Estimate(), brief.Estimate()); diff != "" {
				t.Errorf("estimate (-loaded +brief):\n%s", diff)
			}
			if diff := cmp.Diff(loaded.Requirements(), brief.Requirements()); diff != "" {
				t.Errorf("requirements (-loaded +brief):\n%s", diff)
			}
			for i, row := range brief.Plan.Rows {
				if want := loaded.Plan.Rows[i]; row.HeadCase != nil || row.Key != want.Key || row.Action != want.Action || !cmp.Equal(row.Reasons, want.Reasons) {
					t.Errorf("the brief row is %s %s %v, want %s %s %v without its case", row.Key, row.Action, row.Reasons, want.Key, want.Action, want.Reasons)
				}
			}
		})
	}
}

// exampleFiles reads an example.
func exampleFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS("../examples/" + name)
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, path)
		files[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A countedFS counts how many definitions are opened.
type countedFS struct {
	fs.FS
	opened atomic.Int64
}

func (c *countedFS) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, "test_definitions/") {
		c.opened.Add(1)
	}
	return c.FS.Open(name)
}

// TestEstimateOfMeasuringAgain holds what telling regressions from noise may take at
// most and what it usually takes: nothing where nothing is left to chance.
func TestEstimateOfMeasuringAgain(t *testing.T) {
	const def = "test_definitions/d/"
	bot := `{provider: openai, model: m, price: {input: 1, output: 2}}`
	checkout := func(bot, extra, word string, cases int) map[string]string {
		files := map[string]string{
			"gavel.yaml":        "version: 1\ntargets: {bot: " + bot + "}\n" + extra,
			def + "domain.json": `{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "` + word + `"}`,
		}
		for i := range cases {
			files[fmt.Sprintf(def+"level_1/c%d.json", i)] = fmt.Sprintf(`{"id": "c%d", "name": "C", "prompt": "p", "expected": {"keywords": ["x"]}}`, i)
		}
		return files
	}
	for _, tt := range []struct {
		name        string
		bot, extra  string
		base, head  int
		stored      bool
		usual, most int // most -1: no message
	}{
		{"fresh base", bot, "", 2, 2, false, 1, 2 * 26},
		{"stored base", bot, "", 6, 6, true, 1, 6 * 57},
		{"fewer samples", bot, "noise: {samples: 4}\n", 2, 2, false, 1, 2 * 10},
		{"two iterations", bot, "defaults: {iterations: 2}\n", 2, 2, false, 2, 2 * 2 * 26},
		{"a new case", bot, "", 1, 2, false, 1, 26 + 3},
		{"a new case runs", bot, "noise: {new: {runs: 5, pass: 4}}\n", 1, 2, false, 1, 26 + 5},
		// Two rounds at head, or on both sides. Two cases never prove such a limit by one
		// measurement, so the rounds are usual; nothing is below 0.
		{"min_score", bot, "gate: {min_score: 0.9}\n", 2, 2, false, 1 + 2*2, 2 * (26 + 2)},
		{"max_drop", bot, "gate: {max_drop: 0.1}\n", 2, 2, false, 1 + 2*4, 2 * (26 + 4)},
		{"both", bot, "gate: {min_score: 0.9, max_drop: 0.1}\n", 2, 2, false, 1 + 2*4, 2 * (26 + 4)},
		{"min_score of 0", bot, "gate: {min_score: 0}\n", 2, 2, false, 1, 2 * (26 + 2)},
		{"max_drop with a stored base", bot, "gate: {max_drop: 0.1}\n", 6, 6, true, 1 + 6*4, 6 * 57},
		{"min_score that nothing asks", bot, "gate: {min_score: 0.9, fail_on: never}\n", 2, 2, false, 1, 2 * 26},
		{"off", bot, "noise: {confirm: off}\n", 2, 2, false, 0, -1},
		{"deterministic", `{provider: mock, replies: [{reply: x}]}`, "", 2, 2, false, 0, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := ledgertest.Open(t, ledger.Config{})
			base := stateOf(t, strings.Repeat("b", 40), checkout(tt.bot, tt.extra, "base", tt.base))
			req := controller.Request{
				Head: base, ConfigFile: "gavel.yaml", LookupEnv: nowhere, Ledger: store, HeadTrust: operator, BaseTrust: operator,
			}
			if tt.stored {
				p, err := controller.Prepare(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				says := controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return sayer("x"), nil })
				if _, err := p.Execute(t.Context(), says, controller.RunOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			req.Base, req.Head = &base, stateOf(t, controller.Worktree, checkout(tt.bot, tt.extra, "head", tt.head))
			req.Changed = func(context.Context, []string) ([]string, error) { return []string{def + "domain.json"}, nil }
			for _, brief := range []bool{false, true} {
				req.Brief = brief
				p, err := controller.Prepare(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				again := p.Estimate().Again
				if tt.most < 0 {
					if again != nil {
						t.Errorf("brief %v: %+v, want nothing", brief, *again)
					}
					continue
				}
				if again == nil || again.UsualCalls != tt.usual || again.MostCalls != tt.most {
					t.Fatalf("brief %v: %+v, want %d and at most %d", brief, again, tt.usual, tt.most)
				}
				if again.UsualUSD == nil || again.MostUSD == nil || *again.UsualUSD <= 0 || *again.MostUSD <= *again.UsualUSD {
					t.Errorf("brief %v: usually $%v, at most $%v", brief, again.UsualUSD, again.MostUSD)
				}
			}
		})
	}
}

// A sayer always gives the same reply.
type sayer string

func (s sayer) Respond(context.Context, target.Request) (target.Reply, error) {
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: string(s)}}, Model: "m-1"}, nil
}
