// Package review brings a pull request, or a commit of a merge queue or of a push, from
// the forge to its verdicts and back: it reads its state from the forge, determines
// whether it may run, plans and judges it, and publishes the report.
//
// Most callers create a [Reviewer] for a repository, get a [Review] by [Reviewer.Pull]
// or [Reviewer.Commit], and call [Review.Run]. The verdicts are stored before any of
// them is published, and postings that a forge refuses stay in the outbox for the next
// review.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/notify"
)

// A Config is the common configuration of one repository's reviews.
type Config struct {
	// Client is nil without a forge: then nothing is published.
	Client     *forge.Client
	Repository forge.Repo
	// Known is the ledger's name of the repository, which stays when it is renamed.
	// Defaults to Repository's.
	Known  string
	Ledger *ledger.Ledger
	// Fetch fetches refs as [gitrepo.Mirror.FetchSource] does, and returns their commits in
	// the same order. The review closes the repository.
	Fetch func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error)
	// Making runs the programs that make parts of definitions.
	Making controller.Making
	// Execute executes a plan and stores its report.
	Execute controller.Executor
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	LookupEnv  func(name string) (string, bool)
	// Login is the credential's account, if it cannot be looked up.
	Login string
	// WebURL is the root of the forge's pages, such as https://github.com;
	// RunURL is the page of this run, or empty.
	WebURL, RunURL string
	// ReportURL is the address of the comment's full report. Defaults to RunURL.
	ReportURL string
	// Hint accompanies the suggested commands, see [Review.Follow]: it explains who
	// reads them, if that is not obvious.
	Hint string
	// Sharers knows which pull requests have a commit as their head. Defaults to asking
	// the forge.
	Sharers comment.Sharers
	// Log is called with a log line.
	Log func(line string)

	// Retry bounds retries of the forge. Defaults to one try, for callers that come
	// back by themselves.
	Retry forge.Retry
	// Clock measures the time of judging. Defaults to the machine's.
	Clock clock.Clock
	// Forks is the treatment of pull requests that may not run: one of the Forks
	// constants. Defaults to [ForksApprove].
	Forks string
	// Programs decides which programs of an unmerged head run: one of the Programs
	// constants. Defaults to [ProgramsWriters].
	Programs string
	// Branches are the branches whose gavel.yaml, at their tips, decides about pull
	// requests to them. The default branch's decides about all others.
	Branches []string
	// Targets decides whose changes of the targets' data under test, such as the model,
	// are judged: one of the Targets constants. Defaults to [TargetsWriters].
	Targets string
	// Day is the operator's daily limit, besides the limits of gavel.yaml. Defaults to
	// no limits.
	Day config.Limits
	// Bots are the ids of bot accounts that count as people with write permission.
	Bots []int64
	// Recall returns the newest stored report of a commit, or nil. A report without
	// open cases is published again, so that a second look costs and changes nothing.
	// Defaults to recalling nothing.
	Recall func(ctx context.Context, number int, head string) (*report.Report, error)
	// OwnOnly leaves other reviews' unpublished items to them. It is set if several
	// reviews of a repository run at once.
	OwnOnly bool
	// Notices sends what the notify of the deciding gavel.yaml asks for. Defaults to
	// nothing.
	Notices *notify.Sender
	// Deadline bounds the work on a head before judging: fetching, loading and
	// planning. Defaults to 2 minutes.
	Deadline time.Duration
	// Turn waits until a head may be examined. Meanwhile its commit shows that it is
	// known. The error is a [DeclinedError] for a head that is not examined. Defaults
	// to no wait.
	Turn func(ctx context.Context, w QueuedHead) (Turn, error)
}

// The treatments of pull requests from forks, or from authors without write permission.
const (
	ForksApprove = "approve" // a plan, and a run after an approval
	ForksPlan    = "plan"    // a plan
	ForksNever   = "never"   // only two statuses with the reason
)

// The programs that run.
const (
	ProgramsBase     = "base-only" // programs that are the same at base
	ProgramsApproved = "approved"  // also programs of an approved head
	ProgramsWriters  = "writers"   // also programs of a head that people with write permission opened and pushed
	ProgramsNever    = "never"     // none
)

// The changes of the targets' data under test that are judged.
const (
	TargetsBase     = "base-only" // nobody's
	TargetsApproved = "approved"  // changes of an approved head
	TargetsWriters  = "writers"   // also changes by people with write permission
)

// TargetChoices are the Targets constants, the default one first.
var TargetChoices = []string{TargetsWriters, TargetsApproved, TargetsBase}

// ProgramChoices are the Programs constants, the default one first.
var ProgramChoices = []string{ProgramsWriters, ProgramsApproved, ProgramsBase, ProgramsNever}

