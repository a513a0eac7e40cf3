// Package review brings a pull request, or a commit of a merge queue or of a
// push, from the forge to its verdicts and back: it reads what the forge says
// of it, works out whether it may be run, plans and judges it, and publishes
// the report.
//
// Most callers make a [Reviewer] for a repository, ask it for a [Review] with
// [Reviewer.Pull] or [Reviewer.Commit], and call [Review.Run]. The verdicts are
// stored before any of them is published, and postings that a forge does not
// take stay in the outbox for the next review.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/priority"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Config holds what the reviews of one repository share.
type Config struct {
	// Client is nil where there is no forge: then nothing is published.
	Client     *forge.Client
	Repository forge.Repo
	// Known is the name under which the ledger has the repository, which stays
	// when it is renamed. Defaults to that of Repository.
	Known  string
	Ledger *ledger.Ledger
	// Fetch brings refs with their history, within bounds, and gives their commits
	// in the same order. The review closes the repository.
	Fetch func(ctx context.Context, refs []string, most gitrepo.Bounds) (*gitrepo.Repository, []string, error)
	// Execute carries a plan out and stores its report.
	Execute controller.Executor
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	LookupEnv  func(name string) (string, bool)
	// Login is who the credential writes as, where it cannot ask.
	Login string
	// WebURL is the root of the forge's pages, such as https://github.com;
	// RunURL is the page of this run, or empty.
	WebURL, RunURL string
	// ReportURL is where the comment's full report is. Defaults to RunURL.
	ReportURL string
	// Hint is said next to the commands that people may write, see [Review.Follow]:
	// who reads them, where that does not go without saying.
	Hint string
	// Sharers tells which pull requests have a commit as their head. Defaults to asking
	// the forge.
	Sharers comment.Sharers
	// Log is called with a line for the log.
	Log func(line string)

	// Retry says how long the forge is asked again, and given again what it has
	// not taken. Defaults to one try, for callers that come back by themselves.
	Retry forge.Retry
	// Clock tells when a head has been judged for a while. Defaults to the machine's.
	Clock clock.Clock
	// Forks says what the pull requests get that may not be run: one of the
	// Forks constants. Defaults to [ForksApprove].
	Forks string
	// Programs says which programs of a head are run that nobody has merged: one
	// of the Programs constants. Defaults to [ProgramsWriters].
	Programs string
	// Branches are those whose tips' gavel.yaml decides about what goes to them. That of
	// the default branch decides about what goes to any other.
	Branches []string
	// Targets says whose changes of the data under test of the targets, such as the model,
	// are judged: one of the Targets constants. Defaults to [TargetsWriters].
	Targets string
	// Day is what the operator allows for a day, besides the limits of gavel.yaml. Defaults
	// to no limits.
	Day config.Limits
	// Bots are the ids of accounts that count as people who may write, although
	// they are bots.
	Bots []int64
	// Recall returns the newest report of a commit that is stored, nil where there
	// is none. One that holds nothing open is published again, so that to look
	// twice costs nothing and changes nothing. Defaults to recalling nothing.
	Recall func(ctx context.Context, number int, head string) (*report.Report, error)
	// OwnOnly leaves to other reviews what they could not publish. It is set
	// where several of a repository are in progress at once.
	OwnOnly bool
	// Complete judges all cases of a base branch of which no verdict is stored, and not
	// only those that its last change affects.
	Complete bool
	// Deadline bounds what is done for a head before it is judged: fetching,
	// loading and planning it. Defaults to 2 minutes.
	Deadline time.Duration
	// Turn waits until a head may be looked at. Its commit says meanwhile that it is
	// known. The error is a [DeclinedError] for a head that is not looked at. Defaults to
	// no wait.
	Turn func(ctx context.Context, w QueuedHead) (Turn, error)
}

// The treatments of pull requests from forks, or from authors who may not
// write.
const (
	ForksApprove = "approve" // a plan, and a run after an approval
	ForksPlan    = "plan"    // a plan
	ForksNever   = "never"   // two statuses that say so
)

// Which programs are run.
const (
	ProgramsBase     = "base-only" // those that are as base has them
	ProgramsApproved = "approved"  // those of an approved head, too
	ProgramsWriters  = "writers"   // and those of a head that people who may write opened and pushed
	ProgramsNever    = "never"     // none
)

// The changes of the data under test of targets that are judged.
const (
	TargetsBase     = "base-only" // nobody's
	TargetsApproved = "approved"  // those of an approved head
	TargetsWriters  = "writers"   // and those of people who may write
)

// TargetChoices are the Targets constants, the default one first.
var TargetChoices = []string{TargetsWriters, TargetsApproved, TargetsBase}

// ProgramChoices are the Programs constants, the default one first.
var ProgramChoices = []string{ProgramsWriters, ProgramsApproved, ProgramsBase, ProgramsNever}

