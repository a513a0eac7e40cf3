// Package review brings a pull request, or a commit of a merge queue or of a
// push, from the forge to its verdicts and back: it reads what the forge says
// of it, works out whether it may be run, plans and judges it, and publishes
// the report.
//
// Most callers make a [Reviewer] for a repository, ask it for a [Review] with
// [Reviewer.Pull] or [Reviewer.Commit], and call [Review.Run]. What is judged
// is stored before any of it is published, and what a forge does not take stays
// in the outbox for the next review.
package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/github"
)

// A Config holds what the reviews of one repository share.
type Config struct {
	Client     *forge.Client
	Repository forge.Repo
	Ledger     *ledger.Ledger
	// Fetch brings refs with their history and gives their commits in the same
	// order. The review closes the repository.
	Fetch func(ctx context.Context, refs []string) (*gitrepo.Repository, []string, error)
	// Execute carries a plan out and stores its report.
	Execute func(context.Context, *controller.Prepared, controller.Execution) (*reporters.Report, error)
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	LookupEnv  func(name string) (string, bool)
	// Login is who the credential writes as, where it cannot ask.
	Login string
	// WebURL is the root of the forge's pages, such as https://github.com;
	// RunURL is the page of this run, or empty.
	WebURL, RunURL string
	// Tell is given a line for whoever looks on.
	Tell func(line string)
}

// A Reviewer makes reviews of one repository.
type Reviewer struct{ cfg Config }

// New returns a Reviewer.
func New(cfg Config) *Reviewer { return &Reviewer{cfg} }

// A Review is one commit on its way to a report.
type Review struct {
	Config
	head string
	// refs are fetched: where head and base are found.
	refs []string
	// base is a commit or one of refs; head is compared with the merge base.
	base   string
	number int // 0 for a merge queue and a push
	// level is what samples of head are stored under.
	level ledger.Level
	trust forge.Trust
	// fresh asks for a new comment when the verdict changes.
	fresh bool
}

// Pull is a review of a pull request as it is now. event is why it is looked
// at, empty for by hand.
func (r *Reviewer) Pull(ctx context.Context, number int, event string) (*Review, error) {
	pull, err := r.cfg.Client.Pull(ctx, r.cfg.Repository, number)
	if err != nil {
		return nil, fmt.Errorf("read the pull request: %w", err)
	}
	permission, err := r.cfg.Client.Permission(ctx, r.cfg.Repository, pull.Author)
	if err != nil {
		permission = forge.PermissionUnknown
	}
	return &Review{
		Config: r.cfg, head: pull.HeadSHA, base: pull.BaseSHA, number: number, level: ledger.LevelPull,
		refs:  []string{"refs/heads/" + pull.BaseRef, fmt.Sprintf("refs/pull/%d/head", number)},
		trust: forge.Trusted(event, &pull, permission),
	}, nil
}

// ErrNoBase means that a push has nothing that it could be compared with.
var ErrNoBase = errors.New("there is nothing to compare with")

// Commit is a review of the commit of a merge queue or of a push. A push to the
// default branch is compared with what it replaced, and what is judged there is
// base's from now on. A push to another branch is compared with the default
// branch. The error is [ErrNoBase] where that is not known.
func (r *Reviewer) Commit(event forge.Event) (*Review, error) {
	out := &Review{
		Config: r.cfg, head: event.HeadSHA, level: ledger.LevelPull, refs: []string{"refs/heads/" + event.HeadRef},
		trust: forge.Trusted(event.Name, nil, forge.PermissionUnknown),
	}
	if event.BaseRef != "" && event.BaseRef != event.HeadRef {
		out.refs = append(out.refs, "refs/heads/"+event.BaseRef)
	}
	switch {
	case event.Name == forge.EventMergeGroup:
		out.base = event.BaseSHA
	case event.BaseRef == event.HeadRef:
		out.base, out.level = event.BaseSHA, ledger.LevelBase
	case event.BaseRef != "":
		out.base = "refs/heads/" + event.BaseRef
	}
	if out.base == "" {
		return nil, fmt.Errorf("the push to %s: %w", event.HeadRef, ErrNoBase)
	}
	return out, nil
}

// Head is the commit that is reviewed.
func (r *Review) Head() string { return r.head }

// Run sets both statuses to pending, judges and publishes. unpublished is what
// the forge did not take, which changes no verdict; err is why there is no
// report, and then both statuses say so.
func (r *Review) Run(ctx context.Context) (report *reporters.Report, unpublished, err error) {
	// A token that may not write shows again at the end, where it matters.
	denied := r.setStatuses(ctx,
		github.Status{Context: github.ContextValidate, State: github.Pending, Description: "checking the definitions"},
		github.Status{Context: github.ContextVerdict, State: github.Pending, Description: "working out what is affected"})
	report, err = r.judge(ctx)
	// The head must not stay pending, even when the run was cancelled.
	late := context.WithoutCancel(ctx)
	if err != nil {
		const broken = "gavel could not judge this head; see the job's log"
		return nil, nil, errors.Join(err, r.setStatuses(late,
			github.Status{Context: github.ContextVerdict, State: github.Error, Description: broken},
			github.Status{Context: github.ContextValidate, State: github.Error, Description: broken}))
	}
	return report, errors.Join(denied, r.publish(late, report)), nil
}

// judge fetches both sides, plans, and runs what may be run.
func (r *Review) judge(ctx context.Context) (*reporters.Report, error) {
	repo, commits, err := r.Fetch(ctx, r.refs)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", strings.Join(r.refs, " and "), err)
	}
	defer repo.Close()
	if i := slices.Index(r.refs, r.base); i >= 0 {
		r.base = commits[i]
	}
	prepared, err := controller.PrepareCommits(ctx, controller.Commits{
		Repo: repo, Head: r.head, Base: r.base, Ledger: r.Ledger, ConfigFile: r.ConfigFile, LookupEnv: r.LookupEnv,
		Trust: ledger.Trust{Level: r.level, Repository: r.Repository.String(), PullRequest: r.number},
	})
	if err != nil {
		return nil, err
	}
	r.fresh = prepared.Base.Config.Comment == "new"
	e := controller.Execution{Repository: r.Repository.String(), PullRequest: r.number, Outbox: r.outbox}
	if !r.trust.Run {
		e.NotRun = r.trust.Reason + ": validated and planned only, until somebody with write permission approves"
	}
	if err := r.configuration(prepared, &e); err != nil {
		return nil, err
	}
	return r.Execute(ctx, prepared, e)
}
