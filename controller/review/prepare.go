package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/commits"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/schema"
)

// defaultDeadline is for a head that is a stranger's and not yet judged.
const defaultDeadline = 2 * time.Minute

// A preparation is what is known about a head before it is judged.
type preparation struct {
	// repo has both sides, and is nil where they could not be fetched. The
	// caller closes it.
	repo *gitrepo.Repository
	// prepared is nil if the stored report of the head is still complete.
	prepared  *controller.Prepared
	execution controller.RunOptions
	// fresh and groups are as in a [judgement].
	fresh  bool
	groups []string
}

// prepare fetches both sides and plans. Where an object of them cannot be read, both are
// fetched once more: what Fetch keeps is then made again.
func (r *Review) prepare(ctx context.Context, last *report.Report) (preparation, error) {
	found, err := r.prepareOnce(ctx, last)
	lost, isLost := errors.AsType[*gitrepo.LostError](err)
	if !isLost {
		return found, err
	}
	r.Log(fmt.Sprintf("%.12s cannot be read and is fetched again: %v", r.head, lost))
	if found.repo != nil {
		if err := found.repo.Close(); err != nil {
			return preparation{}, err
		}
	}
	return r.prepareOnce(ctx, last)
}

// prepareOnce is prepare within the deadline. The error wraps an [excess.Error] where
// the head passes that, or is larger than what is looked at. The first clone of a
// repository is not a head's fault, so that what base has is fetched before.
func (r *Review) prepareOnce(ctx context.Context, last *report.Report) (preparation, error) {
	if len(r.known) > 0 {
		repo, _, err := r.fetchRefs(ctx, r.known, gitrepo.OfBase)
		if err != nil {
			return preparation{}, err
		}
		if err := repo.Close(); err != nil {
			return preparation{}, err
		}
	}
	most := cmp.Or(r.Deadline, defaultDeadline)
	late := &pack.ExcessError{
		Path: ".", Message: fmt.Sprintf("fetching, loading and planning this head took longer than %v", most),
		Hint: "make the change smaller, or have the operator raise the deadline",
	}
	inner, cancel := context.WithTimeoutCause(ctx, most, late)
	defer cancel()
	found, err := r.fetchAndPlan(ctx, inner, last)
	if found.repo != nil {
		err = cmp.Or(found.repo.Lost(), err)
	}
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(inner), late) {
		err = late
	}
	return found, err
}

