package controller_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// built prepares what an agent that is built from files has to do when they
// change.
func (b fixture) built(t *testing.T, agent config.Target, change map[string]string) *controller.Prepared {
	t.Helper()
	cfg := settings()
	agent.Name, agent.Kind, agent.Inputs = "bot", config.Agent, []string{"agent/**"}
	cfg.Targets = map[string]config.Target{"bot": agent}
	base := files()
	base["agent/main.py"] = &fstest.MapFile{Data: []byte("1")}
	head, changed := clone(base, change)
	p, err := controller.Prepare(t.Context(), controller.Request{
		Head:       controller.Checkout{Commit: controller.Worktree, FS: head, Config: cfg},
		Base:       &controller.Checkout{Commit: strings.Repeat("4b07d1a4", 5), FS: base, Config: cfg},
		ConfigFile: "gavel.yaml", Ledger: b.store,
		HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
		LookupEnv: nowhere,
		Changed:   func(context.Context, []string) ([]string, error) { return changed, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const hello = "test_definitions/talk/level_1/hello.json"

// TestStarts tells which change is one of a program.
func TestStarts(t *testing.T) {
	said := `{"id": "hello", "name": "Hello", "prompt": "hello!", "expected": {"keywords": ["hello"]}}`
	for _, tt := range []struct {
		name   string
		target config.Target
		change map[string]string
		starts int // cases that start a program
		file   string
	}{
		{"an input", config.Target{Provider: config.Command}, map[string]string{"agent/main.py": "2"}, 4, "agent/main.py"},
		{"an input that is gone", config.Target{Provider: config.Command}, map[string]string{"agent/main.py": ""}, 4, "agent/main.py"},
		{"a definition", config.Target{Provider: config.Command}, map[string]string{hello: said}, 1, hello},
		{"a prompt", config.Target{Provider: config.Command}, map[string]string{
			"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Talk."}`,
		}, 2, ""},
		{"no program", config.Target{Provider: config.HTTP, URL: "https://h"}, map[string]string{"agent/main.py": "2"}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newFixture(t).built(t, tt.target, tt.change)
			changed, err := p.Changed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			count, file := 0, ""
			for _, row := range p.Plan.Rows {
				start, starts := p.Starts(row)
				if !starts {
					continue
				}
				count++
				file, _ = start.Changed(changed)
			}
			if count != tt.starts || file != tt.file {
				t.Errorf("%d cases start programs and %q is changed, want %d and %q", count, file, tt.starts, tt.file)
			}
		})
	}
}

// TestWithheldCasesAreNotRun keeps them out of both sides and says why.
func TestWithheldCasesAreNotRun(t *testing.T) {
	b := newFixture(t)
	p := b.built(t, config.Target{Provider: config.Mock}, map[string]string{"agent/main.py": "2"})
	rep, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return b.calculator, nil }), controller.RunOptions{
		Withhold: func(r plan.Row) string {
			if strings.HasPrefix(r.Key, "talk/") {
				return "it talks"
			}
			return ""
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.calls.Load() != 4 || rep.Summary.Pass != 2 || rep.Gate.Result != report.GateUndetermined {
		t.Errorf("%d calls, summary %+v, gate %+v", b.calls.Load(), rep.Summary, rep.Gate)
	}
	for _, c := range rep.Cases {
		if strings.HasPrefix(c.Key, "talk/") && (c.Error == nil || *c.Error != "it talks" || c.Verdict != nil) {
			t.Errorf("%s: verdict %v, error %v", c.Key, c.Verdict, c.Error)
		}
	}
}

// TestDeployedAgents are warned of where nobody knows what they run.
func TestDeployedAgents(t *testing.T) {
	const (
		unknown = "target bot has no revision: the deployed version is unknown"
		repair  = "; set `revision: reply` at the target once its replies name one"
	)
	for _, tt := range []struct {
		name     string
		revision string
		change   map[string]string
		want     []report.Notice
	}{
		{"built from a change", config.RevisionNone, map[string]string{"agent/main.py": "2"},
			[]report.Notice{{File: "gavel.yaml", Message: unknown + ", and may lack the change of agent/main.py" + repair}}},
		{"another change", config.RevisionNone, map[string]string{hello: `{"id": "hello", "name": "Hello", "prompt": "hello!", "expected": {"keywords": ["7"]}}`},
			[]report.Notice{{File: "gavel.yaml", Message: unknown + repair}}},
		{"it says", config.RevisionReply, map[string]string{"agent/main.py": "2"}, nil},
		{"not called", config.RevisionNone, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			p := b.built(t, config.Target{Provider: config.HTTP, URL: "https://h", Revision: tt.revision}, tt.change)
			rep, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return b.calculator, nil }), controller.RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []report.Notice
			for _, n := range rep.Notices {
				if strings.Contains(n.Message, "revision") {
					got = append(got, n)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
