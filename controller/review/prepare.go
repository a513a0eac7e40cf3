package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/schema"
)

// defaultDeadline is for a stranger's head before judging.
const defaultDeadline = 2 * time.Minute

// A preparation is the knowledge about a head before it is judged.
type preparation struct {
	// repo has both sides, and is nil if they could not be fetched. The caller closes
	// it.
	repo *gitrepo.Repository
	// prepared is nil if the stored report of the head is still complete.
	prepared  *controller.Prepared
	execution controller.RunOptions
	// reopened means that only the open cases of the stored report are looked at again.
	reopened bool
	// fresh, quiet, groups and notify are as in a [judgement].
	fresh, quiet bool
	groups       []string
	notify       []config.Notify
}

// prepare fetches both sides and plans. If an object is unreadable, both are fetched
// once more, into a new clone.
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

// once returns a function that asks for a text once, at its first call.
func once(ask func(context.Context) string) func(context.Context) string {
	var asked sync.Once
	var text string
	return func(ctx context.Context) string {
		asked.Do(func() { text = ask(ctx) })
		return text
	}
}

// askMergeBase asks the forge for the merge base of base and head. Without an answer the
// history says it.
func (r *Review) askMergeBase(ctx context.Context, base string) string {
	mergeBase, err := r.Client.MergeBase(ctx, r.Repository, base, r.head)
	if err != nil && !errors.Is(err, forge.ErrNoMergeBase) && ctx.Err() == nil {
		r.Log(fmt.Sprintf("the history is fetched: %v", err))
	}
	return mergeBase
}

// nearCommits returns the commits that are enough for comparing head with base, or nil if the
// forge does not report their merge base.
func (r *Review) nearCommits(ctx context.Context) (*gitrepo.Near, error) {
	mergeBase := ""
	if r.mergeBase != nil {
		mergeBase = r.mergeBase(ctx)
	}
	if mergeBase == "" {
		return nil, ctx.Err()
	}
	return &gitrepo.Near{Refs: r.refs, Commits: []string{mergeBase, r.head}, Most: gitrepo.OfHead}, nil
}

// prepareOnce is prepare within the deadline. The error wraps a [pack.ExcessError] if
// the head exceeds the deadline or the bounds. The first clone of a repository is not a
// head's fault, so base is fetched before.
func (r *Review) prepareOnce(ctx context.Context, last *report.Report) (preparation, error) {
	if len(r.known) > 0 {
		repo, _, err := r.fetchRefs(ctx, gitrepo.Source{Refs: r.known, Most: gitrepo.OfBase, Near: r.nearCommits})
		if err != nil {
			return preparation{}, err
		}
		if err := repo.Close(); err != nil {
			return preparation{}, err
		}
	}
	var found preparation
	var failed error
	err := r.Retry.Do(ctx, func() (err error) {
		found, failed = r.prepareHead(ctx, last)
		if behind, ok := errors.AsType[*behindError](failed); ok {
			return behind // other errors have had their tries
		}
		return nil
	})
	return found, cmp.Or(err, failed)
}

// A behindError means that the forge has a head that its git server does not have yet.
type behindError struct{ head string }

// Error names the head.
func (e *behindError) Error() string {
	return fmt.Sprintf("the commit %.12s is not at the git server yet", e.head)
}

// Transient returns true.
func (e *behindError) Transient() bool { return true }

