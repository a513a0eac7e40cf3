package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// environment gathers what the digests need to know of the targets of a checkout.
func (p *planner) environment(s Checkout) (plan.Environment, error) {
	env := plan.Environment{
		Config: p.req.ConfigFile, DefaultTarget: s.Config.DefaultTarget,
		Targets: make(map[string]plan.Target, len(s.Config.Targets)),
		Roles:   s.Config.Roles.Targets(),
		Roots:   firstRequests,
	}
	var salt []byte
	if p.req.Ledger != nil {
		salt = p.req.Ledger.Secret()
	}
	for name, t := range s.Config.Targets {
		facts, err := targetFacts(s.FS, t, p.req.LookupEnv, salt)
		if err != nil {
			return env, fmt.Errorf("target %s: %w", name, err)
		}
		files, err := p.inputFacts(s, t)
		if err != nil {
			return env, fmt.Errorf("target %s: %w", name, err)
		}
		facts.Facts = append(facts.Facts, files...)
		env.Targets[name] = facts
	}
	return env, nil
}

// inputFacts gives what counts of the files that a target is built from. Head's name
// one that is not as base has it.
func (p *planner) inputFacts(s Checkout, t config.Target) ([]plan.Fact, error) {
	own, err := p.source(s, t)
	if err != nil || p.req.Base == nil || s.Commit == p.req.Base.Commit {
		return own.Facts(nil), err
	}
	other, configured := p.req.Base.Config.Targets[t.Name]
	if !configured {
		return own.Facts(nil), nil
	}
	was, err := p.source(*p.req.Base, other)
	return own.Facts(&was), err
}

// source reads what a target is built from, once in each checkout.
func (p *planner) source(s Checkout, t config.Target) (source.Source, error) {
	at := checkoutTarget{s.Commit, t.Name}
	if known, ok := p.out.sources[at]; ok {
		return known, nil
	}
	read, err := source.Read(source.State{FS: s.FS, Config: s.Config, ConfigFile: p.req.ConfigFile}, t)
	if err == nil {
		p.out.sources[at] = read
	}
	return read, err
}

// A checkoutTarget names a target in one checkout.
type checkoutTarget struct{ commit, target string }

func targetFacts(fsys fs.FS, t config.Target, lookup func(string) (string, bool), salt []byte) (plan.Target, error) {
	out := plan.Target{Agent: !t.RunsTools(), Images: t.TakesImages(), Ends: slices.Sorted(slices.Values(t.EndsConversation))}
	if p := t.Price; p != nil {
		out.Price = fmt.Sprintf("%v in, %v out", p.Input, p.Output)
	}
	for _, f := range t.Identity(lookup, salt) {
		out.Facts = append(out.Facts, plan.Fact{Name: f.Name, Value: f.Value, Tool: f.Tool})
	}
	if t.Provider == config.Replay {
		recorded, err := recording(fsys, t.Path)
		if err != nil {
			return out, err
		}
		out.Recorded, out.RecordedFile = recorded, t.Path
	}
	return out, nil
}

// recording digests the lines of a recording; one that is missing has none.
func recording(fsys fs.FS, name string) (map[string]string, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return target.Recorded(name, f)
}

// firstRequests are the digests of the first requests of a case, by which the
// lines of a recording that can serve it are known.
func firstRequests(c *schema.Case, agent bool) []string {
	var digests []string
	for _, req := range run.FirstRequests(c) {
		if agent {
			req.Tools = nil
		}
		digests = append(digests, target.Digest(req))
	}
	return digests
}
