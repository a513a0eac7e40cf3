package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A pullRequest is a repository at a forge with a pull request that changes all
// conversations, every fifth for the worse.
type pullRequest struct {
	*fixture
	forge      *forgetest.Forge
	base, head string
}

// pull opens a pull request. So many calls to a model may be in flight.
func (t *trial) pull(name string, inFlight int) *pullRequest {
	p := &pullRequest{fixture: t.placeWith(name, inFlight), forge: forgetest.New(t)}
	p.base = gittest.Resolve(t, p.dir, "HEAD")
	gittest.Branch(t, p.dir, "topic")
	p.head = gittest.Commit(t, p.dir, t.changedFiles())
	gittest.Run(t, p.dir, "update-ref", "refs/pull/1/head", p.head)
	gittest.Run(t, p.dir, "checkout", "-q", "main")
	p.forge.SetPermission("maintainer", "write")
	p.forge.CloneURL = gittest.Backend(t, p.dir)
	p.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: p.head, BaseSHA: p.base, HeadRef: "topic"})
	p.env = append(p.env, "GITHUB_API_URL="+p.forge.URL, "GITHUB_TOKEN="+forgetest.TokenUser)
	return p
}

// operator writes the file of a server that judges the pull request and its base.
func (p *pullRequest) operator() (file string) {
	return p.operates(fmt.Sprintf("credentials: {bot: {token_env: GITHUB_TOKEN}}\nrepositories: [{name: %s, forge: %q, credential: bot}]\n", forgetest.Repository, p.forge.URL))
}

// pr kills a job that judges a pull request.
func (t *trial) pr(ctx context.Context) error {
	want, err := t.changed(ctx)
	if err != nil {
		return err
	}
	p := t.pull("pr", concurrency)
	origin := p.dir
	p.dir = filepath.Join(t.dir, "pr-checkout")
	gittest.Run(t, t.dir, "clone", "-q", "-b", "main", "file://"+origin, p.dir)
	p.ledger = filepath.Join(p.dir, ".gavel", "ledger.db")
	p.line = []string{"pr", "--repo", forgetest.Repository, "--pr", "1"}
	p.finish = func(ctx context.Context) (map[string]caseVerdict, error) {
		return p.verdicts(p.command(ctx, append(p.line, "--json")...))
	}
	return errors.Join(p.roughly(ctx, want, ofBothSides), p.clean(), p.published(want))
}

// serve kills a server that judges a pull request and the branch that it goes to.
func (t *trial) serve(ctx context.Context) error {
	want, err := t.changed(ctx)
	if err != nil {
		return err
	}
	p := t.pull("serve", concurrency)
	p.serves(p.operator())
	p.finish = func(ctx context.Context) (map[string]caseVerdict, error) {
		if err := p.settle(ctx, p.settled); err != nil {
			return nil, err
		}
		return p.reported(ctx)
	}
	// The branch and the pull request are judged at once, each within its limits.
	return errors.Join(p.roughly(ctx, want, ofBothSides), p.refused(), p.published(want))
}

// states returns the last states that the forge has of a commit, by context. A stopped
// server publishes that, which is not final: the next one continues.
func (p *pullRequest) states(sha string) map[string]string {
	states := map[string]string{}
	for _, s := range p.forge.Statuses(sha) {
		states[s.Context] = s.State
		if strings.HasPrefix(s.Description, "gavel was stopped") {
			states[s.Context] = "pending"
		}
	}
	return states
}

// comments returns the comments with our marker.
func (p *pullRequest) comments() []forgetest.Comment {
	return slices.DeleteFunc(p.forge.Comments(1), func(c forgetest.Comment) bool { return !strings.HasPrefix(c.Body, comment.Marker+"\n") })
}

// settled reports whether the pull request and the tip of its base have their final
// statuses.
func (p *pullRequest) settled() bool {
	for _, sha := range []string{p.head, p.base} {
		states := p.states(sha)
		if len(states) < 2 {
			return false
		}
		for _, state := range states {
			if state == "pending" {
				return false
			}
		}
	}
	return len(p.comments()) > 0
}

// reported reads the verdicts of the newest report on the pull request.
func (p *pullRequest) reported(ctx context.Context) (verdicts map[string]caseVerdict, err error) {
	err = p.withLedger(ctx, func(l *ledger.Ledger) error {
		var newest []byte
		err := l.EachReport(ctx, func(run ledger.Run) error {
			r, err := report.Decode(run.Report)
			if err == nil && r.Head != nil && *r.Head == p.head {
				newest = run.Report
			}
			return err
		})
		if err == nil && newest == nil {
			err = errors.New("there is no report on the pull request")
		}
		if err == nil {
			verdicts, err = readReport(newest)
		}
		return err
	})
	return verdicts, err
}

// published demands that the forge shows the result: once, and nothing is pending.
func (p *pullRequest) published(want *result) error {
	var wrong []error
	for context, state := range map[string]string{"gavel/validate": "success", "gavel/verdict": "failure"} {
		if got := p.states(p.head)[context]; got != state {
			wrong = append(wrong, fmt.Errorf("the status %s is %q, want %q", context, got, state))
		}
	}
	for context, state := range p.states(p.base) {
		if state != "success" && context == "gavel/validate" || state == "pending" {
			wrong = append(wrong, fmt.Errorf("of the base, the status %s is %q", context, state))
		}
	}
	comments := p.comments()
	if len(comments) != 1 {
		return errors.Join(append(wrong, fmt.Errorf("%d comments, want 1", len(comments)))...)
	}
	regressions := 0
	for _, v := range want.verdicts {
		if v.class == "regression" {
			regressions++
		}
	}
	for _, words := range []string{fmt.Sprint(regressions, " regression"), "order_1"} {
		if !strings.Contains(comments[0].Body, words) {
			wrong = append(wrong, fmt.Errorf("the comment does not say %q:\n%.1000s", words, comments[0].Body))
		}
	}
	return errors.Join(wrong...)
}