// A Cancelled is the cause of a context that ends a review whose result
// nobody waits for any more. Both statuses of the commit say its reason; no
// report is stored and no comment written. The statuses of its groups are left
// to [Reviewer.Settle], since the next head must not wait for them.
type Cancelled struct {
	Reason string
	// Within bounds how long the forge is given to take it. Defaults to 30 s, as
	// for every context that ends.
	Within time.Duration
	// Superseded means that another head has taken the place of this one, or none.
	// Then the review writes nothing more, not even what it has found out, so that
	// the next one does not wait: its last word is for [Reviewer.Supersede].
	Superseded bool
}

// drainTimeout is how long a forge is given to take what is said after the end of a
// context.
const drainTimeout = 30 * time.Second

// lasting is a context for what has to be said although ctx ends, for a while
// after that. If the head was superseded, only what was sent is finished.
func lasting(ctx context.Context) (late context.Context, cancel context.CancelFunc) {
	sent, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late, drop := context.WithCancel(priority.Finishing(sent, sent))
	context.AfterFunc(ctx, func() {
		within := drainTimeout
		if a, ok := errors.AsType[*Cancelled](context.Cause(ctx)); ok {
			within = cmp.Or(a.Within, drainTimeout)
			if a.Superseded {
				drop()
			}
		}
		timer := time.NewTimer(within)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-sent.Done():
		}
	})
	return late, cancel
}

// Error is the reason.
func (a *Cancelled) Error() string { return a.Reason }

// whyCancelled is the reason to give up, empty where there is none.
func whyCancelled(ctx context.Context) string {
	var a *Cancelled
	if errors.As(context.Cause(ctx), &a) {
		return a.Reason
	}
	return ""
}

// A Reviewer makes reviews of one repository.
type Reviewer struct{ cfg Config }

// New returns a Reviewer.
func New(cfg Config) *Reviewer {
	cfg.Known = cmp.Or(cfg.Known, cfg.Repository.String())
	cfg.Clock = clock.Or(cfg.Clock)
	if cfg.Sharers == nil && cfg.Client != nil {
		cfg.Sharers = forgeSharers{cfg.Client, cfg.Repository}
	}
	return &Reviewer{cfg}
}

// A Review is one commit on its way to a report. [Review.Run] takes it through four
// steps, each of which returns what the next one needs: prepare fetches both sides and
// plans, judge carries the plan out, publish writes the report to the forge, and announce
// shows meanwhile that a verdict will come. No step changes the review.
type Review struct {
	Config
	head string
	// refs are fetched: where head and base are found. known are those of them
	// whose history is of people who may write.
	refs, known []string
	// base is a commit or one of refs; head is compared with the merge base.
	base string
	// rules say whose gavel.yaml decides; zero where that is head's.
	rules report.Rules
	// number is the pull request in whose name it is judged, 0 for a push. That
	// of a merge group gets no comment.
	number int
	queued bool
	// level is what samples of head are stored under.
	level ledger.Level
	trust forge.Trust
	// outsider returns why programs of the head need an approval: who opened the pull
	// request or pushed its head may not write. It is nil for what is not a pull
	// request.
	outsider func(context.Context) string
	// merged means that programs of the head are run as they are: it is what
	// the default branch has, or what somebody who may merge has queued.
	merged bool
	// loaded keeps every case of the plan, also those that are not judged.
	loaded bool
	// closed is a pull request that is not open; id is its repository's.
	closed bool
	id     int64
	// pushed is when the head came, as far as that is known.
	pushed time.Time
	// again completes the check run again, see [Reviewer.Answer].
	again bool
	// schedule is set where head is judged again because it is time.
	schedule *Schedule
	// commands are what people asked for, see [Review.Follow]; approved is whether head was.
	commands          command.Commands
	follows, approved bool
	// planned receives the contexts of the groups that get a status, see Planned.
	planned func(groups []string) error
}

// A judgement is how far looking at a head came.
type judgement struct {
	// report is nil where nothing may be looked at, and after an error.
	report *report.Report
	// fresh asks for a new comment when the verdict changes.
	fresh bool
	// validate is the status of validation, nil before that is done.
	validate *comment.Status
	// groups are the contexts of the groups that get a status.
	groups []string
}

