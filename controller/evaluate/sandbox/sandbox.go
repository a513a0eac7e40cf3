// Package sandbox runs programs of a repository. None of them is trusted: they
// may read their tree, write into a scratch folder and answer on stdout, for a
// limited time and with limited means, and nothing of them is left when they
// have answered.
//
// Most callers want [Open], which finds out what this machine can enforce, and
// then [Box.Run]; main and TestMain call [ServeChild] first.
//
// A program is started by a child process of the same binary, which restricts
// itself for good (Landlock, a filter of system calls, limits) and outlives the
// program only to end what that started: in a PID namespace the kernel does it,
// elsewhere the child adopts every process that lost its parent. A canary tries
// each restriction, and so finds those that a machine cannot enforce. Nothing
// is left out silently: a Box is isolated, or it says what it lacks and the
// operator accepted that by name.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Mode says how much programs are restricted.
type Mode string

// The modes, from the strictest.
const (
	// Isolated keeps a program from every file but its own, from the network
	// and from other processes.
	Isolated Mode = "isolated"
	// Partial does of that what the machine can.
	Partial Mode = "partial"
	// Off gives a program an environment and a folder of its own and limits on
	// time and output; else it may do what its user may.
	Off Mode = "off"
)

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	modes := []string{string(Isolated), string(Partial), string(Off)}
	if slices.Contains(modes, name) {
		return Mode(name), nil
	}
	msg := fmt.Sprintf("there is no sandbox %q; write one of %s", name, strings.Join(modes, ", "))
	if hint := suggest.DidYouMean(name, modes); hint != "" {
		msg += "; " + hint
	}
	return "", errors.New(msg)
}

// A Policy is what the operator allows programs. It never comes from the
// repository.
type Policy struct {
	// Accept is the weakest mode that programs are run in. A machine that can
	// do better does, except that Off is off. Defaults to Isolated.
	Accept Mode
	// Read are further folders that programs may read, such as where an
	// interpreter lives.
	Read []string
	// Path are folders in which programs are looked for before the usual ones.
	// They may be read too.
	Path []string
	// Network lets programs use the network.
	Network bool
	// Scratch is where scratch folders are made. Defaults to the system's
	// folder for temporary files.
	Scratch string
}

// Limits bound one run of a program with all that it starts. A field that is 0
// has its default.
type Limits struct {
	// Time defaults to 10 minutes.
	Time time.Duration
	// Memory in bytes, counted for each process. Defaults to 1 GiB.
	Memory int64
	// Processes counts threads too. Defaults to 128.
	Processes int
	// OpenFiles of each process. Defaults to 256.
	OpenFiles int
	// Output is the most that stdout may have, in bytes. Defaults to 8 MiB.
	Output int
	// Disk and Files bound the scratch folder. Default to 64 MiB and 4096. No file may
	// be larger than Disk, in the workspace either.
	Disk  int64
	Files int
	// Workspace and WorkspaceFiles bound the workspace with what it had before. Default to
	// 1 GiB, holes included, and 50,000.
	Workspace      int64
	WorkspaceFiles int
}

func (l Limits) orDefault() Limits {
	return Limits{
		Time:      cmp.Or(l.Time, 10*time.Minute),
		Memory:    cmp.Or(l.Memory, 1<<30),
		Processes: cmp.Or(l.Processes, 128),
		OpenFiles: cmp.Or(l.OpenFiles, 256),
		Output:    cmp.Or(l.Output, 8<<20),
		Disk:      cmp.Or(l.Disk, 64<<20),
		Files:     cmp.Or(l.Files, 4096),

		Workspace:      cmp.Or(l.Workspace, maxWorkspace),
		WorkspaceFiles: cmp.Or(l.WorkspaceFiles, maxWorkspaceFiles),
	}
}

// A Program is what is run.
type Program struct {
	// Argv is the program and its arguments. A program with a slash is a path
	// relative to Dir or absolute, one without is looked for on the path.
	Argv []string
	// Tree is the folder that the program may read.
	Tree string
	// Dir is where it starts, in Tree or in Workspace. Defaults to Tree.
	Dir string
	// Workspace is a folder that it may also write and that outlives it; empty for
	// none. Tree must not be in it.
	Workspace string
	// Env is its environment as NAME=value. HOME and TMPDIR are added, and are
	// its scratch folder; so is a short PATH unless there is one.
	Env []string
	// Stdin is what it reads.
	Stdin []byte
	// Loopback answers what it asks; nil leaves it without sockets.
	Loopback *Loopback
	// Limits bound it.
	Limits Limits
}

