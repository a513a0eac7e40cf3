package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
)

// targetFacts returns the digested facts about a checkout's target: its identity, with
// the digests of credentials under the salt, and the lines of a recording. The error is
// about reading the recording.
func targetFacts(fsys fs.FS, t config.Target, lookup func(string) (string, bool), salt []byte) (plan.Target, error) {
	out := plan.Target{Agent: !t.RunsTools(), Workspace: t.HasWorkspace(), Images: t.TakesImages(), Ends: slices.Sorted(slices.Values(t.EndsConversation))}
	if p := t.Price; p != nil {
		out.Price = fmt.Sprintf("%v in, %v out", p.Input, p.Output)
	}
	for _, f := range t.Identity(lookup, salt) {
		out.Facts = append(out.Facts, plan.Fact{Name: f.Name, Value: f.Value, Tool: f.Tool, File: t.File})
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

// recording digests the lines of a recording; a missing one has none.
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

// firstRequestRoots returns a function for the digests of a case's first requests,
// which identify the lines of a recording that can serve it.
func firstRequestRoots() func(c *schema.Case, agent bool) []string { return firstRequests }

func firstRequests(c *schema.Case, agent bool) []string {
	var digests []string
	for _, req := range run.OpeningRequests(c) {
		if agent {
			req.Tools, req.Workspace = nil, workspaces.New(c.Drive.Workspace, nil)
		}
		digests = append(digests, target.Digest(req))
	}
	return digests
}