// A Cancelled is the cause of a context that ends a review whose result nobody waits
// for any more. Both statuses of the commit show its reason; no report is stored and no
// comment written. The statuses of its groups are left to [Reviewer.Settle], since the
// next head must not wait for them.
type Cancelled struct {
	Reason string
	// Within bounds the forge's time to accept it. Defaults to 30 s, as for every ended
	// context.
	Within time.Duration
	// Superseded means that another head, or none, has replaced this one. Then the
	// review writes nothing more, not even its results, so that the next one does not
	// wait: its final status is left to [Reviewer.Supersede].
	Superseded bool
	// Resumes means that the head is judged later. A head with a stored verdict then keeps
	// it, unless its statuses are pending.
	Resumes bool
	// Err is the cause, where the run ends in another way for it, such as
	// [run.ErrHandedOver]; nil for others.
	Err error
}

// drainTimeout bounds the forge's time for writes after the end of a context.
const drainTimeout = 30 * time.Second

// lasting returns a context for writes that are necessary although ctx ends, for a
// while after that. If the head was superseded, only sent writes are finished.
func lasting(ctx context.Context) (late context.Context, cancel context.CancelFunc) {
	sent, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late, drop := context.WithCancel(forge.Finishing(sent, sent))
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

// Error returns the reason.
func (a *Cancelled) Error() string { return a.Reason }

// Unwrap returns the cause.
func (a *Cancelled) Unwrap() error { return a.Err }

// whyCancelled returns the reason for cancelling, or an empty string.
func whyCancelled(ctx context.Context) string {
	var a *Cancelled
	if errors.As(context.Cause(ctx), &a) {
		return a.Reason
	}
	return ""
}

// A Reviewer creates reviews of one repository.
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

// A Review is one commit on its way to a report. [Review.Run] has four steps, each of
// which returns the next one's input: prepare fetches both sides and plans, judge
// executes the plan, publish writes the report to the forge, and announce shows
// meanwhile that a verdict will come. No step changes the review.
type Review struct {
	Config
	// branch is the branch of head, which the pages and reports show.
	branch, head string
	// refs are fetched: they contain head and base. known are the ones with a history
	// by people with write permission.
	refs, known []string
	// base is a commit or one of refs; head is compared with the merge base.
	base string
	// mergeBase returns the merge base of base and head as the forge reports it, empty if
	// it does not. It is nil if only the history says it.
	mergeBase func(context.Context) string
	// rules name the branch whose gavel.yaml decides; zero if head's does.
	rules report.Rules
	// number is the pull request in whose name it is judged, 0 for a push. A merge
	// group's gets no comment.
	number int
	queued bool
	// level is the trust under which head's samples are stored.
	level ledger.Level
	trust forge.Trust
	// outsider returns the reason why programs of the head need an approval: the person
	// who opened the pull request or pushed its head may not write. It is nil for other
	// commits.
	outsider func(context.Context) string
	// merged means that programs of the head run unchanged: the default branch has it,
	// or somebody who may merge has queued it.
	merged bool
	// loaded keeps every case of the plan, even if it is not judged.
	loaded bool
	// closed means that the pull request is not open; id is its repository's.
	closed bool
	id     int64
	// pushed is the time of the head's push, if known.
	pushed time.Time
	// again creates the check run again, see [Reviewer.Answer].
	again bool
	// schedule is set if head is judged again by schedule.
	schedule *Schedule
	// commands are the people's commands, see [Review.Follow]; approved means that head
	// was approved.
	commands          command.Commands
	follows, approved bool
	// planned receives the contexts of the groups that get a status, see Planned.
	planned func(groups []string) error
}

// A judgement is the result of examining a head.
type judgement struct {
	// report is nil if nothing may be examined, and after an error.
	report *report.Report
	// fresh requests a new comment if the verdict changes, and quiet none where nothing is
	// affected.
	fresh, quiet bool
	// notify are the addresses that the deciding gavel.yaml has notified.
	notify []config.Notify
	// validate is the status of validation, nil before.
	validate *comment.Status
	// groups are the contexts of the groups that get a status.
	groups []string
}

// Pull returns a review of a pull request in its current state. event is the cause of
// the look, empty if started by hand.
func (r *Reviewer) Pull(ctx context.Context, number int, event string) (*Review, error) {
	pull, err := r.cfg.Client.Pull(ctx, r.cfg.Repository, number)
	if err != nil {
		return nil, fmt.Errorf("read the pull request: %w", err)
	}
	permission, err := r.cfg.Client.Permission(ctx, r.cfg.Repository, pull.Author)
	var refused *forge.DeniedError
	if err != nil && !errors.As(err, &refused) {
		return nil, err // another try may succeed
	}
	cfg := r.cfg
	cfg.Repository = pull.Repo // under its current name and spelling
	decide, err := r.rulesFor(ctx, pull.Repo, pull.BaseRef, pull.DefaultBranch)
	if err != nil {
		return nil, err
	}
	out := &Review{
		Config: cfg, branch: pull.HeadRef, head: pull.HeadSHA, base: pull.BaseSHA, number: number, level: ledger.LevelPull, closed: !pull.Open, id: pull.RepoID,
		refs:  []string{"refs/heads/" + pull.BaseRef, fmt.Sprintf("refs/pull/%d/head", number)},
		known: []string{"refs/heads/" + pull.BaseRef},
		trust: forge.Trusted(event, &pull, permission),
	}
	out.follow(decide)
	out.mergeBase = once(func(ctx context.Context) string { return out.askMergeBase(ctx, pull.BaseSHA) })
	out.outsider = once(func(ctx context.Context) string { return out.stranger(ctx, pull) }) // all processes that judge the head share one answer
	if !pull.Fork && cfg.listed(forge.User{ID: pull.AuthorID, Bot: pull.Bot}) {
		out.trust = forge.Trust{Run: true} // no forge reports a bot's permission, and the operator vouches for it
	}
	return out, nil
}

// ErrNoBase means that a push to a branch other than the default one has nothing to
// compare with.
var ErrNoBase = errors.New("there is nothing to compare with")

// Commit returns a review of the commit of a merge queue or of a push. A push to the
// default branch is compared with the replaced commit, if any, and its results become
// base's. A push to another branch is compared with the default branch. The error is
// [ErrNoBase] if that is unknown.
func (r *Reviewer) Commit(event forge.Event) (*Review, error) {
	out := &Review{
		Config: r.cfg, branch: event.HeadRef, head: event.HeadSHA, level: ledger.LevelPull, refs: []string{"refs/heads/" + event.HeadRef},
		trust: forge.Trusted(event.Name, nil, forge.PermissionUnknown),
	}
	if event.BaseRef != "" && event.BaseRef != event.HeadRef {
		out.refs = append(out.refs, "refs/heads/"+event.BaseRef)
	}
	switch {
	case event.Name == forge.EventMergeGroup:
		// Results that its pull request has paid for are also valid for the group.
		group, _ := forge.Queued(event.HeadRef)
		out.base, out.merged, out.number, out.queued = event.BaseSHA, true, group.Number, true
	case event.BaseRef == event.HeadRef:
		out.base, out.level, out.merged = event.BaseSHA, ledger.LevelBase, true
	case event.BaseRef != "":
		out.base = "refs/heads/" + event.BaseRef
	}
	if event.IsBelow && out.base != "" {
		out.mergeBase = func(context.Context) string { return out.base }
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

// Head returns the reviewed commit.
func (r *Review) Head() string { return r.head }

// RepositoryID returns the id, which survives renames. It is 0 if the forge does not
// report it, and for commits outside of pull requests.
func (r *Review) RepositoryID() int64 { return r.id }

// Pushed sets the time of the head's push: of two, the newer is published first. It
// defaults to the time of each write.
func (r *Review) Pushed(at time.Time) { r.pushed = at }

// Trusted reports whether the head may run, which an approval changes.
func (r *Review) Trusted() bool { return r.trust.Run }

// Closed reports whether it is a closed pull request.
func (r *Review) Closed() bool { return r.closed }

// Run judges and publishes. If the verdict takes more than a few seconds, both statuses
// are pending until then. unpublished is the part that the forge refused, which changes
// no verdict; err is the reason why there is no report, and then both statuses show it;
// it is a [Cancelled] if they show that, and a [HinderedError] if another try shows the
// same. Either is a [Cancelled] if the head was
// superseded. Both are nil if nothing may be examined, see [ForksNever].
func (r *Review) Run(ctx context.Context) (report *report.Report, unpublished, err error) {
	// The head must not stay pending, even if the run was cancelled.
	late, end := lasting(ctx)
	defer end()
	if r.Forks == ForksNever && !r.trust.Run {
		return nil, r.hindered(ctx, late, comment.Unapprovable, "not judged: "+r.trust.Reason, judgement{}), nil
	}
	last, err := r.recall(ctx)
	if err != nil {
		return nil, nil, err
	}
	if r.Client != nil {
		defer r.Client.Await()()
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
		end := r.settle
		if last != nil && resumes(ctx) {
			end = r.endPending
		}
		if err := end(ctx, late, why, judgement{validate: came.validate}); err != nil {
			return nil, nil, err
		}
		return nil, nil, &Cancelled{Reason: why}
	case errors.As(err, &declined):
		return nil, r.Decline(ctx, declined.Reason), nil
	case err != nil:
		return nil, nil, r.explain(ctx, late, err, came)
	}
	unpublished = r.publish(ctx, late, came, why == "")
	if unpublished != nil && superseded(ctx) != nil {
		unpublished = superseded(ctx)
	}
	return came.report, unpublished, nil
}

// recall returns the newest stored report of head, or nil if there is none, or if head
// is judged again by schedule.
func (r *Review) recall(ctx context.Context) (*report.Report, error) {
	if r.Recall == nil || r.schedule != nil {
		return nil, nil
	}
	return r.Recall(ctx, r.number, r.head)
}

// superseded returns the reason why nobody waits for a head any more, nil if somebody
// does or if the head itself must publish it.
func superseded(ctx context.Context) error {
	if a, ok := errors.AsType[*Cancelled](context.Cause(ctx)); ok && a.Superseded {
		return a
	}
	return nil
}

// resumes reports whether the head is judged later.
func resumes(ctx context.Context) bool {
	a, ok := errors.AsType[*Cancelled](context.Cause(ctx))
	return ok && a.Resumes
}

// endPending is settle for a head that has a verdict: only pending statuses are replaced.
func (r *Review) endPending(_, late context.Context, why string, came judgement) error {
	return r.statuses().EndPending(r.worth(late, forge.WorthVerdict), r.head, r.linked(r.ended("", why, came))...)
}

// settle sets the statuses of a head without a verdict to the reason, also on its known
// groups. ctx ends the tries and late each of them.
func (r *Review) settle(ctx, late context.Context, why string, came judgement) error {
	return r.hindered(ctx, late, "", why, came)
}

// hindered is settle for a head that waits for people.
func (r *Review) hindered(ctx, late context.Context, hold comment.Hold, why string, came judgement) error {
	late = r.worth(late, forge.WorthVerdict)
	if r.schedule != nil {
		return r.setStatuses(late, comment.Status{Context: comment.ContextDrift, State: comment.StateError, Description: why})
	}
	all := r.ended(hold, why, came)
	return r.Retry.Do(ctx, func() error { return r.setStatuses(late, all...) })
}

// ended returns the statuses of a head without a verdict.
func (r *Review) ended(hold comment.Hold, why string, came judgement) (all []comment.Status) {
	for _, context := range append([]string{comment.ContextVerdict, comment.ContextValidate}, came.groups...) {
		said := comment.Status{Context: context, State: comment.StateError, Description: why, Hold: hold}
		if context == comment.ContextValidate && came.validate != nil {
			said = *came.validate
		}
		all = append(all, said)
	}
	return all
}

// judge examines both sides, and runs the allowed cases, when it is its turn. last is
// the stored report of head, or nil.
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
	came.fresh, came.quiet, came.groups, came.notify = found.fresh, found.quiet, found.groups, found.notify
	var over *pack.ExcessError
	switch {
	case errors.As(err, &over):
		came.report, err = r.refuse(ctx, over)
		return came, err
	case err != nil:
		return came, err
	case turn.Run != "":
		return r.adopt(ctx, turn.Run, came)
	case found.prepared == nil:
		came.report = last
		return came, nil
	}
	validate := comment.NewValidateStatus(found.prepared.Problems)
	came.validate = &validate
	said.planned(validate, judges(found.prepared, found.execution))
	found.execution.Waits = said.waits
	came.report, err = r.Execute(ctx, found.prepared, found.execution)
	if errors.Is(err, errUnchanged) {
		came.report, err = last, nil
	}
	return came, err
}

// adopt takes the report of a run that another process judged, which had no forge, and
// stores its items to publish.
func (r *Review) adopt(ctx context.Context, run string, came judgement) (judgement, error) {
	var err error
	if came.report, err = Stored(ctx, r.Ledger, run); err != nil {
		return came, err
	}
	items, err := r.outbox(ctx, came)
	if err != nil {
		return came, err
	}
	return came, r.Ledger.AddItems(ctx, run, items...)
}

// awaitTurn waits until head may be examined. The End of the turn is never nil.
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

// restsOnSame reports whether a stored report of head was made for the same comparison:
// with the same commit, rules and commands, and not held back for an obsolete reason.
func (r *Review) restsOnSame(ctx context.Context, at sides, last *report.Report) (bool, error) {
	base, err := r.comparedWith(ctx, at)
	if err != nil {
		return false, err
	}
	before := ""
	if last.Base != nil {
		before = *last.Base
	}
	return before == base && r.decided(at).Same(last.Rules) && last.NotRunReason == r.notRun(at) && report.SameCommands(last.Commands, r.commands.Followed), nil
}

// comparedWith returns the commit that head is compared with, empty for none.
func (r *Review) comparedWith(ctx context.Context, at sides) (string, error) {
	if at.base == "" {
		return "", nil
	}
	tip, err := at.repo.Resolve(ctx, at.base)
	if err != nil || at.ancestor {
		return tip, err
	}
	base, _, err := at.repo.ComparedWith(ctx, tip, r.head)
	return base, err
}

// accepted reports whether the head is on a base branch.
func (r *Review) accepted() bool { return r.level >= ledger.LevelBase }
