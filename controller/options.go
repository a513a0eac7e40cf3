package controller

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/progress"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
)

// An Executor carries a plan out, stores its report and returns it. The report is
// nil where there is none; with an error next to it, it could not be stored. Each
// process has one, which adds its [Host] to [Prepared.Execute].
type Executor func(context.Context, *Prepared, RunOptions) (*report.Report, error)

// A Host is what carrying out a plan needs of the process.
type Host struct {
	// Open opens a target.
	Open func(t config.Target, c Checkout) (target.Target, error)
	// Programs runs the programs that cases of a checkout are judged by; nil runs
	// none.
	Programs func(c Checkout) evaluate.Programs
	// Judge judges the jobs of one side, head or base, as [run.Run] does; nil is
	// run.Run.
	Judge func(ctx context.Context, side string, cfg run.Config, jobs []run.Job) ([]run.Outcome, error)
	// Breakers remember which endpoints are down; nil remembers nothing beyond
	// this run.
	Breakers *limit.Breakers
	// Record receives every reply that the report rests on, live or stored; nil
	// records nothing. Unrecorded receives the keys of the cases of which a stored
	// reply is no longer there; nil ignores them.
	Record     func(name, requestDigest string, req target.Request, reply target.Reply)
	Unrecorded func(key string)
}

// RunOptions say how a plan is carried out, and what its report says besides.
type RunOptions struct {
	// ID names the run in the ledger and in reports. Defaults to a new one.
	ID string
	// Repository is the name under which the run is stored.
	Repository  string
	PullRequest int
	// Subject returns what another process needs to plan the same, as JSON; nil where
	// no other process can.
	Subject    func(context.Context) ([]byte, error)
	Notices    []report.Notice
	ConfigDiff report.ConfigChange
	// Commands are what people asked for and get.
	Commands []report.Command
	// Results asks for what files of results have of every case: the report that
	// is returned has it, the one that is stored does not.
	Results bool
	// NotRun, when set, says why nothing may be run: the report is a plan.
	NotRun string
	// Withhold returns why a case is not judged although it should be; empty
	// judges it. nil judges all.
	Withhold func(plan.Row) string
	// Control, when set, can end the run early.
	Control *run.Control
	// Observe receives how the run goes on; nil ignores it. Calls do not overlap.
	Observe func(progress.Step)
	// Waits receives how many cases wait while nobody judges them, since workers do and
	// none of those is running or free, and 0 when one is. nil ignores it. Calls may overlap.
	Waits func(progress.Waiting)
	// Outbox returns what has to be published with the report; nil publishes
	// nothing. Its error keeps the report from being stored.
	Outbox func(*report.Report) ([]ledger.OutboxItem, error)
}

// newID names a run.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
