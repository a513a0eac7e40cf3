package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	// maxTree and maxTreeFiles bound the exported files of a commit.
	maxTree      = 1 << 30
	maxTreeFiles = 50_000
	// judgeTime is the time limit of a judging program if the case has no
	// timeout_seconds.
	judgeTime = 2 * time.Minute
)

// A ProgramsConfig has the policy for programs, and texts for people.
type ProgramsConfig struct {
	Policy sandbox.Policy
	// Less explains how the operator accepts less than the policy.
	Less string
	// Give explains how the operator makes ignored files visible to programs.
	Give string
	// Own are the product's files and folders, absolute: no program sees them in a
	// working tree. Each also covers files whose names continue it with - or a dot.
	Own []string
	// Log receives a line if the sandbox is partial.
	Log func(line string)
}

// A ProgramRunner runs programs. It is safe for concurrent use.
type ProgramRunner struct {
	cfg  ProgramsConfig
	open func() (*sandbox.Box, error)

	mu     sync.Mutex // guards the fields below
	trees  map[string]*sandbox.Folder
	hidden map[string]sandbox.Hidden
	views  map[viewKey]sandbox.Hidden
	kept   []io.Closer
}

// NewProgramRunner returns a ProgramRunner; it does nothing until the first program. ctx bounds the opening
// of the sandbox.
func NewProgramRunner(ctx context.Context, cfg ProgramsConfig) *ProgramRunner {
	open := func() (*sandbox.Box, error) {
		box, err := sandbox.Open(ctx, cfg.Policy)
		var unavailable *sandbox.Unavailable
		if errors.As(err, &unavailable) {
			return nil, fmt.Errorf("%w; %s", err, cfg.Less)
		}
		if err == nil && len(box.Missing()) > 0 {
			cfg.Log("the sandbox of programs is partial: " + strings.Join(box.Missing(), "; "))
		}
		return box, err
	}
	return &ProgramRunner{cfg: cfg, open: sync.OnceValues(open), trees: map[string]*sandbox.Folder{}, hidden: map[string]sandbox.Hidden{}, views: map[viewKey]sandbox.Hidden{}}
}

// Withhold also withholds cases whose programs cannot run here, unless they are
// withheld for another reason.
func (r *ProgramRunner) Withhold(p *Prepared, otherwise func(plan.Row) string) func(plan.Row) string {
	return p.WithholdPrograms(otherwise, func() string {
		if err := r.Available(); err != nil {
			return err.Error()
		}
		return ""
	})
}

// Warn adds a notice to the plan if programs see more than the digested files, since
// files are not hidden from them.
func (r *ProgramRunner) Warn(p *Prepared) {
	if p.Ledger() == nil || !p.Ledger().Unconfined() {
		return
	}
	n := p.OfPrograms()
	if n == 0 {
		return
	}
	why := "the sandbox is off"
	if r.cfg.Policy.Accept == sandbox.Partial {
		why = "the sandbox hides no files on this machine"
	}
	p.Note(report.Notice{Message: fmt.Sprintf("%s: the programs of %s can read any file, and only those in their folders and inputs count; a change of another one leaves their %s",
		why, textfmt.Count(n, "case"), textfmt.Verb(n, "verdict", "verdicts"))})
}

// Available returns nil if programs can run on this machine as strictly as the policy
// demands; else the error names the missing part.
func (r *ProgramRunner) Available() error {
	_, err := r.open()
	return err
}