// Pull is a review of a pull request as it is now. event is why it is looked
// at, empty for by hand.
func (r *Reviewer) Pull(ctx context.Context, number int, event string) (*Review, error) {
	pull, err := r.cfg.Client.Pull(ctx, r.cfg.Repository, number)
	if err != nil {
		return nil, fmt.Errorf("read the pull request: %w", err)
	}
	permission, err := r.cfg.Client.Permission(ctx, r.cfg.Repository, pull.Author)
	var refused *forge.DeniedError
	if err != nil && !errors.As(err, &refused) {
		return nil, err // another try may tell
	}
	cfg := r.cfg
	cfg.Repository = pull.Repo // as it is called now, and written
	decide, err := r.rulesFor(ctx, pull.Repo, pull.BaseRef, pull.DefaultBranch)
	if err != nil {
		return nil, err
	}
	out := &Review{
		Config: cfg, head: pull.HeadSHA, base: pull.BaseSHA, number: number, level: ledger.LevelPull, closed: !pull.Open, id: pull.RepoID,
		refs:  []string{"refs/heads/" + pull.BaseRef, fmt.Sprintf("refs/pull/%d/head", number)},
		known: []string{"refs/heads/" + pull.BaseRef},
		trust: forge.Trusted(event, &pull, permission),
	}
	out.follow(decide)
	var asked sync.Once
	var stranger string
	out.outsider = func(ctx context.Context) string { // each process that judges the head decides by one answer
		asked.Do(func() { stranger = out.stranger(ctx, pull) })
		return stranger
	}
	if !pull.Fork && cfg.listed(forge.User{ID: pull.AuthorID, Bot: pull.Bot}) {
		out.trust = forge.Trust{Run: true} // no forge tells what a bot may do, and the operator vouches for it
	}
	return out, nil
}

// ErrNoBase means that a push to another branch than the default one has nothing
// that it could be compared with.
var ErrNoBase = errors.New("there is nothing to compare with")

// Commit is a review of the commit of a merge queue or of a push. A push to the
// default branch is compared with what it replaced, if anything, and what is
// judged there is base's from now on. A push to another branch is compared with
// the default branch. The error is [ErrNoBase] where that is not known.
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
		// Results that its pull request has paid for serve the group, too.
		group, _ := forge.Queued(event.HeadRef)
		out.base, out.merged, out.number, out.queued = event.BaseSHA, true, group.Number, true
	case event.BaseRef == event.HeadRef:
		out.base, out.level, out.merged = event.BaseSHA, ledger.LevelBase, true
	case event.BaseRef != "":
		out.base = "refs/heads/" + event.BaseRef
	}
	out.known = out.refs[1:]
	if out.merged {
		out.known = out.refs
	}
	if out.base == "" && !out.accepted() {
		return nil, fmt.Errorf("the push to %s: %w", event.HeadRef, ErrNoBase)
	}
	if !out.accepted() {
		decide, err := r.cfg.vouched(event.BaseRef, event.DefaultBranch)
		if err != nil {
			return nil, fmt.Errorf("the %s of %s: %w", event.Name, event.HeadRef, err)
		}
		out.follow(decide)
	}
	return out, nil
}

// Head is the commit that is reviewed.
func (r *Review) Head() string { return r.head }

// RepositoryID survives renames. It is 0 where the forge does not tell it, and
// for what is not a pull request.
func (r *Review) RepositoryID() int64 { return r.id }

// Pushed says when the head came: of two, the newer is published first. Without
// it that is the time of each write.
func (r *Review) Pushed(at time.Time) { r.pushed = at }

// Trusted reports whether the head may be run, which an approval changes.
func (r *Review) Trusted() bool { return r.trust.Run }

// Closed reports whether it is a pull request that is not open.
func (r *Review) Closed() bool { return r.closed }

// Run judges and publishes. Where the verdict does not come within a few seconds
// both statuses are pending until then. unpublished is what the forge did not
// take, which changes no verdict; err is why there is no report, and then both
// statuses say so; it is a [Cancelled] where they say that. Either is a
// [Cancelled] where the head was superseded. There is neither where nothing may
// be looked at, see [ForksNever].
func (r *Review) Run(ctx context.Context) (report *report.Report, unpublished, err error) {
	// The head must not stay pending, even when the run was cancelled.
	late, end := lasting(ctx)
	defer end()
	if r.Forks == ForksNever && !r.trust.Run {
		return nil, r.hindered(ctx, late, comment.Unapprovable, "not judged: "+r.trust.Reason, judgement{}), nil
	}
	last, err := r.recall(ctx)
	if err != nil {
		return nil, nil, err
	}
	said := r.announce(ctx, late)
	came, err := r.judge(ctx, last, said)
	said.end()
	why := whyCancelled(ctx)
	var declined *DeclinedError
	switch {
	case err != nil && superseded(ctx) != nil:
		return nil, nil, superseded(ctx)
	case err != nil && why != "":
		if err := r.settle(ctx, late, why, judgement{validate: came.validate}); err != nil {
			return nil, nil, err
		}
		return nil, nil, &Cancelled{Reason: why}
	case errors.As(err, &declined):
		return nil, r.Decline(ctx, declined.Reason), nil
	case err != nil:
		const broken = "gavel could not judge this head; see the log of its run"
		return nil, nil, errors.Join(err, r.settle(ctx, late, broken, came))
	}
	unpublished = r.publish(ctx, late, came, why == "")
	if unpublished != nil && superseded(ctx) != nil {
		unpublished = superseded(ctx)
	}
	return came.report, unpublished, nil
}