// prepareHead is prepareOnce after base was fetched.
func (r *Review) prepareHead(ctx context.Context, last *report.Report) (preparation, error) {
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

// fetchRefs fetches refs, from a remote that may be unavailable for a while.
func (r *Review) fetchRefs(ctx context.Context, src gitrepo.Source) (repo *gitrepo.Repository, tips []string, err error) {
	err = r.Retry.Do(ctx, func() (err error) {
		repo, tips, err = r.Fetch(ctx, src)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("fetch %s: %w", strings.Join(src.Refs, " and "), err)
	}
	return repo, tips, nil
}

// fetchAndPlan is prepare within inner's deadline; ctx is the whole review's.
func (r *Review) fetchAndPlan(ctx, inner context.Context, last *report.Report) (found preparation, err error) {
	inner, span := tracing.Start(inner, "plan")
	span.Text("gavel.head", r.head)
	defer func() { span.End(err) }()
	most := gitrepo.OfHead
	if len(r.known) == len(r.refs) {
		most = gitrepo.OfBase
	}
	var tips []string
	if found.repo, tips, err = r.fetchRefs(inner, gitrepo.Source{Refs: r.refs, Most: most, Near: r.nearCommits}); err != nil {
		return found, err
	}
	if !found.repo.Has(r.head) {
		return preparation{}, errors.Join(&behindError{r.head}, found.repo.Close())
	}
	at, err := r.fetched(inner, found.repo, tips)
	if err != nil {
		return found, err
	}
	found.comment(at.decision.cfg)
	found.notify = r.notified(at)
	if last != nil {
		same, err := r.restsOnSame(inner, at, last)
		if err != nil || same && (last.NotRunReason != "" || !open(last)) {
			return found, err
		}
		found.reopened = same
	}
	found, err = r.plan(inner, at, found)
	if err != nil {
		return found, err
	}
	return r.allow(ctx, inner, at, last, found)
}

// comment takes the settings of the comment.
func (p *preparation) comment(cfg *config.Config) {
	p.fresh, p.quiet = cfg.Comment == "new", cfg.QuietComment
}

// plan compares the sides.
func (r *Review) plan(ctx context.Context, at sides, found preparation) (preparation, error) {
	seen, err := r.Ledger.FirstSeen(ctx, r.Known, r.number, r.head)
	if err != nil {
		return found, err
	}
	push, err := r.push(ctx, seen)
	if err != nil {
		return found, err
	}
	prepared, err := controller.PrepareCommits(ctx, controller.CommitSides{
		Repo: at.repo, Making: r.making(), Branch: r.branch, Head: r.head, Base: at.base, Ancestor: at.ancestor, Rules: at.rules.Commit, Accepted: r.accepted(), Unasked: r.unasked(), Loaded: r.loaded, Ledger: r.Ledger, ConfigFile: r.ConfigFile, LookupEnv: r.LookupEnv,
		Trust: r.writes(), HeadConfig: r.approved, HeadTargets: r.judgesTargets(), Accept: r.acceptedChanges(), IgnoreBefore: r.rerunSince(), Before: r.due(), FirstSeen: seen, Push: push, MaxNew: r.maxNew(),
	})
	if err != nil {
		return found, err
	}
	found.prepared = prepared
	found.comment(prepared.Head().Config)
	found.groups, err = r.groups(prepared)
	return found, err
}

// push returns the number of the head among the heads of its pull request, in the order
// in which they were seen first; 0 for a branch. A head that comes back keeps its number.
func (r *Review) push(ctx context.Context, seen time.Time) (int, error) {
	if r.number == 0 {
		return 0, nil
	}
	heads, err := r.Ledger.Heads(ctx, r.Known, r.number)
	n := 1
	for sha, at := range heads {
		if at.Before(seen) || at.Equal(seen) && sha < r.head {
			n++
		}
	}
	return n, err
}

// allow adds which parts of the plan may run, and the report's remarks about that.
func (r *Review) allow(ctx, inner context.Context, at sides, last *report.Report, found preparation) (preparation, error) {
	e := r.execution(ctx, judgement{fresh: found.fresh, quiet: found.quiet, notify: found.notify})
	e.Subject = func(ctx context.Context) ([]byte, error) { return json.Marshal(r.subject(ctx, at, last)) }
	if err := r.configuration(inner, at, found.prepared, &e); err != nil {
		return found, err
	}
	if err := r.programs(inner, found.prepared, &e); err != nil {
		return found, err
	}
	r.targets(found.prepared, &e)
	if outbox := e.Outbox; found.reopened {
		e.Outbox = func(rep *report.Report) ([]ledger.OutboxItem, error) {
			if whyCancelled(ctx) == "" && unchanged(last, rep) {
				return nil, errUnchanged
			}
			return outbox(rep)
		}
	}
	found.execution = e
	return found, nil
}

// strangersCases bounds the changed cases of a head that may not run, and writersCases
// the ones of any pull request. Planning takes memory for each, and judging and
// reporting take more.
const (
	strangersCases = 20_000
	writersCases   = 60_000
)

// maxNew bounds a head's changed cases, 0 for no bound: commits of a branch were
// merged.
func (r *Review) maxNew() int64 {
	switch {
	case !r.trust.Run:
		return strangersCases
	case r.number == 0:
		return 0
	}
	return writersCases
}

// unasked returns the reason why the rules about all cases decide nothing for head;
// empty if they do. It is not worth loading every case for a head that may not run.
func (r *Review) unasked() string {
	if r.trust.Run {
		return ""
	}
	return "nothing is run"
}

// writes returns the trust under which head's samples are stored.
func (r *Review) writes() ledger.Trust {
	return ledger.Trust{Level: r.level, Repository: r.Known, PullRequest: r.number}
}

// execution returns the options for executing head's plan, with the items to publish
// with its report.
func (r *Review) execution(ctx context.Context, came judgement) controller.RunOptions {
	return controller.RunOptions{
		Repository: r.Known, PullRequest: r.number, Commands: r.commands.Followed, Power: true,
		Outbox: func(report *report.Report) ([]ledger.OutboxItem, error) {
			// An interrupted result must not count for the commit.
			if why := whyCancelled(ctx); why != "" {
				return nil, errors.New(why)
			}
			came.report = report
			return r.outbox(ctx, came)
		},
	}
}

// refuse reports that a head is not examined any further, with the reason: a problem of
// the commit, like a problem of a definition.
func (r *Review) refuse(ctx context.Context, over *pack.ExcessError) (*report.Report, error) {
	prepared := controller.Unplanned(controller.Request{
		Head:       controller.Checkout{Commit: r.head, Branch: r.branch, FS: nothing{}, Config: config.Default()},
		ConfigFile: r.ConfigFile, Ledger: r.Ledger, LookupEnv: r.LookupEnv, HeadTrust: r.writes(),
	}, schema.Problem{
		Position: schema.Position{File: over.Path, Line: 1, Column: 1}, Severity: schema.Error, Rule: schema.RuleOutOfBounds,
		Message: over.Message, Hint: over.Hint,
	})
	e := r.execution(ctx, judgement{})
	e.NotRun = "not judged: " + over.Error()
	return r.Execute(ctx, prepared, e)
}

// nothing is the content of a head that is not examined.
type nothing struct{}

// Open finds nothing.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
