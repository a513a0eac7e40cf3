package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
)

// environment collects the targets' part of a checkout's digests.
func (p *planner) environment(ctx context.Context, s Checkout) (plan.Environment, error) {
	env := plan.Environment{
		Config: p.req.ConfigFile, DefaultTarget: s.Config.DefaultTarget,
		Targets: make(map[string]plan.Target, len(s.Config.Targets)),
		Roles:   s.Config.Roles.Targets(),
		Roots:   firstRequestRoots(),
	}
	var salt []byte
	if p.req.Ledger != nil {
		salt, env.Unconfined = p.req.Ledger.Secret(), p.req.Ledger.Unconfined() != p.req.OtherSandbox
	}
	for name, t := range s.Config.Targets {
		of, err := targetFacts(s.FS, t, p.req.LookupEnv, salt)
		if err != nil {
			return env, fmt.Errorf("target %s: %w", name, err)
		}
		files, err := p.inputFacts(ctx, s, t)
		if err != nil {
			return env, fmt.Errorf("target %s: %w", name, err)
		}
		of.Facts = append(of.Facts, files...)
		if env.Unconfined && t.RunsProgram() {
			of.Facts = append(of.Facts, plan.Fact{Name: "sandbox", Value: "off"})
		}
		env.Targets[name] = of
	}
	if s.Commit == p.req.Head.Commit {
		p.refuse(&env)
	}
	return env, nil
}

// refuse marks head's cases as changed if they depend on a change that must not be used
// in judging.
func (p *planner) refuse(env *plan.Environment) {
	own := map[string]bool{}
	for _, change := range p.req.TargetChanges.Refused {
		name := change.Target
		if role, isRole := strings.CutPrefix(change.Setting, "roles."); isRole && name == "" {
			was := env.Roles[schema.Role(role)]
			name = was + " as " + role
			if !own[name] {
				env.Targets[name], env.Roles[schema.Role(role)] = env.Targets[was], name
			}
		}
		for _, name := range slices.Compact([]string{name, p.req.Head.Config.Judge(name)}) {
			of := env.Targets[name]
			if !own[name] {
				of.Facts, own[name] = slices.Clone(of.Facts), true
			}
			of.Facts = slices.DeleteFunc(of.Facts, func(f plan.Fact) bool { return f.Name == change.Setting })
			of.Facts = append(of.Facts, plan.Fact{Name: change.Setting, Value: change.Is, File: change.File})
			env.Targets[name] = of
		}
	}
}

// inputFacts returns the digested facts about a target's source files. Head's facts
// name a file that differs from base.
func (p *planner) inputFacts(ctx context.Context, s Checkout, t config.Target) ([]plan.Fact, error) {
	own, err := p.source(ctx, s, t)
	if err != nil || p.req.Base == nil || s.Commit == p.req.Base.Commit {
		return own.Facts(nil), err
	}
	other, configured := p.req.Base.Config.Targets[t.Name]
	if !configured {
		return own.Facts(nil), nil
	}
	was, err := p.source(ctx, *p.req.Base, other)
	return own.Facts(&was), err
}

// source reads a target's source files, once per checkout.
func (p *planner) source(ctx context.Context, s Checkout, t config.Target) (source.Source, error) {
	at := checkoutTarget{s.Commit, t.Name}
	if known, ok := p.out.sources[at]; ok {
		return known, nil
	}
	read, err := source.Read(ctx, source.State{FS: s.FS, Config: s.Config, ConfigFile: p.req.ConfigFile}, t)
	if err == nil {
		p.out.sources[at] = read
	}
	return read, err
}

// A checkoutTarget names a target in one checkout.
type checkoutTarget struct{ commit, target string }