// recall returns the newest report of head that is stored; nil if there is none, or if
// head is judged again because it is time.
func (r *Review) recall(ctx context.Context) (*report.Report, error) {
	if r.Recall == nil || r.schedule != nil {
		return nil, nil
	}
	return r.Recall(ctx, r.number, r.head)
}

// superseded is why nobody waits for a head any more, nil where somebody does or
// where it has to say so itself.
func superseded(ctx context.Context) error {
	if a, ok := errors.AsType[*Cancelled](context.Cause(ctx)); ok && a.Superseded {
		return a
	}
	return nil
}

// settle sets the statuses of a head without a verdict to the reason, also on the groups
// that are known by now. ctx ends the tries and late each of them.
func (r *Review) settle(ctx, late context.Context, why string, came judgement) error {
	return r.hindered(ctx, late, "", why, came)
}

// hindered is settle for what waits for people.
func (r *Review) hindered(ctx, late context.Context, hold comment.Hold, why string, came judgement) error {
	late = r.worth(late, priority.Verdict)
	if r.schedule != nil {
		return r.setStatuses(late, comment.Status{Context: comment.ContextDrift, State: comment.StateError, Description: why})
	}
	var all []comment.Status
	for _, context := range append([]string{comment.ContextVerdict, comment.ContextValidate}, came.groups...) {
		said := comment.Status{Context: context, State: comment.StateError, Description: why, Hold: hold}
		if context == comment.ContextValidate && came.validate != nil {
			said = *came.validate
		}
		all = append(all, said)
	}
	return r.Retry.Do(ctx, func() error { return r.setStatuses(late, all...) })
}

// judge looks at both sides, and runs what may be run, when it is its turn. last is the
// stored report of head, nil if there is none.
func (r *Review) judge(ctx context.Context, last *report.Report, said *announcement) (came judgement, err error) {
	turn, err := r.awaitTurn(ctx, last, said)
	if err != nil {
		return came, err
	}
	defer turn.End()
	found, err := r.prepare(ctx, last)
	if found.repo != nil {
		defer found.repo.Close()
	}
	came.fresh, came.groups = found.fresh, found.groups
	var over *pack.ExcessError
	switch {
	case errors.As(err, &over):
		came.report, err = r.refuse(ctx, over)
		return came, err
	case err != nil:
		return came, err
	case turn.Run != "":
		came.report, err = Stored(ctx, r.Ledger, turn.Run)
		return came, err
	case found.prepared == nil:
		came.report = last
		return came, nil
	}
	validate := comment.NewValidateStatus(found.prepared.Problems)
	came.validate = &validate
	said.planned(validate, judges(found.prepared, found.execution))
	found.execution.Waits = said.waits
	came.report, err = r.Execute(ctx, found.prepared, found.execution)
	return came, err
}

// awaitTurn waits until head may be looked at. The End of the turn is never nil.
func (r *Review) awaitTurn(ctx context.Context, last *report.Report, said *announcement) (Turn, error) {
	if r.Turn == nil {
		return Turn{End: func() {}}, nil
	}
	head := r.QueuedHead()
	head.Waits = said.queued
	head.Subject = func(ctx context.Context) Subject {
		return r.subject(ctx, sides{base: r.base, rules: r.rules}, last)
	}
	turn, err := r.Turn(ctx, head)
	if err != nil {
		return Turn{}, err
	}
	said.begins()
	return turn, nil
}

// isCurrent reports whether the stored report of head is still complete:
// compared with the same commit, with nothing left open, and not held back for
// a reason that is gone.
func (r *Review) isCurrent(ctx context.Context, at sides, last *report.Report) (bool, error) {
	base, err := r.comparedWith(ctx, at)
	if err != nil {
		return false, err
	}
	before := ""
	if last.Base != nil {
		before = *last.Base
	}
	if before != base || !r.decided(at).Same(last.Rules) || last.NotRunReason != r.notRun(at) || !report.SameCommands(last.Commands, r.commands.Followed) {
		return false, nil
	}
	return last.NotRunReason != "" || !open(last), nil
}

// comparedWith is the commit that head is compared with, empty for none.
func (r *Review) comparedWith(ctx context.Context, at sides) (string, error) {
	if at.base == "" {
		return "", nil
	}
	tip, err := at.repo.Resolve(ctx, at.base)
	if err != nil {
		return "", err
	}
	return at.repo.MergeBase(ctx, tip, r.head)
}

// accepted reports whether the head is what a base branch has.
func (r *Review) accepted() bool { return r.level >= ledger.LevelBase }
