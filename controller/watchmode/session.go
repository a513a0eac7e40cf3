package watchmode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Options configure a Session's runs.
type Options struct {
	Execute controller.Executor
	// Notify is called with every update, by one goroutine.
	Notify func(reporters.WatchUpdate)
	// Ref is the user's name for base.
	Ref string
	// MaxCases and MaxUSD bound the runs that start without asking. Yes never asks.
	MaxCases int
	MaxUSD   float64
	// AskUnpriced also asks if a price is unknown.
	AskUnpriced bool
	Yes         bool
	// Now defaults to time.Now.
	Now func() time.Time
}

// A Session runs the cases affected by each change of a Tree and maintains a Board.
type Session struct {
	tree     *Tree
	opts     Options
	commands chan reporters.WatchCommand
	progress chan controller.Progress
	ended    chan runResult

	// The fields below belong to the goroutine of Run.
	board   reporters.WatchSnapshot
	view    *View // the last one with a plan
	fresh   bool  // look's plan includes all stored results
	blocked bool  // the configuration has errors now
	paused  bool
	refused bool // look's affected cases must not be run
	asked   *question
	current *activeRun
	results results
	rowsAt  time.Time // time of the board's rows
	retired []*View   // still used by the current run

	mu sync.Mutex
	// Details are read from the planned cases' digests and the ledger. planned hides
	// its secrets. Guarded by mu.
	digests map[string]pair
	ledger  *ledger.Ledger
	planned *controller.Prepared
}

// A pair has the digests of a case on both sides.
type pair struct{ head, base plan.Digests }

// An activeRun is a run in progress.
type activeRun struct {
	cancel     context.CancelFunc
	control    *run.Control
	superseded bool
	again      bool            // requested by name, so not the whole plan
	digests    map[string]bool // of its decisions
}

// A question is a plan that waits for an answer.
type question struct {
	plan  *controller.Prepared
	again bool
}

// A runResult is the result of a run.
type runResult struct {
	report *report.Report
	err    error
}

// New returns a Session, which from now on reads the tree's views.
func New(tree *Tree, o Options) *Session {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Session{
		tree: tree, opts: o, commands: make(chan reporters.WatchCommand, 16), progress: make(chan controller.Progress),
		ended: make(chan runResult, 1), results: newResults(), digests: map[string]pair{},
		board: reporters.WatchSnapshot{State: reporters.WatchWaiting, Ref: o.Ref},
	}
}

// Do sends a command to the Session. A command beyond the buffer is dropped.
func (s *Session) Do(c reporters.WatchCommand) {
	select {
	case s.commands <- c:
	default:
	}
}

// Run follows the tree until ctx ends, and returns when all its goroutines have ended.
// Finished results are stored.
func (s *Session) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	looks := make(chan *View)
	var group sync.WaitGroup
	var broken error // set before views is closed
	group.Go(func() {
		defer close(looks)
		defer func() {
			if fault := recover(); fault != nil {
				broken = fmt.Errorf("look at the files: panic: %v", fault)
				cancel()
			}
		}()
		for first := true; ; first = false {
			look, err := s.tree.Next(ctx)
			if err != nil {
				return
			}
			if _, lost := errors.AsType[*gitrepo.LostError](look.Fault); lost && first {
				broken = look.Fault // later faults may come from git moving objects
				cancel()
				return
			}
			select {
			case looks <- look:
			case <-ctx.Done():
				_ = look.Close() // not delivered
				return
			}
		}
	})
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case look, ok := <-looks:
			if ok {
				s.see(ctx, look)
			}
		case p := <-s.progress:
			s.judged(p)
		case e := <-s.ended:
			s.finish(ctx, e)
		case c := <-s.commands:
			s.follow(ctx, c)
		}
	}
	cancel()
	for s.current != nil {
		select {
		case <-s.progress:
		case <-s.ended:
			s.current = nil
		}
	}
	group.Wait()
	s.retire()
	if s.view != nil {
		return errors.Join(broken, s.view.Close())
	}
	return broken
}

// rowsEvery is the interval of rebuilding the rows while cases are judged: with
// thousands of rows that takes longer than judging a case.
const rowsEvery = 50 * time.Millisecond

