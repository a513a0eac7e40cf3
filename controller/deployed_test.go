package controller_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// A desk is a repository whose bot is built from a prompt, with the bot's questions.
type desk struct {
	fixture
	// base and head are the configurations of the sides.
	base, head *config.Config

	mu    sync.Mutex
	asked []string // sides; guarded by mu
}

const deskCommit = "4b07d1a4b07d1a4b07d1a4b07d1a4b07d1a4b07d"

// deskOf is a desk with targets.
func deskOf(t *testing.T, targets ...config.Target) *desk {
	t.Helper()
	cfg := settings()
	for _, one := range targets {
		cfg.Targets[one.Name] = one
	}
	return &desk{fixture: newFixture(t), base: cfg, head: cfg}
}

// judge compares a change with base; known says whether base was judged before.
func (d *desk) judge(t *testing.T, known bool, change map[string]string) *report.Report {
	t.Helper()
	base := files()
	base["prompts/system.md"] = &fstest.MapFile{Data: []byte("Be kind.")}
	head, changed := clone(base, change)
	if known {
		d.execute(t, controller.Request{Head: controller.Checkout{Commit: controller.Worktree, FS: base, Config: d.base}})
		d.asked = nil
	}
	return d.execute(t, controller.Request{
		Head:    controller.Checkout{Commit: controller.Worktree, FS: head, Config: d.head},
		Base:    &controller.Checkout{Commit: deskCommit, FS: base, Config: d.base},
		Changed: func(context.Context, []string) ([]string, error) { return changed, nil },
	})
}

