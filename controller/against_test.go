package controller_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// forgetful answers nothing right that has to be calculated.
type forgetful struct{ calculator }

func (f *forgetful) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	reply, err := f.calculator.Respond(ctx, req)
	if reply.Messages[0].Content != "Hello, hi!" {
		reply.Messages[0].Content = "7"
	}
	return reply, err
}

// models has three targets of different models.
func models() *config.Config {
	c := settings()
	for _, name := range []string{"sure", "unsure"} {
		c.Targets[name] = config.Target{Name: name, Provider: config.OpenAI, Kind: config.Model, Model: name}
	}
	return c
}

// withOther judges head against base, by both targets.
func (b fixture) withOther(t *testing.T, base, head fstest.MapFS, changed []string, other *forgetful, targets ...string) *report.Report {
	t.Helper()
	req := controller.Request{
		Head: controller.Checkout{Commit: controller.Worktree, FS: head, Config: models()}, Targets: targets,
		ConfigFile: "gavel.yaml", Ledger: b.store, HeadTrust: operator, BaseTrust: operator,
	}
	if base != nil {
		req.Base = &controller.Checkout{Commit: "4b07d1a4b07d1a4b07d1a4b07d1a4b07d1a4b07d", FS: base, Config: models()}
		delete(req.Base.Config.Targets, "unsure")
		req.Changed = func(context.Context, []string) ([]string, error) { return changed, nil }
	}
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Execute(t.Context(), controller.Opener(func(c config.Target, _ controller.Checkout) (target.Target, error) {
		switch c.Name {
		case "sure":
			return b.calculator, nil
		case "unsure":
			return other, nil
		}
		return nil, fmt.Errorf("%s was not asked for", c.Name)
	}), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func lines(r *report.Report) []string {
	var out []string
	for _, row := range r.Cases {
		verdict, class := "none", ""
		if row.Verdict != nil {
			verdict = string(*row.Verdict)
		}
		if row.Class != nil {
			class = " " + string(*row.Class)
		}
		out = append(out, fmt.Sprintf("%s %s %s %s%s", row.Key, row.Target, row.Action, verdict, class))
	}
	return out
}

// TestSeveralTargets holds that every case is judged by every target, that no verdict
// of one counts for another, and that a known verdict is not paid again.
func TestSeveralTargets(t *testing.T) {
	b, other := newFixture(t), &forgetful{}
	want := []string{
		"math/level_1/sum sure run pass", "math/level_1/sum unsure run fail",
		"math/level_2/product sure run pass", "math/level_2/product unsure run fail",
		"talk/level_1/forbidden sure run pass", "talk/level_1/forbidden unsure run pass",
		"talk/level_1/hello sure run pass", "talk/level_1/hello unsure run pass",
	}
	if diff := cmp.Diff(want, lines(b.withOther(t, nil, files(), nil, other, "sure", "unsure"))); diff != "" {
		t.Error(diff)
	}
	if b.calls.Load() != 4 || other.calls.Load() != 4 {
		t.Errorf("%d and %d calls, want 4 of each", b.calls.Load(), other.calls.Load())
	}
	alone := b.withOther(t, nil, files(), nil, other, "unsure")
	if alone.Summary.Reused != 4 || alone.Summary.Fail != 2 || other.calls.Load() != 4 {
		t.Errorf("one of the targets alone: %v", lines(alone))
	}
}

// TestSeveralTargetsAgainstBase holds that a target is compared with itself,
// and that one that base does not have has nothing to be compared with.
func TestSeveralTargetsAgainstBase(t *testing.T) {
	b := newFixture(t)
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json":   `{"id": "sum", "name": "Sum", "prompt": "1 + 2?", "expected": {"answer": 2}}`,
		"test_definitions/talk/level_1/hello.json": "",
	})
	want := []string{
		"math/level_1/sum sure run fail regression", "math/level_1/sum unsure run fail new",
		"math/level_2/product sure reuse none", "math/level_2/product unsure run fail new",
		"talk/level_1/forbidden sure reuse none", "talk/level_1/forbidden unsure run pass new",
		"talk/level_1/hello sure removed none removed",
	}
	if diff := cmp.Diff(want, lines(b.withOther(t, files(), head, changed, &forgetful{}, "sure", "unsure"))); diff != "" {
		t.Error(diff)
	}
}
