package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/evaluate/evalcase"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// maxTree and maxTreeFiles bound what is exported of a commit.
	maxTree      = 1 << 30
	maxTreeFiles = 50_000
	// judgeTime is what a program that judges may take.
	judgeTime = 2 * time.Minute
)

// sandboxFlags say what programs of the repository may do. Whoever calls the
// command decides, be it a person or a job.
type sandboxFlags struct {
	accept  string
	read    []string
	path    []string
	network bool
}

func (f *sandboxFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.accept, "sandbox", string(sandbox.Isolated), "least sandbox that programs of the repository are run in: isolated, partial (what this machine can) or off")
	flags.StringSliceVar(&f.read, "sandbox-read", nil, "further folder that programs may read, such as /opt/python")
	flags.StringSliceVar(&f.path, "sandbox-path", nil, "folder in which programs are looked for first, such as /opt/python/bin")
	flags.BoolVar(&f.network, "sandbox-network", false, "let programs use the network")
}

// policy refuses what no sandbox is.
func (f *sandboxFlags) policy(dir string) (sandbox.Policy, error) {
	mode := sandbox.Isolated
	if f.accept != "" {
		var err error
		if mode, err = sandbox.ParseMode(f.accept); err != nil {
			return sandbox.Policy{}, usageError("--sandbox: %w", err)
		}
	}
	absolute := func(folders []string) []string {
		var out []string
		for _, folder := range folders {
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(dir, folder)
			}
			out = append(out, filepath.Clean(folder))
		}
		return out
	}
	return sandbox.Policy{Accept: mode, Read: absolute(f.read), Path: absolute(f.path), Network: f.network}, nil
}

// programs run during one execution, in one sandbox and in trees that are
// exported once.
type programs struct {
	// box opens the sandbox when the first program needs it.
	box func() (*sandbox.Box, error)

	mu    sync.Mutex // guards trees
	trees map[string]string
}

// programs prepares to run programs; nothing is done before one is there.
func (a *app) programs(ctx context.Context) (*programs, error) {
	policy, err := a.sandbox.policy(a.dir)
	if err != nil {
		return nil, err
	}
	open := func() (*sandbox.Box, error) {
		box, err := sandbox.Open(ctx, policy)
		var unavailable *sandbox.Unavailable
		if errors.As(err, &unavailable) {
			return nil, fmt.Errorf("%w; --sandbox partial runs them with what there is, --sandbox off without", err)
		}
		if err == nil && len(box.Missing()) > 0 {
			fmt.Fprintf(a.stderr, "gavel: the sandbox of programs is partial: %s\n", strings.Join(box.Missing(), "; "))
		}
		return box, err
	}
	return &programs{box: sync.OnceValues(open), trees: map[string]string{}}, nil
}

// withhold adds to the cases that are not judged for another reason those whose
// programs cannot be run here. The others are judged.
func (p *programs) withhold(prepared *controller.Prepared, otherwise func(plan.Row) string) func(plan.Row) string {
	return func(row plan.Row) string {
		if otherwise != nil {
			if reason := otherwise(row); reason != "" {
				return reason
			}
		}
		if _, starts := prepared.Starts(row); !starts {
			return ""
		}
		if _, err := p.box(); err != nil {
			return err.Error()
		}
		return ""
	}
}

// tree is the folder with the files that programs of a state see.
func (p *programs) tree(ctx context.Context, s controller.State) (string, error) {
	if s.Programs != nil {
		s = *s.Programs
	}
	if s.Dir != "" {
		return s.Dir, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if dir, ok := p.trees[s.Commit]; ok {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "gavel-tree-")
	if err == nil {
		err = gitrepo.ExportFiles(ctx, s.FS, dir, gitrepo.Export{MaxFiles: maxTreeFiles, MaxBytes: maxTree, LeaveOut: true})
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("export %.12s for its programs: %w", s.Commit, err), os.RemoveAll(dir))
	}
	p.trees[s.Commit] = dir
	return dir, nil
}

// in is where programs of a state run.
func (p *programs) in(ctx context.Context, s controller.State) (*sandbox.Box, string, error) {
	box, err := p.box()
	if err != nil {
		return nil, "", err
	}
	dir, err := p.tree(ctx, s)
	return box, dir, err
}

// judges runs the programs that cases of a state are judged by.
func (p *programs) judges(s controller.State) evalcase.Programs {
	return func(ctx context.Context, program evaluator.Program, stdin []byte) ([]byte, error) {
		box, dir, err := p.in(ctx, s)
		if err != nil {
			return nil, err
		}
		return box.Run(ctx, sandbox.Program{
			Argv: program.Argv, Tree: dir, Dir: filepath.Join(dir, filepath.FromSlash(program.Dir)), Stdin: stdin,
			Limits: sandbox.Limits{Time: judgeTime},
		})
	}
}

// close removes the exported trees.
func (p *programs) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, dir := range p.trees {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
