package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// ErrUnconfigured means that a case names a target that is missing in gavel.yaml.
var ErrUnconfigured = errors.New("is not configured")

// A Roster opens each target of a side once. It is safe for concurrent use.
type Roster struct {
	open func(config.Target) (target.Target, error)
	cfg  *config.Config

	mu     sync.Mutex
	opened map[string]Target // guarded by mu
}

// NewRoster returns a roster of a configuration's targets, opened by open.
func NewRoster(cfg *config.Config, open func(config.Target) (target.Target, error)) *Roster {
	return &Roster{open: open, cfg: cfg, opened: map[string]Target{}}
}

// errRefused means that a head may not choose the target's address.
var errRefused = errors.New("is new here and has the address of no target of base")

// Targets returns the targets of the jobs and of their roles. A target that cannot be
// opened answers with the reason, which is the error of the cases that ask it. The error
// wraps [ErrUnconfigured] or [errRefused], or is the end of a context.
func (r *Roster) Targets(jobs []Job) (map[string]Target, error) {
	targets := map[string]Target{}
	for name := range r.names(jobs) {
		t, err := r.target(name)
		if err != nil {
			return nil, err
		}
		targets[name] = t
	}
	return targets, nil
}

// Opened is [Roster.Targets], with an error if one of them cannot be opened: another try, or
// another machine, may have it.
func (r *Roster) Opened(jobs []Job) (map[string]Target, error) {
	targets, err := r.Targets(jobs)
	if err != nil {
		return nil, err
	}
	if unopened := unopenedOf(targets); unopened != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.opened, unopened.Target)
		return nil, unopened
	}
	return targets, nil
}

// Check opens targets until one of the jobs has all that it needs. Without such a job, the
// error is about the first target that cannot be opened.
func (r *Roster) Check(jobs iter.Seq[Job]) error {
	var first *target.OpenError
	for j := range jobs {
		targets, err := r.Targets([]Job{j})
		if err != nil {
			return err
		}
		unopened := unopenedOf(targets)
		if unopened == nil {
			return nil
		}
		first = cmp.Or(first, unopened)
	}
	if first == nil {
		return nil
	}
	return first
}

// unopenedOf returns the error of the first of the targets that could not be opened.
func unopenedOf(targets map[string]Target) *target.OpenError {
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if err, ok := targets[name].Target.(*target.OpenError); ok {
			return err
		}
	}
	return nil
}

// names returns the names of the targets of the jobs and of their roles.
func (r *Roster) names(jobs []Job) map[string]bool {
	roles := r.cfg.Roles.Targets()
	names := map[string]bool{}
	for _, j := range jobs {
		if j.Case.Drive.Given == nil {
			names[j.Target] = true
		}
		for _, peer := range j.Case.Answering() {
			if peer.Drive.Given == nil {
				names[cmp.Or(peer.Target, r.cfg.DefaultTarget)] = true
			}
		}
		for _, role := range j.Case.Roles() {
			names[roles[role]] = true
		}
		for _, name := range load.Judges(j.Case) {
			names[name] = true
		}
	}
	// A role without a target is an error of the cases that need it.
	delete(names, "")
	return names
}

func (r *Roster) target(name string) (Target, error) {
	cfg, ok := r.cfg.Targets[name]
	if !ok {
		return Target{}, unconfigured(name, r.cfg)
	}
	if cfg.Refused {
		return Target{}, fmt.Errorf("target %q %w", name, errRefused)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.opened[name]; ok {
		return t, nil
	}
	t, err := r.open(cfg)
	if unopened, ok := errors.AsType[*target.OpenError](err); ok && !errors.Is(err, context.Canceled) {
		t, err = unopened, nil
	}
	if err != nil {
		return Target{}, fmt.Errorf("open target %s: %w", name, err)
	}
	r.opened[name] = Target{Target: t, Config: cfg}
	return r.opened[name], nil
}

func unconfigured(name string, cfg *config.Config) error {
	hint := cmp.Or(suggest.DidYouMean(name, slices.Collect(maps.Keys(cfg.Targets))), "add it under targets: in gavel.yaml")
	return fmt.Errorf("target %q %w; %s", name, ErrUnconfigured, hint)
}
