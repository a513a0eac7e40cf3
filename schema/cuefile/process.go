package cuefile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gavel-evals/gavel/schema/confine"
)

const (
	// startTime is what a child may take to come up on a busy machine.
	startTime = 10 * time.Second
	// idleTime is how long a child waits for another file.
	idleTime = 10 * time.Second
	// maxAnswer holds MaxText with every byte escaped and all values, and so
	// does maxRequest, in addition to constraints and their schema.
	maxAnswer  = 64 << 20
	maxRequest = maxAnswer + 4*maxInput
	// maxChildren bounds the memory that all evaluations take together.
	maxChildren = 4

	childArg = "cuefile-child"
	childEnv = "GAVEL_CUEFILE_CHILD"

	timeCode, memoryCode = 3, 4
)

var (
	errTime   = errors.New("it took too long")
	errMemory = errors.New("it needed too much memory")
)

var (
	// served says that ServeChild was called: else the child would be a second
	// run of whatever this program does.
	served atomic.Bool
	// slots has a place for every child that is at work.
	slots = make(chan struct{}, min(maxChildren, runtime.GOMAXPROCS(0)))
	// idle are the children that wait for a file. Those that went meanwhile
	// are found out when they are asked.
	idle = make(chan *child, cap(slots))
)

// ask has one child answer one request, in the time that the budget has left.
// An answer that accept refuses counts as none.
func (b *Budget) ask(ctx context.Context, r request, accept func([]byte) error) error {
	if !served.Load() {
		return errors.New("main or TestMain must call cuefile.ServeChild first")
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.isSpent() {
		return errSpent
	}
	defer func(begun time.Time) { b.spend(time.Since(begun)) }(time.Now())
	select {
	case c := <-idle:
		err := c.ask(ctx, r, accept)
		if err == nil || errors.Is(err, errTime) || ctx.Err() != nil {
			return err
		}
		// It had gone, or the files before had left too little memory: what
		// becomes of a file must not depend on them.
	default:
	}
	c, err := start()
	if err != nil {
		b.unstarted(err)
		return err
	}
	return c.ask(ctx, r, accept)
}

// A child is a process that evaluates, one file at a time.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	// rules is the id of the constraints that the child has.
	rules string
}

func start() (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(program, childArg)
	// Built with -race, a program would wait for a second at its end, and its
	// detector, which gets no memory before Go's runtime gets none, would end
	// it with another code.
	cmd.Env = []string{childEnv + "=1", "GORACE=atexit_sleep_ms=0 exitcode=2"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, maxAnswer)
	return c, nil
}

// ask returns the child back to the others when it answered, and ends it when it
// did not.
func (c *child) ask(ctx context.Context, r request, accept func([]byte) error) error {
	line, err := c.line(r)
	if err != nil {
		c.end()
		return err
	}
	// The child keeps its own time; this bounds what it takes besides.
	bounded, cancel := context.WithTimeout(ctx, startTime+MaxTime)
	defer cancel()
	stop := context.AfterFunc(bounded, c.kill)
	_, err = c.in.Write(line)
	if err == nil && c.out.Scan() {
		err = accept(c.out.Bytes())
		if stop() && err == nil {
			if r.Rules != nil {
				c.rules = r.Rules.ID
			}
			idle <- c
			return nil
		}
		c.end()
		return err // nil when the time was over just as the answer came
	}
	code := c.end()
	stop() // not before, so that the end is bounded too
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil, code == timeCode:
		return errTime
	case code == memoryCode, code == confine.FatalCode:
		return errMemory
	}
	return fmt.Errorf("the child process gave no answer: %v", errors.Join(c.out.Err(), fmt.Errorf("it ended with %v", c.cmd.ProcessState)))
}

// line writes a request, without the constraints that the child has.
func (c *child) line(r request) ([]byte, error) {
	if r.Rules != nil && r.Rules.ID == c.rules {
		rules := *r.Rules
		rules.Schema, rules.Files = nil, nil
		r.Rules = &rules
	}
	line, err := json.Marshal(r)
	if err == nil && len(line) >= maxRequest {
		err = fmt.Errorf("the request has %d bytes, more than %d", len(line), maxRequest)
	}
	return append(line, '\n'), err
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it fails when the process has ended
}

// end makes sure that the process is gone and gives its exit code.
func (c *child) end() int {
	// Without input a child ends by itself, with the code that tells why if it
	// is about to end for another reason.
	_ = c.in.Close()
	if c.out.Err() != nil {
		c.kill() // it is still writing
	}
	_ = c.cmd.Wait() // the state says it too
	return c.cmd.ProcessState.ExitCode()
}