// A Box is what programs run in.
type Box struct {
	policy  Policy
	mode    Mode
	means   means
	missing []string
	hidden  Hidden
	views   Views // nil where programs see the whole tree
}

// An Unavailable error says what this machine cannot enforce.
type Unavailable struct{ Missing []string }

// Error names everything that is missing.
func (e *Unavailable) Error() string {
	return "programs cannot be isolated on this machine: " + strings.Join(e.Missing, "; ")
}

// Open finds out what can be enforced here. The error is an [*Unavailable] when
// that is less than the policy accepts.
func Open(ctx context.Context, policy Policy) (*Box, error) {
	policy.Accept = cmp.Or(policy.Accept, Isolated)
	if _, err := ParseMode(string(policy.Accept)); err != nil {
		return nil, err
	}
	for _, dir := range slices.Concat(policy.Read, policy.Path) {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("open the sandbox: the folder %q is not absolute", dir)
		}
	}
	sweep(policy.Scratch, time.Now())
	b := &Box{policy: policy, mode: policy.Accept}
	if policy.Accept == Off {
		return b, nil
	}
	b.means, b.missing = probe(ctx, policy)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(b.missing) == 0:
		b.mode = Isolated
	case policy.Accept == Isolated:
		return nil, &Unavailable{b.missing}
	}
	return b, nil
}

// Mode is what programs run in.
func (b *Box) Mode() Mode { return b.mode }

// Hides reports whether programs are kept from the files that are hidden from them.
func (b *Box) Hides() bool { return b.mode != Off && b.canHide() }

// Missing returns what a partial sandbox does not enforce.
func (b *Box) Missing() []string { return slices.Clone(b.missing) }

// A Failure is a program that did not end as it should.
type Failure struct {
	// Program is its name, Cause says what happened: exit status 3.
	Program, Cause string
	// Stderr is the end of what it wrote there, longer than what Error shows:
	// code that takes secrets out of it finds them whole.
	Stderr string
	// Hint says what may be missing and how to give it; it may be empty.
	Hint string
	// TimedOut means that Limits.Time ended it.
	TimedOut bool
	// Status is its exit status, and Printed is what it had on stdout, where it ended
	// by itself; 0 and nil otherwise.
	Status  int
	Printed []byte
}

// An UnseenError is about a program that looked for a file which it does not see.
type UnseenError struct{ message string }

// Error names the program and the file, and says what to do.
func (e *UnseenError) Error() string { return e.message }

// exitStatus is before the status in the cause of a program that ended by itself.
const exitStatus = "exit status "

// shownStderr is how much of the end of stderr an error shows.
const shownStderr = 800

// Error is the cause with the end of stderr, on one line and without what moves
// a terminal's cursor.
func (f *Failure) Error() string {
	said := strings.TrimSpace(f.Stderr)
	if len(said) > shownStderr {
		said = "…" + said[len(said)-shownStderr:]
	}
	said = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(said, "\uFFFD"))
	text := f.Program + ": " + f.Cause + ": " + cmp.Or(said, "nothing on stderr")
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// Run runs a program and returns what it printed. A program that fails or
// passes a limit gives a [*Failure]; when ctx ends first, its error is returned.
// Every process that the program started has ended when Run returns.
func (b *Box) Run(ctx context.Context, p Program) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := b.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if b.hidden.Missed != nil {
		if what := b.hidden.Missed(r.Program, "", ""); what != "" {
			return nil, &UnseenError{what}
		}
	}
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timeout := fmt.Errorf("it timed out after %v", r.Limits.Time)
	late := time.AfterFunc(r.Limits.Time, func() { stop(timeout) })
	defer late.Stop()
	r.stop = stop
	hangUp, err := b.listen(limited, r)
	if err != nil {
		return nil, err
	}
	cause := b.start(limited, r)
	hangUp()
	if ctx.Err() == nil && b.hidden.Missed != nil {
		if what := b.hidden.Missed(r.Program, string(r.stderr.data), string(r.stdout.data)); what != "" {
			return nil, &UnseenError{what}
		}
	}
	var passed *Failure
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case context.Cause(limited) != nil:
		passed = r.failure(context.Cause(limited).Error())
		passed.TimedOut = errors.Is(context.Cause(limited), timeout)
	case cause != "":
		passed = r.failure(cause)
		if status, exited := strings.CutPrefix(cause, exitStatus); exited {
			passed.Status, _ = strconv.Atoi(status)
			passed.Printed = r.stdout.data
		}
	default:
		return r.stdout.data, nil
	}
	return nil, passed
}