func (d *desk) execute(t *testing.T, req controller.Request) *report.Report {
	t.Helper()
	req.ConfigFile, req.Ledger, req.HeadTrust, req.BaseTrust, req.LookupEnv = "gavel.yaml", d.store, operator, operator, nowhere
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Execute(t.Context(), controller.Opener(func(of config.Target, c controller.Checkout) (target.Target, error) {
		return deskTarget{d, of, c}, nil
	}), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asks counts how often a side was asked.
func (d *desk) asks(side string) int {
	n := 0
	for _, s := range d.asked {
		if s == side {
			n++
		}
	}
	return n
}

// A deskTarget notes which side it is asked for. It answers wrongly once its prompt is
// not kind.
type deskTarget struct {
	*desk
	of       config.Target
	checkout controller.Checkout
}

func (d deskTarget) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	side := "head"
	if d.checkout.Commit == deskCommit {
		side = "base"
	}
	d.mu.Lock()
	d.asked = append(d.asked, side)
	d.mu.Unlock()
	reply, err := d.calculator.Respond(ctx, req)
	if d.of.Revision != config.RevisionNone {
		reply.Revision = d.checkout.Commit
	}
	if text, _ := d.checkout.FS.Open("prompts/system.md"); text != nil {
		data := make([]byte, 100)
		n, _ := text.Read(data)
		if strings.Contains(string(data[:n]), "rude") {
			reply.Messages[0].Content = "Find out yourself."
		}
	}
	return reply, err
}

// TestWhoIsAskedForBase: an agent that is called over HTTP is asked for base only where
// each commit has an address of its own. Where it is not, the report says so, and what
// would help.
func TestWhoIsAskedForBase(t *testing.T) {
	edited := map[string]string{hello: `{"id": "hello", "name": "Hello", "prompt": "hello!", "expected": {"keywords": ["7"]}}`}
	for _, tt := range []struct {
		name  string
		of    config.Target
		asked bool
	}{
		{"a fixed address", config.Target{URL: "https://h", Revision: config.RevisionNone}, false},
		{"a fixed address of a known version", config.Target{URL: "https://h", Revision: config.RevisionReply}, false},
		{"an address per pull request", config.Target{URLTemplate: "https://{pr}.h", Revision: config.RevisionTemplate}, false},
		{"an address per commit of a pull request", config.Target{URLTemplate: "https://{sha}.{pr}.h", Revision: config.RevisionTemplate}, false},
		{"an address per commit", config.Target{URLTemplate: "https://{sha}.h", Revision: config.RevisionTemplate}, true},
	} {
		tt.of.Name, tt.of.Provider, tt.of.Kind = "bot", config.HTTP, config.Agent
		d := deskOf(t, tt.of)
		r := d.judge(t, false, edited)
		i := slices.IndexFunc(r.Cases, func(row report.Row) bool { return strings.HasSuffix(row.Key, "hello") })
		if asked := d.asks("base") > 0; asked != tt.asked {
			t.Errorf("%s: base is asked: %v, want %v", tt.name, asked, tt.asked)
		}
		const help = "target bot answers as it is deployed now, not as at base; judge base before the change is deployed, or give each commit its own address with url_template and {sha}"
		if said := r.Cases[i].BaseError; tt.asked != (said == "") || !tt.asked && !strings.HasSuffix(said, help) {
			t.Errorf("%s: base has no verdict because %q", tt.name, said)
		}
	}
}

// TestADeployedTargetThatIsRebuilt is not asked for base, in any role: the agent under
// test, or one behind the protocol of a model. Its stored verdict decides, and head's
// reruns. A model is its name, so it is asked.
func TestADeployedTargetThatIsRebuilt(t *testing.T) {
	rude := map[string]string{"prompts/system.md": "Be rude."}
	inputs := []string{"prompts/**"}
	for _, tt := range []struct {
		name  string
		of    config.Target
		asked bool
	}{
		{"http", config.Target{Provider: config.HTTP, Kind: config.Agent, URL: "https://h", Revision: config.RevisionNone, Inputs: inputs}, false},
		{"an agent as a model", config.Target{Provider: config.OpenAI, Kind: config.Agent, BaseURL: "https://h", Inputs: inputs}, false},
		{"a model", config.Target{Provider: config.OpenAI, Kind: config.Model, Inputs: inputs}, true},
		{"a program", config.Target{Provider: config.Command, Kind: config.Agent, Argv: []string{"sh"}, Inputs: inputs}, true},
	} {
		tt.of.Name = "bot"
		for _, known := range []bool{true, false} {
			d := deskOf(t, tt.of)
			r := d.judge(t, known, rude)
			if asked := d.asks("base") > 0; asked != tt.asked {
				t.Errorf("%s, known %v: base is asked: %v, want %v", tt.name, known, asked, tt.asked)
			}
			for _, row := range r.Cases {
				if row.Verdict == nil || *row.Verdict != "fail" {
					continue
				}
				want := report.Regression
				if !known && !tt.asked {
					want = report.Unclear
				}
				if *row.Class != want || known && row.Confirmation.BaseNotMeasured == tt.asked {
					t.Errorf("%s, known %v: %s is %s, %+v; want %s", tt.name, known, row.Key, *row.Class, row.Confirmation, want)
				}
			}
			want := report.GateFail
			if !known && !tt.asked {
				want = report.GateUndetermined
			}
			if r.Gate.Result != want {
				t.Errorf("%s, known %v: the gate is %+v, want %s", tt.name, known, r.Gate, want)
			}
		}
	}
}

// TestASoundLedgerIsNoNotice of a report, with the agent that reports no version as with a
// model.
func TestASoundLedgerIsNoNotice(t *testing.T) {
	d := deskOf(t)
	for _, n := range d.judge(t, false, map[string]string{hello: ""}).Notices {
		if n.Message == "" {
			t.Errorf("the report has the empty notice %+v", n)
		}
	}
	d = deskOf(t)
	r := d.execute(t, controller.Request{Head: controller.Checkout{Commit: controller.Worktree, FS: files(), Config: d.head}})
	if len(r.Notices) > 0 {
		t.Errorf("the report of a sound ledger has the notices %+v", r.Notices)
	}
}

// TestOneStoredAnswerIsAReason: an agent of unknown version that answered once, and whose
// answer nobody judged, is asked again for the reason that its version is unknown.
func TestOneStoredAnswerIsAReason(t *testing.T) {
	d := deskOf(t, config.Target{Name: "bot", Provider: config.HTTP, Kind: config.Agent, URL: "https://h", Revision: config.RevisionNone},
		config.Target{Name: "judge", Provider: config.OpenAI, Kind: config.Model, Model: "m"})
	d.head.Roles.Judge = "judge"
	state := controller.Checkout{Commit: controller.Worktree, Config: d.head, FS: fstest.MapFS{"test_definitions/shop.yaml": &fstest.MapFile{Data: []byte(`
evalcases:
  - id: window
    expected_outcome: It greets.
    input: hello
    rubrics: [{id: kind, description: It is kind., weight: 1, required: true}]
`)}}}
	down := func(of config.Target, c controller.Checkout) (target.Target, error) {
		if of.Name == "judge" {
			return &locked{}, nil
		}
		return deskTarget{d, of, c}, nil
	}
	req := controller.Request{
		Head: state, ConfigFile: "gavel.yaml", Ledger: d.store, HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
		Now: func() time.Time { return time.Now().Add(time.Duration(len(d.asked)) * time.Hour) },
	}
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Execute(t.Context(), controller.Opener(down), controller.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(d.asked) != 1 {
		t.Fatalf("the agent was asked %d times, want once", len(d.asked))
	}
	if p, err = controller.Prepare(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if row := p.Plan.Rows[0]; len(row.Reasons) == 0 || row.Reasons[0].Part != "revision" {
		t.Errorf("the case is to %s because of %+v, want that the deployed version is unknown", row.Action, row.Reasons)
	}
}
