package controller

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Checkout is the repository at one moment, with the configuration that
// decides there.
type Checkout struct {
	// Commit is 40 hex digits or worktree.
	Commit string
	FS     fs.FS
	Config *config.Config
	// Dir is the folder on disk that holds the files, in which programs run;
	// empty where there is none.
	Dir string
	// Programs is the checkout whose files programs see, where that is not this
	// one: base, whose programs are run when the head's may not be.
	Programs *Checkout
}

// lost returns an error where a side has something that cannot be read: what was made of
// its files is then not known to be right, and what is missing may be there.
func (r *Request) lost() error {
	sides := []*Checkout{&r.Head}
	if r.Base != nil {
		sides = append(sides, r.Base)
	}
	for _, side := range sides {
		repo, ok := side.FS.(interface{ Lost() error })
		if !ok {
			continue
		}
		if err := repo.Lost(); err != nil {
			return fmt.Errorf("read %s: %w", side.Commit, err)
		}
	}
	return nil
}

// A Request says what to plan.
type Request struct {
	Head Checkout
	// Base is nil when head is compared with nothing.
	Base *Checkout
	// Changed returns the files that differ between base and head. Where only
	// some folders are compared, outside are the other files that matter.
	Changed func(ctx context.Context, outside []string) ([]string, error)
	// Snapshot is what base has for definitions, where that is known. Then
	// only the cases are planned that the changed files can affect, and the
	// rest is counted, unless what is asked for takes all cases.
	Snapshot *load.Snapshot
	// Remembered returns what is remembered of head's definitions, with the notes
	// taken of every case; nil, by itself or returned, loads them.
	Remembered func(context.Context, snapshot.Notes) (*load.Snapshot, error)
	// Brief keeps no case that is loaded for the plan alone, so that it cannot be
	// carried out.
	Brief bool
	// Pinned are definitions whose cases get a row where only the affected ones
	// do, so that what is stored of them is in the report.
	Pinned []string
	// MaxNew bounds the cases that head has in changed files; 0 means without bound.
	MaxNew int64
	// ConfigFile is the path of gavel.yaml, for reasons.
	ConfigFile string
	// Select keeps the cases that are asked for; nil keeps all.
	Select func(*schema.CaseInfo) bool
	// Chosen says that the cases are asked for because of what they showed before.
	Chosen bool
	// Statuses keeps the cases with one of these, such as draft, and judges
	// them also where they are not active; empty keeps all and judges those
	// that are active.
	Statuses []string
	// Targets, where there are some, are those that the cases are run against
	// instead of their own, each case against each of them.
	Targets []string
	// All makes every case count as affected.
	All bool
	// Unasked says why the gate does not ask for the verdict of every active case: the
	// rules about all of them, such as min_score, decide nothing then. Where it is empty,
	// cases without a verdict are judged for such a rule, unless some cases are selected.
	Unasked string
	// Complete also judges the cases that nothing affects, as far as nothing is
	// stored of them.
	Complete bool
	// IgnoreBefore returns the time before which stored results of a case are ignored, and
	// why; such a case counts as affected. A zero time, or a nil func, ignores
	// nothing.
	IgnoreBefore func(key string) (since time.Time, why plan.Reason)
	// ReuseSince says of a case whose agent's version nobody knows since when it
	// counts what is stored, unless the team has set reuse at the target; the zero
	// time is forever. nil counts nothing that was stored before.
	ReuseSince func(plan.Row) time.Time
	// Invocation replaces ReuseSince if a person runs the working tree: results stored
	// before it began do not count.
	Invocation *Invocation
	// Fresh, where it is set, says why ReuseSince is asked about every case.
	Fresh *plan.Reason
	// Repeat, where it is not 0, is how many samples every case has on both
	// sides, in place of its iterations.
	Repeat int
	// Before, where it is set, has head compared with what was known of itself
	// until then. Base is not asked for.
	Before time.Time

	// Improvements has cases that got better measured again, too.
	Improvements bool

	// Ledger is nil where nothing is stored: then nothing is known.
	Ledger *ledger.Ledger
	// HeadTrust and BaseTrust are written into what the sides judge, and say
	// what each may read.
	HeadTrust, BaseTrust ledger.Trust
	// LookupEnv finds the environment variables that targets declare.
	LookupEnv func(string) (string, bool)
	// TargetChanges are what head changes of the targets, where another configuration
	// decides.
	TargetChanges config.TargetChanges
	// Now defaults to time.Now.
	Now func() time.Time
}