// Box returns the sandbox for a checkout's programs, and the folder with their visible
// files. In a working tree those are the tracked and trackable files, and the
// operator's; they are determined once. [sandbox.Box.Showing] restricts a program to a
// part of them.
func (r *ProgramRunner) Box(ctx context.Context, s Checkout) (*sandbox.Box, string, error) {
	box, err := r.open()
	if err != nil {
		return nil, "", err
	}
	if s.Programs != nil {
		s = *s.Programs
	}
	if s.Dir == "" {
		dir, err := r.tree(ctx, s)
		return box.Having(view{runner: r, checkout: s, dir: dir}), dir, err
	}
	if box.Mode() == sandbox.Off {
		return box, s.Dir, nil
	}
	hidden, err := r.hiddenIn(s)
	if err != nil {
		return nil, "", fmt.Errorf("find the files that git ignores: %w", err)
	}
	return box.Hiding(hidden).Having(view{runner: r, checkout: s, dir: s.Dir, hidden: hidden}), s.Dir, nil
}

func (r *ProgramRunner) tree(ctx context.Context, s Checkout) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if folder, ok := r.trees[s.Commit]; ok {
		return folder.Path, nil
	}
	fault := func(err error) error { return fmt.Errorf("export %.12s for its programs: %w", s.Commit, err) }
	folder, err := sandbox.NewFolder("", "tree")
	if err != nil {
		return "", fault(err)
	}
	err = gitrepo.ExportFiles(ctx, s.FS, folder.Path, gitrepo.Export{MaxFiles: maxTreeFiles, MaxBytes: maxTree, LeaveOut: true})
	if err != nil {
		return "", errors.Join(fault(err), folder.Remove())
	}
	r.trees[s.Commit] = folder
	return folder.Path, nil
}

// Judges runs the programs that judge cases of a checkout.
func (r *ProgramRunner) Judges(s Checkout) evaluate.Programs {
	return func(ctx context.Context, start evaluate.Start) ([]byte, error) {
		whole, dir, err := r.Box(ctx, s)
		if err != nil {
			return nil, err
		}
		box, err := shownView(whole, start)
		if err != nil {
			return nil, err
		}
		program := sandbox.Program{
			Argv: start.Argv, Tree: dir, Dir: filepath.Join(dir, filepath.FromSlash(start.Dir)), Stdin: start.Stdin,
			Limits: sandbox.Limits{Time: cmp.Or(start.Timeout, judgeTime)},
		}
		if start.Proxy != nil {
			program.Loopback = &sandbox.Loopback{Address: rand.Text(), Handler: start.Proxy}
			program.Env = []string{evaluate.URLVariable + "=" + program.Loopback.Address, evaluate.TokenVariable + "=" + start.Proxy.Token()}
		}
		if start.Workspace != nil {
			defer start.Workspace.Discard() //nolint:errcheck // what is left is swept up later
			if err := inWorkspace(ctx, &program, start.Workspace, workspaces.Checkout{Box: whole, Tree: dir}); err != nil {
				return nil, err
			}
		}
		printed, err := box.Run(ctx, program)
		if failure, ok := errors.AsType[*sandbox.Failure](err); ok && failure.TimedOut {
			failure.Hint = "timeout_seconds of the case bounds its programs"
		}
		return printed, err
	}
}

// inWorkspace gives a program the workspace of the judged sample.
func inWorkspace(ctx context.Context, program *sandbox.Program, session *workspaces.Session, at workspaces.Checkout) error {
	dir, err := session.Open(ctx, at)
	if err != nil {
		return err
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(program.Stdin, &payload); err != nil {
		return fmt.Errorf("name the workspace: %w", err)
	}
	payload["workspace_path"], _ = json.Marshal(dir) // a text
	program.Stdin, err = json.Marshal(payload)
	program.Workspace = dir
	program.Env = append(program.Env, workspaces.Variables(dir, at.Tree)...)
	return err
}

// Keep has Close end a program that outlives the call which started it.
func (r *ProgramRunner) Keep(program io.Closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, program)
}

// Close ends the kept programs, and removes the exported trees.
func (r *ProgramRunner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, program := range r.kept {
		errs = append(errs, program.Close())
	}
	r.kept = nil
	for _, folder := range r.trees {
		errs = append(errs, folder.Remove())
	}
	return errors.Join(errs...)
}