// publish sends a snapshot of the board.
func (s *Session) publish(kind reporters.WatchKind, more func(*reporters.WatchUpdate)) {
	if now := s.opts.Now(); kind != reporters.WatchJudged || now.Sub(s.rowsAt) >= rowsEvery {
		s.board.Rows, s.rowsAt = s.results.rows(), now
	}
	s.board.State = s.state()
	u := reporters.WatchUpdate{Kind: kind, Snapshot: s.board}
	if more != nil {
		more(&u)
	}
	s.opts.Notify(u)
}

func (s *Session) state() reporters.WatchState {
	switch {
	case s.current != nil && s.board.Stopped:
		return reporters.WatchStopping
	case s.current != nil:
		return reporters.WatchRunning
	case s.board.Question != "":
		return reporters.WatchAsking
	case s.paused:
		return reporters.WatchPaused
	}
	return reporters.WatchWaiting
}

// see switches to a new view of the files.
func (s *Session) see(ctx context.Context, look *View) {
	s.board.Error, s.board.Notice = "", look.Notice
	if look.Fault != nil {
		s.board.Error = look.Fault.Error()
		s.publish(reporters.WatchError, nil)
		return
	}
	s.board.Changed, s.board.Differing, s.board.Problems, s.board.Base = look.Changed, look.Differing, look.Problems, look.Base
	s.board.Question, s.asked, s.board.Notices = "", nil, nil
	s.blocked = look.Prepared == nil
	if s.blocked {
		s.results.keepAll(look.Problems)
		s.publish(reporters.WatchPlanned, nil)
		return
	}
	s.board.Notices = look.Prepared.Notices()
	s.replace(look)
	wanted := decisions(look.Prepared.Plan)
	if s.current != nil && (s.current.again || !maps.Equal(s.current.digests, wanted)) {
		// The current run was planned for replaced files. Its cases that are still
		// wanted are finished, and reused by the next run.
		s.current.superseded = true
		s.current.control.Supersede(func(d string) bool { return wanted[d] })
	}
	if err := s.plan(ctx); err != nil {
		s.fault(err)
		return
	}
	s.publish(reporters.WatchPlanned, func(u *reporters.WatchUpdate) { u.Plan = look.Prepared.Plan })
	s.begin(ctx)
}

// replace replaces the current view.
func (s *Session) replace(look *View) {
	if s.view != nil {
		s.retired = append(s.retired, s.view)
	}
	s.view, s.fresh, s.refused = look, true, false
	if s.current == nil {
		s.retire()
	}
}

// remember keeps the digests for details about the view's cases.
func (s *Session) remember() {
	p := s.view.Prepared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger, s.planned = p.Ledger(), p
	for _, r := range p.Plan.Rows {
		if r.Head != nil {
			s.digests[r.Key] = pair{r.HeadDigests, r.BaseDigests}
		}
	}
}

// retire closes unused views.
func (s *Session) retire() {
	for _, look := range s.retired {
		_ = look.Close() // it was only read
	}
	s.retired = nil
}

// decisions returns a plan's digests on both sides.
func decisions(p *plan.Plan) map[string]bool {
	digests := map[string]bool{}
	for _, r := range p.Rows {
		digests[r.HeadDigests.D], digests[r.BaseDigests.D] = true, true
	}
	return digests
}

// notYet is the reason why a plan's report has no verdict on open cases.
const notYet = "not yet"

// plan updates the board from the stored results of the view's cases.
func (s *Session) plan(ctx context.Context) error {
	s.remember()
	report, err := s.view.Prepared.Preview(ctx, notYet)
	if err != nil {
		return err
	}
	p := s.view.Prepared.Plan
	s.board.Problems = s.view.Prepared.Problems
	s.results.planned(report, s.view.Problems)
	s.board.Affected, s.board.Total = 0, p.Rest.Cases
	for i := range p.Rows {
		if p.Rows[i].Head == nil || p.Rows[i].ControlOf != "" {
			continue
		}
		s.board.Total++
		if !p.Rows[i].Unaffected() {
			s.board.Affected++
		}
	}
	s.board.All = s.view.Prepared.Request().All
	s.board.Estimate = s.view.Prepared.Estimate().Estimate
	s.board.Gate = awaiting(report.Gate.FailOn, due(p))
	s.tree.Pin(s.results.failing())
	return nil
}

