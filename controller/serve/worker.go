package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
	"github.com/gavel-evals/gavel/controller/tracing"
)

// A worker does the due work. It is safe for concurrent use.
type worker struct {
	cfg      Config
	state    *ledger.ServerState
	loop     *reconcile.Loop[Key]
	registry *registry
	reports  *reportIndex
	slots    *slotPool
	guard    *crashguard.Guard
	causes   tracing.Causes[Key]
	// labels are the newest labels that ask for a run and were not looked at yet:
	// *forge.Labeled by Key. They are lost with the process, as any hint is.
	labels sync.Map
	// lacking are the branches that pull requests could not be judged without: names by Key.
	// After a restart all pull requests are looked at.
	lacking sync.Map

	mu sync.Mutex
	// The fields below are guarded by mu.
	heads     map[Key]string          // that are being judged, or wait for their turn
	queued    map[crashguard.Head]int // how many keys wait for the turn of a head
	swept     map[sweptCommit]sweepRun
	cancelled map[Key]cancellation // why those runs have to end
}

// connect creates the reviewer and the inbox of a repository.
func (w *worker) connect(repo *repository) {
	name := repo.name.String()
	policy := w.registry.currentPolicy()
	repo.reviewer = review.New(review.Config{
		Sharers: sharers{repo},
		Client:  repo.Client, Repository: repo.name, Known: repo.ledgerName, Ledger: w.cfg.Ledger, Fetch: repo.fetch,
		Making: w.cfg.Making, Execute: w.cfg.Execute, ConfigFile: repo.ConfigFile, LookupEnv: w.cfg.LookupEnv, WebURL: repo.WebURL,
		Log:   func(line string) { w.cfg.Observer.Log(name, line) },
		Forks: policy.Forks, Programs: policy.Programs, Targets: policy.Targets, Bots: policy.Bots, Day: policy.Day, Branches: repo.branches, Deadline: policy.Deadline, OwnOnly: true, Notices: w.cfg.Notices,
		Turn: func(ctx context.Context, waiting review.QueuedHead) (review.Turn, error) {
			return w.turn(ctx, repo, waiting)
		},
		Clock: w.cfg.Clock,
		Recall: func(ctx context.Context, number int, head string) (*report.Report, error) {
			return w.reports.report(ctx, reportKey{repo.ledgerName, number, head})
		},
	})
	if repo.Client != nil {
		repo.inbox = w.newInbox(repo)
	}
}

// reconcile brings a key to its state.
func (w *worker) reconcile(ctx context.Context, key Key) (err error) {
	ctx, span := w.cfg.Tracer.Root(ctx, "reconcile", w.causes.Take(key))
	span.Text("gavel.kind", string(key.Kind)).Text("gavel.repository", w.registry.keyName(key))
	defer func() { span.End(err) }()
	repo := w.registry.repo(key.Repository)
	if repo == nil {
		return nil // it is not listed any more
	}
	switch key.Kind {
	case Scheduled:
		return next(w.scheduled(ctx, repo, key))
	case CheckRerun:
		return next(w.rerun(ctx, repo, key.Ref))
	case Rules:
		return next(w.rules(ctx, repo, key.Ref))
	case Sweep:
		if err := w.sweep(ctx, repo); err != nil {
			return &reconcile.Stall{Err: err} // each poll comes back to it
		}
		return nil
	}
	r, err := w.review(ctx, repo, key)
	if err != nil || r == nil {
		return next(err)
	}
	r.Log = func(line string) { w.cfg.Observer.Log(w.registry.keyName(key), line) }
	commands, unread, err := w.accept(ctx, repo, key, r)
	if err == nil && commands.Cancelled == "" {
		err = w.run(ctx, key, r)
		if err == nil && commands.Waiting {
			w.loop.Add(key) // there is a report now
		}
	}
	err = next(errors.Join(err, unread))
	return w.answerRerun(ctx, repo, judgedHead{key.number(), key.Ref, r.Head(), commands.Cancelled}, err)
}

