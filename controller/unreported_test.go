package controller_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestARunThatEndsBeforeItsReport: what it spent is known, and is neither lost nor counted
// twice once another run has done the rest.
func TestARunThatEndsBeforeItsReport(t *testing.T) {
	g := &gated{fixture: newFixture(t)}
	head, changed := sumAs(otherSum)
	opts := controller.RunOptions{ID: "killed", Repository: "octo/demo", PullRequest: 7, Outbox: func(*report.Report) ([]ledger.OutboxItem, error) {
		return nil, errors.New("killed")
	}}
	opener := controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return g, nil })
	if _, err := g.prepare(t, head, changed).Execute(t.Context(), opener, opts); err == nil {
		t.Fatal("its report is stored")
	}
	for _, when := range []string{"at its end", "after the run that does the rest"} {
		found, err := g.store.Unreported(t.Context(), "octo/demo")
		if err != nil || len(found) != 1 {
			t.Fatalf("%s %d runs have no report, want one: %v", when, len(found), err)
		}
		if u := found[0]; u.ID != "killed" || u.PullRequest != 7 || u.Head != strings.Repeat("e", 40) || u.Cost.Calls != 2 || u.Cost.Tokens != 22 {
			t.Errorf("%s it is %+v, want two calls of 11 tokens", when, u)
		}
		sum, err := maintenance.Total(t.Context(), g.store)
		if err != nil || sum.Spent.Calls != 2 || sum.Unreported.Runs != 1 || sum.Unreported.Calls != 2 {
			t.Errorf("%s the totals are %+v: %v", when, sum, err)
		}
		const words = "\n  in 1 run without a report, running or interrupted: 2 calls, "
		if text := sum.Text(); !strings.Contains(text, words) {
			t.Errorf("%s the text has no %q:\n%s", when, words, text)
		}
		g.run(t, head, changed, controller.RunOptions{ID: "next " + when, Repository: "octo/demo", PullRequest: 7})
	}
}
