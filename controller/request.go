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

// A Checkout is the repository at one moment, with the configuration that decides
// there.
type Checkout struct {
	// Commit is 40 hex digits or worktree.
	Commit string
	FS     fs.FS
	Config *config.Config
	// Branch is the branch of the commit, and Subject the first line of its message, or
	// of the commit that the working tree is based on. Reports show them; either may be
	// empty.
	Branch, Subject string
	// Dir is the folder on disk with the files, in which programs run; empty without
	// one.
	Dir string
	// At returns the files of a commit of the repository; nil if others cannot be read.
	At func(commit string) (fs.FS, error)
	// Maker makes parts of its definitions; nil leaves them out.
	Maker schema.Maker
	// Programs is the checkout whose files programs see, if not this one: base, whose
	// programs run when head's may not.
	Programs *Checkout
}

// lost returns an error if a side has an unreadable object: then results from its files
// are unreliable, and a missing file may exist.
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

// A Request describes a plan.
type Request struct {
	Head Checkout
	// Base is nil without a comparison.
	Base *Checkout
	// Changed returns the files that differ between base and head. If only some folders
	// are compared, outside are the other relevant files.
	Changed func(ctx context.Context, outside []string) ([]string, error)
	// Snapshot has base's definitions, if they are known. Then only the cases that the
	// changed files can affect are planned, and the rest is counted, unless the request
	// needs all cases.
	Snapshot *load.Snapshot
	// Remembered returns the remembered definitions of head, with the notes on every
	// case; if it is nil or returns nil, they are loaded.
	Remembered func(context.Context, snapshot.Notes) (*load.Snapshot, error)
	// scanned means that Remembered reads all definitions, whose cases take too much
	// memory to be kept.
	scanned bool
	// Brief keeps no case that is loaded only for the plan, so that the plan cannot be
	// executed.
	Brief bool
	// Pinned are definitions whose cases get a row even if they are unaffected, so that
	// their stored results are in the report.
	Pinned []string
	// MaxNew bounds head's cases in changed files; 0 means without bound.
	MaxNew int64
	// ConfigFile is the path of gavel.yaml, for reasons.
	ConfigFile string
	// Select selects the cases; nil selects all.
	Select func(*schema.CaseInfo) bool
	// Chosen means that the cases are selected because of earlier results.
	Chosen bool
	// Statuses selects cases with one of these, such as draft, and judges them even if
	// they are not active; empty selects all and judges active ones.
	Statuses []string
	// Targets, if any, replace the cases' own targets: each case runs against each of
	// them.
	Targets []string
	// All makes every case count as affected. It changes nothing without a Base.
	All bool
	// Unasked is the reason why the gate does not need the verdict of every active
	// case: then rules about all of them, such as min_score, decide nothing. If it is
	// empty, cases without a verdict are judged for such a rule, unless some cases are
	// selected.
	Unasked string
	// Lift also runs cases of skills without their skill. The configuration may ask for
	// it, too.
	Lift bool
	// OtherSandbox plans with the digests of a run whose programs see other files than
	// the ones of this process: without a sandbox, if this process has one.
	OtherSandbox bool
	// Complete also judges the unaffected cases without a stored verdict. The change is
	// not the cause of what they show.
	Complete bool
	// IgnoreBefore returns the time before which stored results of a case are ignored,
	// and the reason; such a case counts as affected. A zero time, or a nil func,
	// ignores nothing.
	IgnoreBefore func(key string) (since time.Time, why plan.Reason)
	// ReuseSince returns the time since which stored results of a case count if its
	// agent's version is unknown, unless the team has set reuse at the target; the zero
	// time means forever. nil reuses nothing.
	ReuseSince func(plan.Row) time.Time
	// Invocation replaces ReuseSince if a person runs the working tree: results stored
	// before it began do not count.
	Invocation *Invocation
	// Fresh, if set, is the reason for calling ReuseSince about every case.
	Fresh *plan.Reason
	// Repeat, if not 0, is the number of samples of every case on both sides, in place
	// of its iterations.
	Repeat int
	// Before, if set, compares head with its own results until then. Base is not asked.
	Before time.Time

	// Once compares stored results and measures nothing again: single cases stay unclear,
	// and all together decide.
	Once bool
	// Improvements also measures improved cases again.
	Improvements bool
	// Push is the number of head among the heads of its pull request, from 1; 0 if it
	// belongs to none.
	Push int

	// Ledger is nil if nothing is stored: then nothing is known.
	Ledger *ledger.Ledger
	// Making runs the programs that make parts of definitions.
	Making Making
	// HeadTrust and BaseTrust are written into each side's results, and decide what
	// each may read.
	HeadTrust, BaseTrust ledger.Trust
	// LookupEnv finds the environment variables that targets declare.
	LookupEnv func(string) (string, bool)
	// TargetChanges are head's changes of the targets, if another configuration
	// decides.
	TargetChanges config.TargetChanges
	// Now defaults to time.Now.
	Now func() time.Time
}