// review returns the review that a key needs now, nil for none.
func (w *worker) review(ctx context.Context, repo *repository, key Key) (*review.Review, error) {
	if key.Kind == Branch {
		return w.branch(ctx, repo, key.Ref)
	}
	r, err := repo.reviewer.Pull(ctx, key.Pull, "")
	if err != nil {
		return nil, err
	}
	w.left(repo, repo.heads.note(key.Pull, r.Head(), !r.Closed())...)
	if r.Closed() {
		return nil, nil
	}
	return r, nil
}

// run judges a commit as long as somebody waits for it.
func (w *worker) run(ctx context.Context, key Key, r *review.Review) error {
	w.begin(key, r.Head())
	defer w.end(key)
	w.lacking.Delete(key)
	entry, _, err := w.state.Load(ctx, pendingHead(key, r.Head()))
	if err != nil {
		return err
	}
	entry.Contexts = nil
	if entry.Seen.IsZero() {
		entry.Seen = w.cfg.Clock.Now()
	}
	r.Pushed(entry.Seen)
	if err := w.state.AddPending(ctx, entry); err != nil {
		return err
	}
	late := context.WithoutCancel(ctx)
	if why := w.declined(key.Repository, r.QueuedHead()); why != "" {
		if err := r.Decline(ctx, why); err != nil {
			return err
		}
		return w.state.RemovePending(late, entry)
	}
	r.Planned(func(groups []string) error {
		entry.Contexts = groups
		return w.state.AddPending(late, entry)
	})
	inner, cancel := context.WithCancelCause(late)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(w.why(ctx, key)) })
	defer stop()
	report, unpublished, err := r.Run(inner)
	w.judged(key, r, report)
	var abandoned *review.Cancelled
	if errors.As(errors.Join(err, unpublished), &abandoned) {
		w.cfg.Observer.Log(w.registry.keyName(key), fmt.Sprintf("%.7s: %s", r.Head(), abandoned.Reason))
		if abandoned.Superseded {
			w.end(key) // the sweep passes over heads that are being judged
			w.loop.AddIfIdle(Key{Repository: key.Repository, Kind: Sweep})
			return ctx.Err()
		}
		if len(entry.Contexts) > 0 {
			return ctx.Err() // they are swept up
		}
		return errors.Join(w.state.RemovePending(late, entry), ctx.Err())
	}
	if hindered, ok := errors.AsType[*review.HinderedError](err); ok {
		w.noteLacking(key, hindered)
		w.cfg.Observer.Log(w.registry.keyName(key), fmt.Sprintf("%.7s: %s (%v)", r.Head(), hindered.Reason, hindered))
		return w.state.RemovePending(late, entry)
	}
	if err := errors.Join(err, unpublished); err != nil {
		return err // the sweep settles what stays pending if nobody comes back to it
	}
	return w.state.RemovePending(late, entry)
}

// noteLacking notes the branch that a pull request cannot be judged without, if it is that.
func (w *worker) noteLacking(key Key, err error) {
	missing, ok := errors.AsType[*gitrepo.MissingRefError](err)
	if !ok || key.Kind != PullRequest {
		return
	}
	if branch, ok := strings.CutPrefix(missing.Ref, "refs/heads/"); ok {
		w.lacking.Store(key, branch)
	}
}

// restored makes the pull requests of a repository due whose branch is there again.
func (w *worker) restored(repository int64, tips map[string]string) {
	w.lacking.Range(func(k, branch any) bool {
		if key := k.(Key); key.Repository == repository && tips[branch.(string)] != "" {
			w.lacking.Delete(key)
			w.loop.AddIfIdle(key)
		}
		return true
	})
}

// judged counts a report, unless it was known before.
func (w *worker) judged(key Key, r *review.Review, report *report.Report) {
	// A scheduled report does not count as a stored report of the commit.
	if report == nil || key.Kind != Scheduled && !w.reports.add(key.number(), r.Known, report) {
		return
	}
	w.cfg.Observer.Judged(report)
	w.rulesOf(key.Repository, report)
	if r.Client == nil { // no forge shows it
		w.cfg.Observer.Log(w.registry.keyName(key), fmt.Sprintf("%s at %.7s: %s: %s", key.Ref, r.Head(), report.Gate.Result, report.Gate.Reason))
	}
}

