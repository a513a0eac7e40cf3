package run

import (
	"cmp"
	"errors"
	"fmt"
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

// Targets returns the targets of the jobs and of their roles. The error is about
// opening one, or wraps [ErrUnconfigured] or [errRefused].
func (r *Roster) Targets(jobs []Job) (map[string]Target, error) {
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
	targets := map[string]Target{}
	for name := range names {
		t, err := r.target(name)
		if err != nil {
			return nil, err
		}
		targets[name] = t
	}
	return targets, nil
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
	if errors.As(err, new(*target.OpenError)) {
		return Target{}, err
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