// fetchRefs fetches refs, from a remote that may be away for a while.
func (r *Review) fetchRefs(ctx context.Context, refs []string, most gitrepo.Bounds) (repo *gitrepo.Repository, tips []string, err error) {
	err = r.Retry.Do(ctx, func() (err error) {
		repo, tips, err = r.Fetch(ctx, refs, most)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("fetch %s: %w", strings.Join(refs, " and "), err)
	}
	return repo, tips, nil
}

// fetchAndPlan is prepare within the time that inner has; ctx is that of the whole review.
func (r *Review) fetchAndPlan(ctx, inner context.Context, last *report.Report) (found preparation, err error) {
	inner, span := tracing.Start(inner, "plan")
	span.Text("gavel.head", r.head)
	defer func() { span.End(err) }()
	most := gitrepo.OfHead
	if len(r.known) == len(r.refs) {
		most = gitrepo.OfBase
	}
	var tips []string
	if found.repo, tips, err = r.fetchRefs(inner, r.refs, most); err != nil {
		return found, err
	}
	at, err := r.fetched(found.repo, tips)
	if err != nil {
		return found, err
	}
	found.fresh = at.decision.cfg.Comment == "new"
	if last != nil {
		current, err := r.isCurrent(inner, at, last)
		if err != nil || current {
			return found, err
		}
	}
	found, err = r.plan(inner, at, found)
	if err != nil {
		return found, err
	}
	return r.allow(ctx, inner, at, last, found)
}

// plan compares the sides.
func (r *Review) plan(ctx context.Context, at sides, found preparation) (preparation, error) {
	seen, err := r.Ledger.FirstSeen(ctx, r.Known, r.number, r.head)
	if err != nil {
		return found, err
	}
	prepared, err := commits.Prepare(ctx, commits.Sides{
		Repo: at.repo, Head: r.head, Base: at.base, Rules: at.rules.Commit, Accepted: r.accepted(), Complete: r.Complete && r.accepted(), Unasked: r.unasked(), Loaded: r.loaded, Ledger: r.Ledger, ConfigFile: r.ConfigFile, LookupEnv: r.LookupEnv,
		Trust: r.writes(), HeadConfig: r.approved, HeadTargets: r.judgesTargets(), Accept: r.acceptedTargets() != nil, IgnoreBefore: r.rerunSince(), Before: r.due(), FirstSeen: seen, MaxNew: r.maxNew(),
	})
	if err != nil {
		return found, err
	}
	found.prepared, found.fresh = prepared, prepared.Head().Config.Comment == "new"
	found.groups, err = r.groups(prepared)
	return found, err
}

// allow adds what of the plan may be run, and what the report says of that.
func (r *Review) allow(ctx, inner context.Context, at sides, last *report.Report, found preparation) (preparation, error) {
	e := r.execution(ctx, found.fresh)
	e.Subject = func(ctx context.Context) ([]byte, error) { return json.Marshal(r.subject(ctx, at, last)) }
	if err := r.configuration(inner, at, found.prepared, &e); err != nil {
		return found, err
	}
	if err := r.programs(inner, found.prepared, &e); err != nil {
		return found, err
	}
	r.targets(found.prepared, &e)
	found.execution = e
	return found, nil
}

// strangersCases are how many cases a head may have in what it changes that may
// not be run, and writersCases how many a pull request may have. Planning takes memory for
// each, and judging and reporting take more.
const (
	strangersCases = 20_000
	writersCases   = 60_000
)

// maxNew bounds the cases of a head in what it changes, 0 for no bound: commits of a branch
// were merged.
func (r *Review) maxNew() int64 {
	switch {
	case !r.trust.Run:
		return strangersCases
	case r.number == 0:
		return 0
	}
	return writersCases
}

// unasked is why the rules about all cases decide nothing for head; empty where they do.
// A head that may not be run is not worth loading every case for.
func (r *Review) unasked() string {
	if r.trust.Run {
		return ""
	}
	return "nothing is run"
}

// writes is what samples of head are stored under.
func (r *Review) writes() ledger.Trust {
	return ledger.Trust{Level: r.level, Repository: r.Known, PullRequest: r.number}
}

// execution says under which name a plan of head is carried out, and what has to
// be published with its report.
func (r *Review) execution(ctx context.Context, fresh bool) controller.RunOptions {
	return controller.RunOptions{
		Repository: r.Known, PullRequest: r.number, Commands: r.commands.Followed,
		Outbox: func(report *report.Report) ([]ledger.OutboxItem, error) {
			// A result that was broken off in the middle must not count for the commit.
			if why := whyCancelled(ctx); why != "" {
				return nil, errors.New(why)
			}
			return r.outbox(ctx, judgement{report: report, fresh: fresh})
		},
	}
}

// refuse reports that a head is not looked at any further, and why: a problem of
// the commit, like those of its definitions.
func (r *Review) refuse(ctx context.Context, over *pack.ExcessError) (*report.Report, error) {
	prepared := controller.Unplanned(controller.Request{
		Head:       controller.Checkout{Commit: r.head, FS: nothing{}, Config: config.Default()},
		ConfigFile: r.ConfigFile, Ledger: r.Ledger, LookupEnv: r.LookupEnv, HeadTrust: r.writes(),
	}, schema.Problem{
		Position: schema.Position{File: over.Path, Line: 1, Column: 1}, Severity: schema.Error, Rule: schema.RuleOutOfBounds,
		Message: over.Message, Hint: over.Hint,
	})
	e := r.execution(ctx, false)
	e.NotRun = "not judged: " + over.Error()
	return r.Execute(ctx, prepared, e)
}

// nothing is the content of a head that is not looked at.
type nothing struct{}

// Open finds nothing.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
