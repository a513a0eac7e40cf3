package run

import (
	"errors"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// TestOpened opens a target again that could not be opened, and [Roster.Targets] keeps the
// error as the target.
func TestOpened(t *testing.T) {
	opened := 0
	env := target.Env{Lookup: func(string) (string, bool) { return "", false }}
	roster := NewRoster(&config.Config{Targets: map[string]config.Target{"bot": {Name: "bot"}}}, func(cfg config.Target) (target.Target, error) {
		opened++
		return nil, target.NewOpenError(cfg, env, errors.New("no program bot"))
	})
	jobs := []Job{{Case: &schema.Case{}, Target: "bot"}}
	for range 2 {
		if _, err := roster.Opened(jobs); !errors.As(err, new(*target.OpenError)) {
			t.Errorf("the error is %v, want one of opening", err)
		}
	}
	for range 2 {
		if targets, err := roster.Targets(jobs); err != nil || targets["bot"].Target == nil {
			t.Errorf("the targets are %v (%v), want one that answers with the error", targets, err)
		}
	}
	if opened != 3 {
		t.Errorf("the target was opened %d times, want three times", opened)
	}
}