// A cancellation is why the run of a key is not wanted any more.
type cancellation struct {
	reason string
	// superseded means that the sweep publishes this, and not the run.
	superseded bool
}

// why returns the reason for which the run of a key has to end.
func (w *worker) why(ctx context.Context, key Key) *review.Cancelled {
	if !errors.Is(context.Cause(ctx), reconcile.ErrSuperseded) {
		stopped := &review.Cancelled{Reason: "gavel was stopped; judging resumes when it restarts", Within: w.cfg.ShutdownTimeout, Resumes: true}
		if errors.Is(context.Cause(ctx), run.ErrHandedOver) {
			stopped.Err = run.ErrHandedOver
		}
		return stopped
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cancelled[key]
	return &review.Cancelled{Reason: now.reason, Within: w.cfg.ShutdownTimeout, Superseded: now.superseded}
}

// begin ends the sweep of the head, if one is running: its statuses must not come after
// the new ones.
func (w *worker) begin(key Key, head string) {
	for {
		w.mu.Lock()
		at, there := w.swept[sweptCommit{key.Repository, head}]
		if !there {
			w.heads[key] = head
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		at.end()
		<-at.done
	}
}

func (w *worker) end(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.heads, key)
	delete(w.cancelled, key)
}

// running returns the heads of a repository that are being judged.
func (w *worker) running(repository int64) map[Key]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	heads := map[Key]string{}
	for key, head := range w.heads {
		if key.Repository == repository {
			heads[key] = head
		}
	}
	return heads
}

// stale reports whether the run of a key is about a head that is not the newest. If
// that cannot be determined the run continues: its report is right for its commit.
func (w *worker) stale(ctx context.Context, key Key) bool {
	w.mu.Lock()
	running := w.heads[key]
	w.mu.Unlock()
	if running == "" {
		return false
	}
	repo := w.registry.repo(key.Repository)
	reason, err := w.passed(ctx, key, running)
	superseded := reason != "" && repo != nil // of others nothing is swept up
	if err == nil && reason == "" && key.Kind == PullRequest && repo != nil {
		reason, err = w.cancelReason(ctx, repo, key)
	}
	if err != nil || reason == "" {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelled[key] = cancellation{reason, superseded}
	return w.heads[key] == running
}

// passed returns why a commit is not the head of a key any more, empty if it is.
func (w *worker) passed(ctx context.Context, key Key, sha string) (string, error) {
	repo := w.registry.repo(key.Repository)
	switch {
	case repo == nil:
		return "gavel stopped watching the repository", nil
	case key.Kind == Scheduled && repo.Schedule == nil:
		return "the schedule was removed", nil
	}
	if key.Kind != PullRequest {
		tip, err := repo.tip(ctx, key.Ref)
		switch {
		case err != nil || tip == sha:
			return "", err
		case tip == "":
			return "the branch is gone", nil
		}
		return superseded(tip), nil
	}
	pull, err := repo.Client.Pull(ctx, repo.name, key.Pull)
	switch {
	case err != nil:
		return "", err
	case pull.HeadSHA != sha:
		return superseded(pull.HeadSHA), nil
	case !pull.Open:
		return "the pull request was closed", nil
	}
	return "", nil
}

func superseded(by string) string { return fmt.Sprintf("superseded by %.7s", by) }

// next chooses by the type of an error what to do next.
func next(err error) error {
	var limit *forge.LimitError
	var denied *forge.DeniedError
	switch {
	case errors.As(err, &limit):
		return &reconcile.Wait{Err: err, After: max(time.Until(limit.Until), time.Second)}
	case errors.As(err, &denied):
		return &reconcile.Stall{Err: err}
	}
	return err
}
