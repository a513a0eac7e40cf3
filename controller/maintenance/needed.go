// Package maintenance keeps a ledger small and sums up its use.
//
// Most callers want [Roots.LiveDigests], which returns the entries that must be kept,
// and [Total], which sums up the spending and savings of its runs.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Roots are the states whose verdicts are kept.
type Roots struct {
	// Head is the working tree. States without a usable configuration are read with its
	// configuration.
	Head controller.Checkout
	// Linked are the other working trees, which share the ledger.
	Linked []controller.Checkout
	Repo   *gitrepo.Repository
	// Fetched is the repository fetched for pull requests, or nil.
	Fetched *gitrepo.Repository
	Ledger  *ledger.Ledger
	// Bases are kept refs in addition to HEAD and the default branch.
	Bases []string
	// Closed are the closed pull requests.
	Closed []ledger.Trust
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	// Making runs the programs that make parts of definitions.
	Making controller.Making
	// LookupEnv finds the environment variables that targets declare.
	LookupEnv func(string) (string, bool)
}

// A MissingError reports something missing that is necessary to determine the needed
// entries.
type MissingError struct {
	message string
	err     error
}

// Error names the missing thing and the repair.
func (e *MissingError) Error() string { return e.message }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.err }

// LiveDigests returns the digests that garbage collection must keep: the working
// trees', the bases', and both sides' of every pull request that may be open.
func (r Roots) LiveDigests(ctx context.Context) ([]plan.Digests, error) {
	bases, err := r.bases(ctx)
	if err != nil {
		return nil, err
	}
	pulls, err := r.pulls(ctx)
	if err != nil {
		return nil, err
	}
	var heads []cases
	var all []plan.Digests
	for _, s := range append([]controller.Checkout{r.Head}, r.Linked...) {
		head, err := r.cases(ctx, s)
		if err != nil {
			return nil, err
		}
		heads, all = append(heads, head), append(all, head.needed...)
	}
	for _, b := range bases {
		base, err := r.cases(ctx, b)
		if err != nil {
			return nil, err
		}
		all = append(all, base.needed...)
		for _, head := range heads {
			further, err := remeasure.Stored(ctx, r.Ledger, head.digests, base.digests)
			if err != nil {
				return nil, err
			}
			all = append(all, further...)
		}
	}
	for _, sides := range pulls {
		needed, err := r.pull(ctx, sides)
		if err != nil {
			return nil, err
		}
		all = append(all, needed...)
	}
	return all, nil
}

// pull returns the digests of both sides of a pull request, and of the reruns that
// compare them.
func (r Roots) pull(ctx context.Context, sides comparison) ([]plan.Digests, error) {
	base, err := r.cases(ctx, sides.base)
	if err != nil {
		return nil, err
	}
	head, err := r.cases(ctx, sides.head)
	if err != nil {
		return nil, err
	}
	further, err := remeasure.Stored(ctx, r.Ledger, head.digests, base.digests)
	return slices.Concat(base.needed, head.needed, further), err
}

// A comparison is the two sides of a pull request.
type comparison struct{ base, head controller.Checkout }

// cases are the cases of a state.
type cases struct {
	needed []plan.Digests
	// digests are the cases' own digests, by ID.
	digests map[string]plan.Digests
}

// cases plans a state by itself. Verdicts of cases with programs are needed of runs with a
// sandbox and without one: this process may have another one than the runs before.
func (r Roots) cases(ctx context.Context, s controller.Checkout) (cases, error) {
	out := cases{digests: map[string]plan.Digests{}}
	for _, other := range []bool{false, true} {
		prepared, err := controller.Prepare(ctx, controller.Request{
			Head: s, Making: r.Making, ConfigFile: r.ConfigFile, Ledger: r.Ledger, LookupEnv: r.LookupEnv,
			HeadTrust:    ledger.Trust{Level: ledger.LevelOperator},
			Lift:         true,                                            // which a flag may have asked for
			ReuseSince:   func(plan.Row) time.Time { return time.Time{} }, // whatever its age
			OtherSandbox: other,
		})
		if err != nil {
			return cases{}, err
		}
		out.needed = append(out.needed, prepared.LiveDigests()...)
		starts := false
		for _, row := range prepared.Plan.Rows {
			if row.Head == nil {
				continue
			}
			id := row.Head.ID()
			if other {
				id += "\x00" // compared with its own kind at the other side
			}
			out.digests[id] = row.HeadDigests
			starts = starts || row.HeadCase == nil || startsPrograms(s.Config, row)
		}
		if !starts {
			break
		}
	}
	return out, nil
}

// startsPrograms reports whether the verdict of a row may depend on what programs see.
func startsPrograms(cfg *config.Config, row plan.Row) bool {
	for _, t := range cfg.Targets {
		if t.RunsProgram() {
			return true
		}
	}
	return row.HeadCase.Drive.Program != nil || slices.ContainsFunc(row.HeadCase.Evaluators, func(e schema.Evaluator) bool {
		return len(evaluator.ProgramsOf(e.Spec)) > 0
	})
}

// checkout returns a commit as a checkout.
func (r Roots) checkout(repo *gitrepo.Repository, commit string) (controller.Checkout, error) {
	files, err := repo.FS(commit)
	if err != nil {
		return controller.Checkout{}, err
	}
	cfg, problems, found, err := configfile.Read(files, r.ConfigFile, r.LookupEnv)
	if !found || schema.HasErrors(problems) {
		cfg = r.Head.Config
	}
	return controller.Checkout{Commit: commit, FS: files, Config: cfg}, err
}

// bases returns the commits that changes are compared with.
func (r Roots) bases(ctx context.Context) ([]controller.Checkout, error) {
	usual := []string{"HEAD", "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"}
	var states []controller.Checkout
	known := map[string]bool{}
	for i, ref := range slices.Concat(usual, r.Bases) {
		commit, err := r.Repo.Resolve(ctx, ref)
		switch {
		case err != nil && i < len(usual): // a default that need not exist
		case err != nil:
			return nil, &MissingError{err.Error(), err}
		case !known[commit]:
			known[commit] = true
			s, err := r.checkout(r.Repo, commit)
			if err != nil {
				return nil, err
			}
			states = append(states, s)
		}
	}
	return states, nil
}

// pulls returns both sides of the last run of each pull request that may be open.
func (r Roots) pulls(ctx context.Context) ([]comparison, error) {
	runs, err := r.Ledger.Runs(ctx, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	over := map[ledger.Trust]bool{}
	for _, t := range r.Closed {
		over[t] = true
	}
	var states []comparison
	for _, last := range runs { // the newest first
		t := ledger.Trust{Level: ledger.LevelPull, Repository: last.Repository, PullRequest: last.PullRequest}
		if last.PullRequest == 0 || over[t] {
			continue
		}
		over[t] = true
		sides, err := r.sides(last)
		if err != nil {
			return nil, &MissingError{fmt.Sprintf(
				"the commits of pull request %[1]s#%[2]d are not here: fetch them, or say that it is over with --closed %[1]s#%[2]d (%[3]v)",
				last.Repository, last.PullRequest, err), err}
		}
		states = append(states, sides)
	}
	return states, nil
}

// sides returns base and head of a run, read with base's configuration.
func (r Roots) sides(of ledger.Run) (comparison, error) {
	var failed error
	for _, repo := range []*gitrepo.Repository{r.Repo, r.Fetched} {
		if repo == nil {
			continue
		}
		base, err := r.checkout(repo, of.Base)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		head, err := r.checkout(repo, of.Head)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		head.Config = base.Config
		return comparison{base, head}, nil
	}
	return comparison{}, failed
}
