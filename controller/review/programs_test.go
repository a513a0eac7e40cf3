package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/target"
)

// written is a fixture whose pull request changes the program that writes the prompt of its
// only case. Somebody who may write opened and pushed it.
func written(t *testing.T) *fixture {
	program := func(words string) map[string][]byte {
		return map[string][]byte{"test_definitions/write.sh": []byte(words)}
	}
	base := program("say a")
	base["gavel.yaml"] = []byte("version: 1\ntargets: {bot: {provider: mock, replies: [{match: say a, reply: a!}, {match: .*, reply: b!}]}}\n")
	base["test_definitions/promptfooconfig.yaml"] = []byte(`prompts: ["exec:sh write.sh"]
providers: [bot]
tests: [{description: one, assert: [{type: contains, value: "a!"}]}]
`)
	d := newFixture(t, gitrepo.NewCommit{Write: base}, gitrepo.NewCommit{Branch: "topic", Write: program("say b")})
	d.pull(1)
	d.forge.Push("topic", d.head, "maintainer")
	return d
}

// A readingHost has programs that print their script.
type readingHost struct{ controller.Opener }

func (readingHost) Programs(c controller.Checkout) evaluate.Programs {
	return func(context.Context, evaluate.Start) ([]byte, error) {
		return fs.ReadFile(c.FS, "test_definitions/write.sh")
	}
}

// TestProgramsOfAHeadWhoseVerdictIsStored are head's own, as they were before: stored
// results never decide which files the programs see, neither for a process that resumes
// the comparison nor for a worker that joins it late.
func TestProgramsOfAHeadWhoseVerdictIsStored(t *testing.T) {
	d := written(t)
	var own []bool
	var subject review.Subject
	d.cfg.Execute = func(ctx context.Context, p *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
		d.runs++
		o.ID, own, subject = fmt.Sprint("run-", d.runs), append(own, p.Head().Programs == nil), subjectOf(t, o)
		return p.Execute(ctx, readingHost{func(t config.Target, c controller.Checkout) (target.Target, error) {
			return target.New(t, target.Env{Files: c.FS})
		}}, o)
	}
	for range 2 {
		r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
		if err != nil {
			t.Fatal(err)
		}
		rep, _, err := r.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rep.Gate.Result != report.GateFail || !strings.Contains(rep.Gate.Reason, "1 case regressed") {
			t.Errorf("the gate is %+v, want 1 case regressed", rep.Gate)
		}
		if rep.Branch != "topic" || rep.Subject != "change 1" {
			t.Errorf("the report is about %q on %q, want change 1 on topic", rep.Subject, rep.Branch)
		}
	}
	p, end, err := review.Plan(t.Context(), d.cfg, subject)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	if head := p.Head(); head.Branch != "topic" || head.Subject != "change 1" {
		t.Errorf("a worker plans %q on %q, want change 1 on topic", head.Subject, head.Branch)
	}
	if own = append(own, p.Head().Programs == nil); !own[0] || !own[1] || !own[2] {
		t.Errorf("programs of head see its own files first %v, then %v, and for a worker %v, want true each time", own[0], own[1], own[2])
	}
}

// TestOneAnswerAboutWhoPushed: all processes that judge for one review get the answer that it
// has decided by, whatever the forge says later.
func TestOneAnswerAboutWhoPushed(t *testing.T) {
	d := written(t)
	var first, again review.Subject
	d.cfg.Execute = func(_ context.Context, _ *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
		first = subjectOf(t, o)
		d.forge.Push("topic", d.head, "helper[bot]")
		again = subjectOf(t, o)
		return nil, errors.New("the end")
	}
	r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Run(t.Context()); err == nil {
		t.Error("the review went on")
	}
	if !first.Pushed || first.Stranger != "" || again.Stranger != "" {
		t.Errorf("a stranger is %q first and %q then, want none", first.Stranger, again.Stranger)
	}
}

// subjectOf decodes the subject that other processes get.
func subjectOf(t *testing.T, o controller.RunOptions) (s review.Subject) {
	t.Helper()
	encoded, err := o.Subject(t.Context())
	if err == nil {
		err = json.Unmarshal(encoded, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
