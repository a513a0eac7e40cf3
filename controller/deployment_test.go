package controller

import (
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// TestOneNoticeOfManyAgents names all agents without a version.
func TestOneNoticeOfManyAgents(t *testing.T) {
	cfg := &config.Config{Targets: map[string]config.Target{}}
	rows := &plan.Plan{}
	for _, name := range []string{"c", "a", "b"} {
		cfg.Targets[name] = config.Target{Name: name}
		rows.Rows = append(rows.Rows, plan.Row{Unversioned: true, Target: name, Head: &schema.CaseInfo{}, Action: plan.Run})
	}
	got := deploymentNotices(deploymentRun{Input: &report.Input{Plan: rows}, Config: cfg, ConfigFile: "gavel.yaml", Now: time.Time{}})
	const want = "targets a, b, c have no revision: the deployed versions are unknown; set `revision: reply` at each target once its replies name one"
	if len(got) != 1 || got[0].Message != want || got[0].File != "gavel.yaml" {
		t.Errorf("the notices are %+v, want one: %s", got, want)
	}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	late, early := agent{reused: 2, oldest: now.Add(-time.Hour)}, agent{reused: 3, oldest: now.Add(-2 * time.Hour)}
	late.join(early)
	if late.reused != 5 || !late.oldest.Equal(early.oldest) {
		t.Errorf("together they reused %d since %v, want 5 since %v", late.reused, late.oldest, early.oldest)
	}
}
