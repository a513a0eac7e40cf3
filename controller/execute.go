package controller

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/evalcase"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/target/secret"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// An RunOptions says how a plan is carried out.
type RunOptions struct {
	// ID names the run in the ledger and in reports.
	ID string
	// Scrub removes secrets from what is kept.
	Scrub func(string) string
	// Record is told every reply that the report rests on, live or stored; nil
	// records nothing. Untold is told the keys of the cases of which a stored
	// reply is no longer there; nil hears nothing.
	Record func(name, requestDigest string, req target.Request, reply target.Reply)
	Unrecorded func(key string)
	// Observe is told how the run goes on; nil hears nothing. Calls do not
	// overlap.
	Observe func(Progress)
	// Control, when set, can end the run early.
	Control *run.Control
	// Breakers remember which endpoints are down. Defaults to some of this
	// execution's own.
	Breakers *limit.Breakers
	// Open opens a target. Defaults to target.New with the process's
	// environment.
	Open func(t config.Target, s Checkout) (target.Target, error)
	// Programs runs the programs that cases of a checkout are judged by; nil runs
	// none.
	Programs func(s Checkout) evalcase.Programs
	// Withhold says why a case is not judged although it should be; empty
	// judges it. nil judges all.
	Withhold func(plan.Row) string
	// Repository is the name under which the run is stored.
	Repository  string
	PullRequest int
	Notices     []report.Notice
	ConfigDiff  report.ConfigChange
	// Outbox gives what has to be published with the report; nil publishes
	// nothing.
	Outbox func(*report.Report) ([]ledger.OutboxItem, error)
	// NotRun, when set, says why nothing may be run: the report is a plan.
	NotRun string
	// Commands are what people asked for and get.
	Commands []report.Command
}

// Progress tells how many cases are done.
type Progress struct {
	Done, Total int
	// Outcome is that of the case that ended; nil at the start.
	Outcome *run.Outcome
	// Base is true while base is measured.
	Base bool
}

// Side is the one in progress: head or base.
func (p Progress) Side() string {
	if p.Base {
		return "base"
	}
	return "head"
}

// Verdict is that of the case that ended; empty at the start.
func (p Progress) Verdict() verdict.Verdict {
	if p.Outcome == nil {
		return ""
	}
	return p.Outcome.Result.Verdict
}

// NewID names a run.
func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Scrub takes the credentials of both sides' targets out of what is kept.
func (p *Prepared) Scrub() func(string) string {
	return secret.Scrub(p.targets(), p.LookupEnv)
}

// Secrets are those credentials.
func (p *Prepared) Secrets() []string { return secret.Of(p.targets(), p.LookupEnv) }

func (p *Prepared) targets() []config.Target {
	targets := slices.Collect(maps.Values(p.Head.Config.Targets))
	if p.Base != nil {
		targets = slices.AppendSeq(targets, maps.Values(p.Base.Config.Targets))
	}
	return targets
}

// Redacted gives a value that leaves, such as a report, without secrets: those
// of the plan's targets, and what looks like one. What is stored for evaluators
// has the latter.
func Redacted[T any](p *Prepared, v T) T { return redact.In(v, p.redact()) }

func (p *Prepared) redact() func(string) string {
	var known redact.Values
	known.Add(p.Secrets()...)
	return known.Text
}

// Execute judges what the plan leaves to be judged, base where it has to be
// compared with and is not known, and returns the report. When ctx ends, what
// is done is kept and in the report; the rest is an error there. Neither the
// report nor what is observed has a secret in it.
func (p *Prepared) Execute(ctx context.Context, e RunOptions) (*report.Report, error) {
	start := p.Now()
	in, err := p.reportInput(ctx, e)
	if err != nil {
		return nil, err
	}
	if e.NotRun == "" {
		j, err := p.newJudging(ctx, e, in)
		if err != nil {
			return nil, err
		}
		for b, due := j.next(); due; b, due = j.next() {
			cfg, err := j.config(b)
			if err != nil {
				return nil, fmt.Errorf("judge %s: %w", b.side(), err)
			}
			outcomes, err := run.Run(ctx, cfg, b.jobs)
			j.collect(b, outcomes)
			if err != nil {
				return nil, fmt.Errorf("judge %s: %w", b.side(), err)
			}
		}
		if err := p.recordStored(ctx, e, in); err != nil {
			return nil, err
		}
	}
	in.Notices = append(in.Notices, p.lossNotices()...)
	in.Duration = p.Now().Sub(start)
	return Redacted(p, report.Compare(*in)), nil
}

