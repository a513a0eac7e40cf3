package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// An execution executes a plan. Its steps add to the input of the report, and change
// nothing else of it.
type execution struct {
	p    *Prepared
	host Host
	opts RunOptions
	// atBase are the versions that base's verdicts came from, see [Prepared.VersionsAtBase].
	atBase map[string][]string
	// in is the input of the report.
	in *report.Input
}

// Execute judges the open cases of the plan, including base's if the comparison needs
// them and they are unknown, stores the report and returns it. When ctx ends, finished
// results are kept and reported; the rest is an error there. Neither the report nor the
// observed steps contain a secret. With an error, the report is nil unless it only
// could not be stored.
func (p *Prepared) Execute(ctx context.Context, host Host, opts RunOptions) (*report.Report, error) {
	started := p.req.Now()
	opts.ID = cmp.Or(opts.ID, newID())
	p.elsewhere = opts.Judge != nil
	p = p.withoutUnneeded(opts)
	e := &execution{p: p, host: host, opts: opts}
	if err := e.loadStored(ctx); err != nil {
		return nil, err
	}
	var err error
	if e.atBase, err = p.VersionsAtBase(ctx); err != nil {
		return nil, err
	}
	j := e.newJudging()
	steps, err := e.begin(ctx, j)
	if err == nil {
		err = j.checkTargets(steps)
	}
	if err != nil {
		return nil, err
	}
	j.judge = func(ctx context.Context, sides []run.Side) ([][]run.Outcome, error) {
		outcomes := make([][]run.Outcome, len(sides))
		var group errgroup.Group
		for i, side := range sides {
			group.Go(func() (err error) {
				outcomes[i], err = run.Run(ctx, side.Config, side.Jobs)
				return fault(side.Name, err)
			})
		}
		return outcomes, group.Wait()
	}
	if opts.Judge != nil {
		j.judge = elsewhere(opts.Judge)
	}
	judged := true // every case of head
	for _, s := range steps {
		batches := j.batches(s)
		sides, err := j.sides(batches, j.first)
		if err != nil {
			return nil, err
		}
		outcomes, err := j.judge(ctx, sides)
		judged = e.collectAll(batches, outcomes) && judged
		if err != nil {
			return nil, err
		}
	}
	return e.conclude(ctx, j, started, judged)
}

// elsewhere has other processes judge sides.
func elsewhere(judge Judge) func(ctx context.Context, sides []run.Side) ([][]run.Outcome, error) {
	return func(ctx context.Context, sides []run.Side) ([][]run.Outcome, error) {
		if len(sides) == 0 {
			return nil, nil
		}
		outcomes, err := judge.Judge(ctx, sides)
		if len(sides) > 1 {
			return outcomes, fault("head and base", err)
		}
		return outcomes, fault(sides[0].Name, err)
	}
}

// conclude compares the sides, measures again what may be noise, and stores the report.
func (e *execution) conclude(ctx context.Context, j *judging, started time.Time, judged bool) (*report.Report, error) {
	compared, err := e.remeasure(ctx, started, j)
	if err != nil {
		return nil, err
	}
	e.judgeControls(ctx, j)
	if err := errors.Join(e.collectHistory(ctx, j), e.recordStored(ctx)); err != nil {
		return nil, err
	}
	// Known results are reported and stored even if the run was interrupted.
	lasting := context.WithoutCancel(ctx)
	if err := recallReplies(e.in, func(digest string) (*verdict.Transcript, error) {
		return e.storedTranscript(lasting, digest, time.Time{})
	}); err != nil {
		return nil, err
	}
	if err := e.listSamples(lasting); err != nil {
		return nil, err
	}
	out := e.report(started)
	e.in = nil // its memory is free while the report is stored
	return out, e.store(lasting, out, started, judged && compared)
}

// Preview returns the report with only stored results. notRun is its reason why nothing
// is judged; empty if nothing is open.
func (p *Prepared) Preview(ctx context.Context, notRun string) (*report.Report, error) {
	opts := RunOptions{NotRun: notRun}
	e := &execution{p: p.withoutUnneeded(opts), opts: opts}
	if err := e.loadStored(ctx); err != nil {
		return nil, err
	}
	started := p.req.Now()
	if _, err := e.remeasure(ctx, started, nil); err != nil {
		return nil, err
	}
	return e.report(started), nil
}

// report compares the sides.
func (e *execution) report(started time.Time) *report.Report {
	e.addUnasked()
	e.in.Notices = append(e.in.Notices, e.lossNotices()...)
	e.in.Duration = e.p.req.Now().Sub(started)
	return Redacted(e.p, report.Compare(*e.in))
}

