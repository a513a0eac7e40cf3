package review

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Subject is a head with all data for another process to judge it in the same way. It
// is encoded as JSON.
type Subject struct {
	// Repository is its name on the forge, LedgerName its name in the ledger.
	Repository forge.Repo
	LedgerName string
	Number     int
	// Branch is the branch of Head.
	Branch, Head string
	// Refs are fetched; base has the Known ones. Base is empty, a commit or one of
	// them.
	Known, Refs []string
	Base        string
	Rules       report.Rules
	Level       ledger.Level
	Trust       forge.Trust
	// Merged and Queued are as in [Review].
	Merged, Queued bool
	// Followed and Refused are the commands that apply to the head. Follows means that
	// somebody reads commands.
	Followed []report.Command
	Refused  []string
	Follows  bool
	Approved bool
	// Pushed means that the head's pusher decides about its programs. Stranger is the
	// reason why they need an approval; empty if they do not.
	Pushed   bool
	Stranger string
	Schedule *Schedule
	// Last is the newest stored run of the head, empty for none.
	Last string
	// The fields below are as in [Config].
	ConfigFile, WebURL, Forks, Programs, Targets string
	Deadline                                     time.Duration
}

// subject describes the head for [Rehearse], with last as its stored report, or nil. It
// asks the forge for the head's pusher if that decides about its programs.
func (r *Review) subject(ctx context.Context, at sides, last *report.Report) Subject {
	s := Subject{
		Repository: r.Repository, LedgerName: r.Known, Number: r.number, Branch: r.branch, Head: r.head, Known: r.known, Refs: r.refs, Base: at.base, Rules: at.rules,
		Level: r.level, Trust: r.trust, Merged: r.merged, Queued: r.queued,
		Followed: r.commands.Followed, Refused: r.commands.Refused, Follows: r.follows, Approved: r.approved, Schedule: r.schedule,
		ConfigFile: r.ConfigFile, WebURL: r.WebURL, Forks: r.Forks, Programs: r.Programs, Targets: r.Targets, Deadline: r.Deadline,
	}
	if last != nil {
		s.Last = last.Run
	}
	if s.Pushed = r.outsider != nil && r.byWriters() && r.trust.Run; s.Pushed {
		s.Stranger = r.outsider(ctx)
	}
	return s
}

// Rehearse judges a subject without a forge: it fetches, plans, judges, stores the
// report and renders the publications. It returns the id of the run, which is empty if
// nothing is examined. cfg has the process's own parts: the ledger, Fetch, Execute, and
// the lookup of variables.
func Rehearse(ctx context.Context, cfg Config, s Subject) (run string, err error) {
	r := reviewOf(cfg, s)
	var last *report.Report
	if s.Last != "" {
		if last, err = Stored(ctx, r.Ledger, s.Last); err != nil {
			return "", err
		}
	}
	came, err := r.judge(ctx, last, nil)
	if err != nil || came.report == nil {
		return "", err
	}
	r.render(came.report)
	return came.report.Run, nil
}

// Plan fetches and plans a subject as the process that described it did, for another
// one that judges cases of it. The caller calls end when it no longer needs the plan.
// cfg is as for [Rehearse], without Execute.
func Plan(ctx context.Context, cfg Config, s Subject) (p *controller.Prepared, end func() error, err error) {
	r := reviewOf(cfg, s)
	r.loaded = true // a case may have been judged since planning
	found, err := r.prepare(ctx, nil)
	if err != nil {
		if found.repo != nil {
			err = errors.Join(err, found.repo.Close())
		}
		return nil, nil, err
	}
	return found.prepared, found.repo.Close, nil
}

// reviewOf returns the review of a subject, without a forge.
func reviewOf(cfg Config, s Subject) *Review {
	cfg.Client, cfg.Repository, cfg.Known = nil, s.Repository, s.LedgerName
	cfg.ConfigFile, cfg.WebURL, cfg.Forks, cfg.Programs, cfg.Targets, cfg.Deadline = s.ConfigFile, s.WebURL, s.Forks, s.Programs, s.Targets, s.Deadline
	r := &Review{
		Config: New(cfg).cfg, branch: s.Branch, head: s.Head, refs: s.Refs, known: s.Known, base: s.Base, rules: s.Rules, number: s.Number, queued: s.Queued,
		level: s.Level, trust: s.Trust, merged: s.Merged, schedule: s.Schedule,
		commands: command.Commands{Followed: s.Followed, Refused: s.Refused}, follows: s.Follows, approved: s.Approved,
	}
	if s.Pushed {
		r.outsider = func(context.Context) string { return s.Stranger }
	}
	return r
}

// render renders all publications of a report and discards them.
func (r *Review) render(report *report.Report) {
	r.Text(report)(comment.MaxBytes)
	if r.schedule != nil {
		return
	}
	comment.NewStatuses(report)
	comment.GroupStatuses(report)
	r.checkRun(report)
}