// reportInput is what the report says before anything is judged.
func (p *Prepared) reportInput(ctx context.Context, e RunOptions) (*report.Input, error) {
	in := &report.Input{
		Run: e.ID, Plan: p.Plan, Problems: p.Problems,
		Gate: GateSettings(p.Head.Config.Gate), GroupGates: p.Head.Config.GroupStatuses, ConfigDigest: p.Head.Config.Digest,
		Config: e.ConfigDiff, NotRun: e.NotRun, Commands: e.Commands,
		Head: map[string]report.Outcome{}, Base: map[string]report.Outcome{},
	}
	if err := p.addStoredOutcomes(ctx, in); err != nil {
		return nil, err
	}
	in.Notices = slices.Concat(e.Notices, p.ledgerNotices(), p.revisionNotices(in))
	return in, nil
}

// addStoredOutcomes fills in what the ledger knows of both sides, with the transcripts of
// the cases that people will look into.
func (p *Prepared) addStoredOutcomes(ctx context.Context, in *report.Input) error {
	for _, r := range p.Plan.Rows {
		if d, ok := p.headStored[r.HeadDigests.D]; ok && r.Head != nil && r.Action == plan.Reuse {
			out, err := p.storedOutcome(ctx, d, r)
			if err != nil {
				return err
			}
			in.Head[r.Head.ID()] = out
		}
		if r.Base == nil {
			continue
		}
		if d, ok := p.baseStored[r.BaseDigests.D]; ok {
			out, err := p.storedOutcome(ctx, d, r)
			if err != nil {
				return err
			}
			in.Base[r.Base.ID()] = out
		}
	}
	return nil
}

func (p *Prepared) storedOutcome(ctx context.Context, d *ledger.Decision, r plan.Row) (report.Outcome, error) {
	out := report.Outcome{Result: d.Result, Reused: true, Saved: d.Usage, Judged: d.Oldest}
	if len(r.Reasons) == 0 {
		return out, nil
	}
	executions, _, err := p.Ledger.Executions(ctx, ledger.Scope{Trust: p.HeadTrust}, d.E)
	if err != nil || len(executions) == 0 {
		return out, err
	}
	out.Transcript = &executions[0].Transcript
	return out, nil
}

// GateSettings hands the gate of a gavel.yaml to the reporters.
func GateSettings(g config.Gate) report.GateSettings {
	return report.GateSettings{FailOn: g.FailOn, MinScore: g.MinScore, MaxDrop: g.MaxDrop, Required: g.Required, Removed: g.Removed}
}

// Store writes the run with its report to the ledger.
func (p *Prepared) Store(ctx context.Context, e RunOptions, report *report.Report, started time.Time) error {
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("store the report: %w", err)
	}
	var items []ledger.OutboxItem
	if e.Outbox != nil {
		if items, err = e.Outbox(report); err != nil {
			return fmt.Errorf("store the report: %w", err)
		}
	}
	err = p.Ledger.SaveReport(ctx, ledger.Run{
		ID: e.ID, Repository: e.Repository, PullRequest: e.PullRequest,
		Base: p.Plan.Base, Head: p.Plan.Head, Started: started, Finished: p.Now(), Report: body,
	}, items...)
	if err != nil || p.Invocation == nil || p.unfinished {
		return err
	}
	return p.Invocation.end(ctx)
}

// ledgerNotices is what the report says of the file of the ledger, such as that the
// one before it was damaged.
func (p *Prepared) ledgerNotices() []report.Notice {
	if p.Ledger == nil || p.Ledger.Notice() == "" {
		return nil
	}
	return []report.Notice{{Message: p.Ledger.Notice()}}
}

// lossNotices says that what was judged is not kept.
func (p *Prepared) lossNotices() []report.Notice {
	if p.Ledger == nil || p.Ledger.Vanished() == nil {
		return nil
	}
	return []report.Notice{{Message: recovery.Gone}}
}