// begin runs the view's affected cases, if allowed.
func (s *Session) begin(ctx context.Context) {
	if !s.idle() || s.paused || s.refused {
		return
	}
	if !s.fresh {
		prepared, err := prepare(ctx, s.view.Prepared.Request())
		if err != nil {
			s.fault(err)
			return
		}
		s.view.Prepared, s.fresh = prepared, true
	}
	s.ask(ctx, s.view.Prepared, false)
}

// ask runs a plan, or asks first if it is expensive.
func (s *Session) ask(ctx context.Context, p *controller.Prepared, again bool) {
	if q := s.question(p.Estimate()); q != "" {
		s.board.Question, s.asked = q, &question{p, again}
		s.publish(reporters.WatchQuestion, nil)
		return
	}
	s.start(ctx, p, again)
}

// question returns the reason why a plan needs confirmation; empty if it does not.
func (s *Session) question(e controller.Estimate) string {
	much := e.Cases > s.opts.MaxCases || e.USD != nil && *e.USD > s.opts.MaxUSD || e.USD == nil && s.opts.AskUnpriced
	if s.opts.Yes || e.Calls == 0 || !much {
		return ""
	}
	price := ""
	switch {
	case e.USD == nil:
		price = " at an unknown price"
	case *e.USD > 0:
		price = " for about " + textfmt.USD(*e.USD)
	}
	if said := e.Again.String(); said != "" {
		price += " (" + said + ")"
	}
	return fmt.Sprintf("judge %s in about %s%s?", textfmt.Count(e.Cases, "case"), textfmt.Count(e.Calls, "call"), price)
}

// start runs a plan.
func (s *Session) start(ctx context.Context, p *controller.Prepared, again bool) {
	ctx, cancel := context.WithCancel(ctx)
	s.current = &activeRun{cancel: cancel, control: &run.Control{}, again: again, digests: decisions(p.Plan)}
	s.board.Question, s.board.Error, s.board.Stopped, s.asked = "", "", false, nil
	s.board.Line = ""
	s.board.Done, s.board.Due, s.board.Again, s.board.Began = 0, 0, 0, s.opts.Now()
	if s.board.Due = due(p.Plan); s.board.Due > 0 {
		s.publish(reporters.WatchStarted, nil)
	}
	execution := controller.RunOptions{Control: s.current.control, Observe: func(p controller.Progress) { s.progress <- p }}
	go func() {
		defer cancel()
		defer func() {
			if fault := recover(); fault != nil {
				s.ended <- runResult{err: fmt.Errorf("panic: %v", fault)}
			}
		}()
		report, err := s.opts.Execute(ctx, p, execution)
		s.ended <- runResult{report, err}
	}()
}

// judged takes over one finished case.
func (s *Session) judged(p controller.Progress) {
	s.board.Done, s.board.Due, s.board.Again = p.Done, p.Total, p.Again
	if p.Outcome == nil {
		return
	}
	s.board.Spent = s.board.Spent.Add(p.Outcome.Spent)
	s.board.GivenUp += p.Outcome.GivenUp
	if p.Outcome.Stopped {
		return
	}
	var row *reporters.WatchRow
	if !p.Base && p.Again == 0 && !s.current.superseded {
		row = s.results.judged(p.Outcome)
	}
	s.publish(reporters.WatchJudged, func(u *reporters.WatchUpdate) { u.Case = row })
}

// finish takes over a run's results, and continues with pending changes.
func (s *Session) finish(ctx context.Context, e runResult) {
	was := s.current
	s.current, s.fresh = nil, false
	s.retire()
	if e.err != nil {
		s.fault(e.err)
		return
	}
	if was.superseded || s.board.Stopped {
		if err := s.replan(ctx); err != nil {
			s.fault(err)
			return
		}
	}
	if was.superseded {
		s.begin(ctx)
		return
	}
	s.refused = s.board.Stopped
	if !s.board.Stopped {
		s.results.finished(e.report, was.again)
		s.tree.Pin(s.results.failing())
	}
	switch {
	case s.board.Stopped: // the gate is the plan's
	case !was.again:
		s.board.Gate, s.board.Line = e.report.Gate, verdictLine(e.report)
	default:
		if err := s.decide(ctx); err != nil {
			s.fault(err)
			return
		}
	}
	s.publish(reporters.WatchResult, func(u *reporters.WatchUpdate) { u.Report = s.underOneGate(e.report) })
}