// loadStored adds the ledger's results of both sides, with the transcripts of cases
// that people will look into.
func (e *execution) loadStored(ctx context.Context) error {
	p, cfg := e.p, e.p.req.Head.Config
	e.in = &report.Input{
		Run: e.opts.ID, Branch: p.req.Head.Branch, Subject: p.req.Head.Subject, Plan: p.Plan.Cases(), Controls: p.controls(), Problems: p.Problems,
		Gate: report.NewGateSettings(cfg.Gate), GroupGates: cfg.GroupStatuses, ConfigDigest: cfg.Digest,
		Config: e.opts.ConfigDiff, Cluster: cfg.Noise.Cluster, NotRun: e.opts.NotRun, Commands: e.opts.Commands, Results: e.opts.Results,
		Head: map[string]*report.Outcome{}, Base: map[string]*report.Outcome{},
	}
	e.in.Gate.Once = p.req.Once
	e.in.Gate.Unasked, e.in.Gate.Selected = p.req.unasked(e.opts.NotRun), p.req.selected()
	if e.opts.NotRun != "" {
		will := p.Estimate().Estimate
		e.in.Estimate = &will
	}
	for _, r := range p.Plan.Rows {
		if d, ok := p.headStored[r.HeadDigests.D]; ok && r.Head != nil && r.Action == plan.Reuse {
			out, err := e.storedOutcome(ctx, d, r)
			if err != nil {
				return err
			}
			out.EffortUSD = run.EffortCost(d.Effort, cfg.Targets[r.Target].Price)
			e.in.Head[r.Head.ID()] = out
		}
		if r.Base == nil {
			continue
		}
		if d, ok := p.baseStored[r.BaseDigests.D]; ok {
			out, err := e.storedOutcome(ctx, d, r)
			if err != nil {
				return err
			}
			out.EffortUSD = run.EffortCost(d.Effort, p.req.Base.Config.Targets[r.Base.Target].Price)
			e.in.Base[r.Base.ID()] = out
		}
	}
	agents := deploymentNotices(deploymentRun{Input: e.in, Config: cfg, ConfigFile: p.req.ConfigFile, Now: p.req.Now()})
	stale := report.NoticesOf(cfg.StaleQuarantine(report.QuarantinedNames(p.Plan), p.req.Now()))
	e.in.Notices = slices.Concat(e.opts.Notices, e.openNotices(), p.notices, agents, stale)
	e.in.Quarantined = p.quarantined(e.opts.Commands)
	return nil
}

// storedOutcome converts a stored decision for the report, with its transcript if it is
// requested, or if the case is affected and keepTranscript says that a report may show
// it.
func (e *execution) storedOutcome(ctx context.Context, d *ledger.Decision, r plan.Row) (*report.Outcome, error) {
	out := &report.Outcome{Result: d.Result, Reused: true, Saved: d.Usage, Effort: d.Effort, Judged: d.Oldest}
	differs := false // from base under the same digests
	if was, known := e.p.baseStored[r.HeadDigests.D]; known && r.Base != nil {
		differs = was.Result.Verdict != d.Result.Verdict
	}
	if !e.opts.Results && (len(r.Reasons) == 0 || d.Result.Verdict == verdict.Pass && !differs) {
		return out, nil
	}
	var err error
	out.Transcript, err = e.storedTranscript(ctx, d.E, d.Oldest)
	return out, err
}

// storedTranscript returns the first transcript under an execution digest since a time,
// or nil.
func (e *execution) storedTranscript(ctx context.Context, digest string, since time.Time) (*verdict.Transcript, error) {
	if e.p.req.Ledger == nil {
		return nil, nil
	}
	executions, _, err := e.p.req.Ledger.Executions(ctx, ledger.Scope{Trust: e.p.req.HeadTrust, NotBefore: since}, digest)
	if err != nil || len(executions) == 0 {
		return nil, err
	}
	return &executions[0].Transcript, nil
}

// store writes the run with its report to the ledger. complete means that nothing is
// left for the next run.
func (e *execution) store(ctx context.Context, out *report.Report, started time.Time, complete bool) error {
	if e.p.req.Ledger == nil {
		return nil
	}
	// The JSON of all cases or problems at once takes as much memory as they do.
	frame := *out
	frame.Cases, frame.Problems = []report.Row{}, []schema.Problem{}
	body, err := json.Marshal(&frame)
	if err != nil {
		return fmt.Errorf("store the report: %w", err)
	}
	var items []ledger.OutboxItem
	if e.opts.Outbox != nil {
		if items, err = e.opts.Outbox(out); err != nil {
			return fmt.Errorf("store the report: %w", err)
		}
	}
	err = e.p.req.Ledger.SaveReport(ctx, ledger.Run{
		ID: e.opts.ID, Repository: e.opts.Repository, PullRequest: e.opts.PullRequest,
		Base: e.p.Plan.Base, Head: e.p.Plan.Head, Started: started, Finished: e.p.req.Now(), Report: body,
		Cases: ledger.EncodeList(out.Cases), Problems: ledger.EncodeList(out.Problems),
	}, items...)
	if err != nil || e.p.req.Invocation == nil || !complete {
		return err
	}
	return e.p.req.Invocation.End(ctx)
}

// openNotices returns the report's notices about the ledger's file, for example that
// the previous one was damaged.
func (e *execution) openNotices() []report.Notice {
	l := e.p.req.Ledger
	if l == nil || l.Notice() == "" {
		return nil
	}
	return []report.Notice{{Message: l.Notice()}}
}

// lossNotices warns that results are not kept.
func (e *execution) lossNotices() []report.Notice {
	l := e.p.req.Ledger
	if l == nil || l.Vanished() == nil {
		return nil
	}
	return []report.Notice{{Message: ledger.NoticeGone}}
}

// ConfigChange returns the changes of gavel.yaml if head's decides.
func (p *Prepared) ConfigChange() report.ConfigChange {
	if p.req.Base == nil {
		return report.ConfigChange{}
	}
	return report.CompareConfigs(p.req.ConfigFile, p.req.Base.Config, p.req.Head.Config)
}
