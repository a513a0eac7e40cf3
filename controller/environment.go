package controller

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// environment gathers what the digests need to know of the targets of a state.
func (p *Prepared) environment(s State) (plan.Environment, error) {
	env := plan.Environment{
		Config: p.ConfigFile, DefaultTarget: s.Config.DefaultTarget,
		Targets: make(map[string]plan.Target, len(s.Config.Targets)),
		Roles:   RoleTargets(s.Config.Roles),
		Roots:   firstRequests,
	}
	var salt []byte
	if p.Ledger != nil {
		salt = p.Ledger.Secret()
	}
	for name, t := range s.Config.Targets {
		facts, err := targetFacts(s.FS, t, p.LookupEnv, salt)
		if err != nil {
			return env, fmt.Errorf("target %s: %w", name, err)
		}
		env.Targets[name] = facts
	}
	return env, nil
}

// RoleTargets names the target of each role: the judge stands in for the
// others where they are not set.
func RoleTargets(r config.Roles) map[schema.Role]string {
	return map[schema.Role]string{
		schema.Judge:     r.Judge,
		schema.Simulator: cmp.Or(r.Simulator, r.Judge),
		schema.Extractor: cmp.Or(r.Extractor, r.Judge),

		schema.GeminiEditor: cmp.Or(r.Editors["gemini"], r.Judge),
		schema.ClaudeEditor: cmp.Or(r.Editors["claude"], r.Judge),
	}
}

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
	files, err := inputs(fsys, t.Inputs)
	if err != nil {
		return out, err
	}
	for _, name := range files {
		hash, err := fileHash(fsys, name)
		if err != nil {
			return out, err
		}
		out.Facts = append(out.Facts, plan.Fact{Name: "input " + name, Value: hash, File: name})
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

// inputs lists the files that the globs match, sorted. The walk starts at the
// part of a glob that has no pattern.
func inputs(fsys fs.FS, globs []string) ([]string, error) {
	var files []string
	for _, glob := range globs {
		root := glob
		if i := strings.IndexAny(glob, "*?["); i >= 0 {
			root = path.Dir(glob[:i] + "x")
		}
		err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.Type().IsRegular() && (name == glob || schema.MatchGlob(glob, name)):
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("inputs %s: %w", glob, err)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func fileHash(fsys fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
