// Package sandbox runs programs of a repository. None of them is trusted: they may read
// their tree, write into a scratch folder and answer on stdout, with limited time and
// resources, and all their processes end with the answer.
//
// Most callers want [Open], which finds out what this machine can enforce, and then
// [Box.Run]; main and TestMain call [ServeChild] first.
//
// A program is started by a child process of the same binary, which restricts itself
// for good (Landlock, a filter of system calls, limits) and outlives the program only
// to end its processes: in a PID namespace the kernel does it, elsewhere the child
// adopts every orphaned process. A canary tries each restriction, and so finds the ones
// that a machine cannot enforce. No restriction is dropped silently: a Box is isolated,
// or it lists its gaps and the operator accepted them by name.
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

	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Mode is a degree of restriction.
type Mode string

// The modes, strictest first.
const (
	// Isolated denies a program all files but its own, the network and other processes.
	Isolated Mode = "isolated"
	// Partial enforces the part of Isolated that the machine supports.
	Partial Mode = "partial"
	// Off only gives a program a fresh environment and folder and bounds its time and
	// output; it has all rights of its user.
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

// A Policy holds the operator's permissions for programs. It never comes from the
// repository.
type Policy struct {
	// Accept is the weakest acceptable mode. A machine that supports a stricter mode
	// uses it, except that Off is off. Defaults to Isolated.
	Accept Mode
	// Read are further readable folders, such as an interpreter's.
	Read []string
	// Path are folders searched for programs before the usual ones. They are readable
	// too.
	Path []string
	// Network lets programs use the network.
	Network bool
	// Scratch is the parent of scratch folders. Defaults to the system's temporary
	// folder.
	Scratch string
}

// Limits bound one run of a program with all its processes. A field that is 0 has its
// default.
type Limits struct {
	// Time defaults to 10 minutes.
	Time time.Duration
	// Memory in bytes, for each process. Defaults to 1 GiB.
	Memory int64
	// Processes counts threads too. Defaults to 128.
	Processes int
	// OpenFiles of each process. Defaults to 256.
	OpenFiles int
	// Output bounds stdout in bytes. Defaults to 8 MiB.
	Output int
	// Disk and Files bound the scratch folder. Default to 64 MiB and 4096. No file may
	// be larger than Disk, in the workspace either.
	Disk  int64
	Files int
	// Workspace and WorkspaceFiles bound the workspace, including its initial files.
	// Default to 1 GiB, holes included, and 50,000.
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

// A Program is a program to run.
type Program struct {
	// Argv is the program and its arguments. A program with a slash is a path relative
	// to Dir or absolute, one without is searched on the path.
	Argv []string
	// Tree is the folder that the program may read.
	Tree string
	// Dir is its working directory, in Tree or in Workspace. Defaults to Tree.
	Dir string
	// Workspace is a folder that it may also write and that survives it; empty for
	// none. Tree must not be in it.
	Workspace string
	// Env is its environment as NAME=value. HOME and TMPDIR are added with its scratch
	// folder, and a short PATH unless there is one.
	Env []string
	// Stdin is its input.
	Stdin []byte
	// Until is shown each line of its stdout and ends it by true, which is a success; nil
	// leaves the end to the program. No line after that one is in its stdout.
	Until func(line []byte) bool
	// Loopback answers its requests; nil leaves it without sockets.
	Loopback *Loopback
	// Limits bound the run.
	Limits Limits
	// port is where the program listens; 0 for programs that do not, see [Box.Serve].
	port int
}

// A Box runs programs.
type Box struct {
	policy  Policy
	mode    Mode
	means   means
	missing []string
	hidden  Hidden
	views   Views // nil if programs see the whole tree
}

// An Unavailable error lists what this machine cannot enforce.
type Unavailable struct{ Missing []string }

// Error names all missing restrictions.
func (e *Unavailable) Error() string {
	return "programs cannot be isolated on this machine: " + strings.Join(e.Missing, "; ")
}

// Open determines which restrictions can be enforced here. The error is an
// [*Unavailable] if that is less than the policy accepts.
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

// Mode returns the mode that programs run in.
func (b *Box) Mode() Mode { return b.mode }

// Hides reports whether hidden files are unreadable for programs.
func (b *Box) Hides() bool { return b.mode != Off && b.canHide() }

// Connects reports whether programs reach the network.
func (b *Box) Connects() bool { return b.mode == Off || b.policy.Network }

// Missing returns the restrictions that a partial sandbox does not enforce.
func (b *Box) Missing() []string { return slices.Clone(b.missing) }

// A Failure is a program that ended with an error.
type Failure struct {
	// Program is its name, Cause the event, such as exit status 3.
	Program, Cause string
	// Stderr is the end of its stderr, longer than the part that Error shows, so that
	// code which removes secrets finds them whole.
	Stderr string
	// Tree is the folder of its files.
	Tree string
	// Hint describes what may be missing and how to provide it; it may be empty.
	Hint string
	// TimedOut means that Limits.Time ended it.
	TimedOut bool
	// Status is its exit status and Printed its stdout, if it ended by itself; 0 and
	// nil otherwise.
	Status  int
	Printed []byte
}

// An UnseenError reports a program that looked for an invisible file.
type UnseenError struct{ message string }

// Error names the program, the file and the repair.
func (e *UnseenError) Error() string { return e.message }

// errEnough ends a program whose further output nobody needs.
var errEnough = errors.New("it has printed enough")

// exitStatus precedes the status in the cause of a program that ended by itself.
const exitStatus = "exit status "

// Error returns the cause with the end of stderr, on one line and without the control
// characters of a terminal.
func (f *Failure) Error() string {
	text := f.Program + ": " + f.Cause + ": " + cmp.Or(ending(f.Stderr, f.Tree), "nothing on stderr")
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// Run runs a program and returns its stdout. A program that fails or exceeds a limit
// gives a [*Failure]; if ctx ends first, its error is returned. Every process of the
// program has ended when Run returns.
func (b *Box) Run(ctx context.Context, p Program) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := b.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := b.missed(r); err != nil {
		return nil, err
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
	if ctx.Err() == nil {
		if err := b.missed(r); err != nil {
			return nil, err
		}
	}
	var passed *Failure
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(context.Cause(limited), errEnough):
		return r.stdout.data, nil
	case context.Cause(limited) != nil:
		passed = b.failure(r, context.Cause(limited).Error())
		passed.TimedOut = errors.Is(context.Cause(limited), timeout)
	case cause != "":
		passed = b.failure(r, cause)
		if status, exited := strings.CutPrefix(cause, exitStatus); exited {
			passed.Status, _ = strconv.Atoi(status)
			passed.Printed = r.stdout.data
		}
	default:
		return r.stdout.data, nil
	}
	return nil, passed
}

// missed returns the error of a program that looked for an invisible file, judging by its
// output so far; nil for other programs.
func (b *Box) missed(r *runningProgram) error {
	if b.hidden.Missed == nil {
		return nil
	}
	if what := b.hidden.Missed(r.Program, r.stderr.text(), string(r.stdout.data)); what != "" {
		return &UnseenError{what}
	}
	return nil
}
