package controller

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
)

// An Executor executes a plan, stores its report and returns it. The report may be nil;
// a report together with an error could not be stored. Each process has one, which adds
// its [Host] to [Prepared.Execute].
type Executor func(context.Context, *Prepared, RunOptions) (*report.Report, error)

// A Host opens targets and runs programs for one plan.
type Host interface {
	// Open opens a target.
	Open(t config.Target, c Checkout) (target.Target, error)
	// Programs returns what runs the programs that cases of a checkout are judged by; nil
	// runs none.
	Programs(c Checkout) evaluate.Programs
}

// An Opener is a [Host] that runs no programs.
type Opener func(t config.Target, c Checkout) (target.Target, error)

// Open implements [Host].
func (o Opener) Open(t config.Target, c Checkout) (target.Target, error) { return o(t, c) }

// Programs implements [Host].
func (Opener) Programs(Checkout) evaluate.Programs { return nil }

// A Judge judges the jobs of one side or of both, as [run.Run] does, and returns the
// outcomes of each side. Pairs are judged as pairs, see [run.Pair].
type Judge interface {
	Judge(ctx context.Context, sides []run.Side) ([][]run.Outcome, error)
}

// A Recorder receives every reply that a report rests on, live or stored.
type Recorder interface {
	Record(target, requestDigest string, req target.Request, reply target.Reply)
	// Unrecorded receives the key of a case with a lost reply in the ledger.
	Unrecorded(key string)
}

// RunOptions are the options of an execution and its report.
type RunOptions struct {
	// ID names the run in the ledger and in reports. Defaults to a new one.
	ID string
	// Repository is the repository's name in the stored run.
	Repository  string
	PullRequest int
	// Subject returns, as JSON, the input for another process to make the same plan;
	// nil if no other process can.
	Subject    func(context.Context) ([]byte, error)
	Notices    []report.Notice
	ConfigDiff report.ConfigChange
	// Commands are the commands executed for this head.
	Commands []report.Command
	// Results requests the extra data of files of results for every case. The returned
	// report has it, the stored one does not.
	Results bool
	// Power asks for what a comparison that calls nothing could have seen.
	Power bool
	// NotRun, when set, is the reason why nothing may be run: the report is a plan.
	NotRun string
	// Withhold returns the reason why a case must not be judged; empty judges it. nil
	// judges all.
	Withhold func(plan.Row) string
	// Judge has other processes judge; nil judges in this one.
	Judge Judge
	// Breakers remember which endpoints are down; nil remembers nothing beyond
	// this run.
	Breakers *limit.Breakers
	// Recorder is nil if nothing is recorded.
	Recorder Recorder
	// Control, when set, can end the run early.
	Control *run.Control
	// Observe receives the progress of the run; nil ignores it. Calls do not overlap.
	Observe func(Progress)
	// Waits receives the number of cases that wait because no worker that could judge
	// them is running or free, and 0 when one is. nil ignores it. Calls may overlap.
	Waits func(WaitingCases)
	// Outbox returns the items to publish with the report; nil publishes nothing. With
	// an error the report is not stored.
	Outbox func(*report.Report) ([]ledger.OutboxItem, error)
}

// newID returns a new run id.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
