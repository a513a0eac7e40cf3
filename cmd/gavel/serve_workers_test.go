package main

import (
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestStartsPrograms: a case needs a worker with a sandbox for its own programs, and for those
// that answer or write prompts where it is compared with others.
func TestStartsPrograms(t *testing.T) {
	cfg := run.Config{
		Targets: map[string]run.Target{"agent": {Config: config.Target{Provider: config.Command}}, "model": {}},
		Roles:   map[schema.Role]string{schema.Judge: "agent"},
	}
	answer := "yes"
	plain, given, written := &schema.Case{}, &schema.Case{Drive: schema.Drive{Given: &answer}}, &schema.Case{Drive: schema.Drive{Program: &schema.PromptProgram{}}}
	judged := &schema.Case{Evaluators: []schema.Evaluator{{Spec: evaluator.Graded{Rubric: "short"}}}}
	with := func(other *schema.Case, target string) run.Job {
		return run.Job{Case: plain, Target: "model", Selection: &plan.Selection{Candidates: []plan.Candidate{{Case: plain, Target: "model"}, {Case: other, Target: target}}}}
	}
	for _, tt := range []struct {
		name string
		job  run.Job
		want bool
	}{
		{"a model", run.Job{Case: plain, Target: "model"}, false},
		{"a command", run.Job{Case: plain, Target: "agent"}, true},
		{"a given answer", run.Job{Case: given, Target: "agent"}, false},
		{"a written prompt", run.Job{Case: written, Target: "model"}, true},
		{"a judge that is a command", run.Job{Case: judged, Target: "model"}, true},
		{"compared with a model", with(plain, "model"), false},
		{"compared with a command", with(plain, "agent"), true},
		{"compared with a given answer", with(given, "agent"), false},
		{"compared with a written prompt", with(written, "model"), true},
	} {
		if got := startsPrograms(cfg, tt.job); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