// replan plans the current files again with the ledger's results.
func (s *Session) replan(ctx context.Context) error {
	prepared, err := prepare(ctx, s.view.Prepared.Request())
	if err != nil {
		return err
	}
	s.view.Prepared, s.fresh = prepared, true
	return s.plan(ctx)
}

func (s *Session) fault(err error) {
	s.board.Error = err.Error()
	s.publish(reporters.WatchError, nil)
}

// follow executes a user's command.
func (s *Session) follow(ctx context.Context, c reporters.WatchCommand) {
	switch c.Do {
	case reporters.WatchAnswer:
		if asked := s.asked; asked != nil {
			s.start(ctx, asked.plan, asked.again)
		}
	case reporters.WatchDecline:
		s.refused = s.refused || s.asked != nil && !s.asked.again
		s.asked, s.board.Question = nil, ""
		s.publish(reporters.WatchStateChanged, nil)
	case reporters.WatchRerun:
		if s.idle() {
			s.ask(ctx, s.view.Prepared.Rerun(func(key string) bool { return slices.Contains(c.Keys, key) }), true)
		}
	case reporters.WatchAll:
		s.all(ctx)
	case reporters.WatchPause:
		s.paused, s.refused = !s.paused && !s.refused, false
		s.publish(reporters.WatchStateChanged, nil)
		s.begin(ctx)
	case reporters.WatchAccept:
		s.results.accept()
		s.board.Accepted = true
		s.publish(reporters.WatchStateChanged, nil)
	case reporters.WatchStop:
		if s.current != nil {
			s.board.Stopped = true
			s.current.cancel()
			s.publish(reporters.WatchStateChanged, nil)
		}
	}
}

// idle reports whether cases could be run, and no run is active.
func (s *Session) idle() bool { return s.view != nil && s.current == nil && !s.blocked }

// all plans every case, affected or not, and asks as usual if it is expensive.
func (s *Session) all(ctx context.Context) {
	if !s.idle() {
		return
	}
	req := s.view.Prepared.Request()
	req.All, req.Unasked = true, "" // all cases are judged
	now := s.opts.Now()
	req.ReuseSince = func(plan.Row) time.Time { return now }
	prepared, err := prepare(ctx, req)
	if err != nil {
		s.fault(err)
		return
	}
	s.view.Prepared, s.fresh, s.refused = prepared, true, false
	if err := s.plan(ctx); err != nil {
		s.fault(err)
		return
	}
	s.publish(reporters.WatchPlanned, func(u *reporters.WatchUpdate) { u.Plan = prepared.Plan })
	s.begin(ctx)
}

// Detail reads everything stored about a case. It may be called at any time.
func (s *Session) Detail(ctx context.Context, key string) (reporters.WatchDetail, error) {
	out := reporters.WatchDetail{Key: key}
	s.mu.Lock()
	digests, ok := s.digests[key]
	store, planned := s.ledger, s.planned
	s.mu.Unlock()
	if !ok || store == nil {
		return out, nil
	}
	scope := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}
	executions, _, err := store.Executions(ctx, scope, digests.head.E)
	if err != nil {
		return out, err
	}
	if len(executions) > 0 {
		out.Transcript = &executions[len(executions)-1].Transcript
	}
	for _, side := range []struct {
		digest string
		into   *[]verdict.Sample
	}{{digests.head.J, &out.Samples}, {digests.base.J, &out.Base}} {
		judged, err := store.Judgements(ctx, scope, side.digest)
		if err != nil {
			return out, err
		}
		for _, j := range judged {
			*side.into = append(*side.into, j.Sample)
		}
	}
	return controller.Redacted(planned, out), nil
}
