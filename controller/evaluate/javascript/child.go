package javascript

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/gavel-evals/gavel/schema/confine"
)

const (
	// startTime is what a child may take to come up on a busy machine.
	startTime = 10 * time.Second
	// idleTime is how long a child waits for another function.
	idleTime = 10 * time.Second
	// maxLine bounds a request and an answer, in bytes.
	maxLine = 64 << 20

	childArg = "javascript-child"
	childEnv = "GAVEL_JAVASCRIPT_CHILD"

	timeCode, memoryCode = 3, 4
)

var (
	errTime   = fmt.Errorf("the function takes longer than %v", MaxTime)
	errMemory = fmt.Errorf("the function needs more memory than %d MiB", MaxMemory>>20)
)

var (
	// served says that ServeChild was called: else the child would be a second
	// run of whatever this program does.
	served atomic.Bool
	// slots has a place for every child that is at work.
	slots = make(chan struct{}, min(4, runtime.GOMAXPROCS(0)))
	// idle are the children that wait for a function.
	idle = make(chan *child, cap(slots))
)

// ServeChild answers requests until there are no more if this process was started
// by [Check] or [Transform], and reports whether it was; the program then has to
// end.
func ServeChild() bool {
	if os.Getenv(childEnv) == "" || len(os.Args) != 2 || os.Args[1] != childArg {
		served.Store(true)
		return false
	}
	// An interrupt from the terminal reaches all processes; this one ends with its
	// parent.
	signal.Ignore(os.Interrupt)
	time.Local = time.UTC // the same everywhere
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	debug.SetMaxStack(64 << 20)
	confine.Memory(MaxMemory, memoryCode)
	// The interpreter lacks everything that the kernel cannot refuse here.
	_ = confineProcess()
	serve(os.Stdin, os.Stdout)
	return true
}

// confineProcess is a variable for tests, which try what it leaves.
var confineProcess = confine.Process

// serve answers line by line. The end of the input means that the parent has gone
// or has given this process up, in the middle of a function too.
func serve(in io.Reader, out io.Writer) {
	requests := make(chan Function)
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			var f Function
			if json.Unmarshal(lines.Bytes(), &f) != nil {
				break
			}
			requests <- f
		}
		os.Exit(0)
	}()
	answers := json.NewEncoder(out)
	for {
		select {
		case f := <-requests:
			timer := time.AfterFunc(MaxTime, func() { os.Exit(timeCode) })
			a := run(f)
			timer.Stop()
			if answers.Encode(a) != nil {
				return
			}
		case <-time.After(idleTime):
			return
		}
	}
}

// ask has a child run a function.
func ask(ctx context.Context, f Function) (answer, error) {
	if !served.Load() {
		return answer{}, errors.New("main or TestMain must call javascript.ServeChild first")
	}
	// With a context that has ended, a child could still answer before it is killed.
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	select {
	case c := <-idle:
		out, err := c.ask(ctx, f)
		if err == nil || errors.Is(err, errTime) || ctx.Err() != nil {
			return out, err
		}
		// It had gone, or the functions before had left too little memory: what
		// becomes of one must not depend on them.
	default:
	}
	c, err := start()
	if err != nil {
		return answer{}, fmt.Errorf("start a child process: %w", err)
	}
	return c.ask(ctx, f)
}

// A child is a process that runs functions, one at a time.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start() (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, childArg)
	// Built with -race, a program would wait for a second at its end, and end with
	// another code without memory.
	cmd.Env = []string{childEnv + "=1", "GORACE=atexit_sleep_ms=0 exitcode=2"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, maxLine)
	return c, nil
}

// ask gives the child back to the others when it answered, and ends it when it did
// not.
func (c *child) ask(ctx context.Context, f Function) (answer, error) {
	line, err := json.Marshal(f)
	if err != nil || len(line) >= maxLine {
		c.end()
		return answer{}, errors.Join(err, fmt.Errorf("the request has %d bytes, and at most %d are taken", len(line), maxLine))
	}
	// The child keeps its own time; this bounds what it takes besides.
	bounded, cancel := context.WithTimeout(ctx, startTime+MaxTime)
	defer cancel()
	stop := context.AfterFunc(bounded, c.kill)
	var out answer
	_, err = c.in.Write(append(line, '\n'))
	if err == nil && c.out.Scan() {
		err = json.Unmarshal(c.out.Bytes(), &out)
		if stop() && err == nil {
			idle <- c
			return out, nil
		}
		c.end()
		return out, err
	}
	code := c.end()
	stop() // not before, so that the end is bounded too
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case bounded.Err() != nil, code == timeCode:
		return answer{}, errTime
	case code == memoryCode, code == confine.FatalCode:
		return answer{}, errMemory
	}
	return answer{}, fmt.Errorf("the child process gives no answer: %v", errors.Join(c.out.Err(), fmt.Errorf("it ended with %v", c.cmd.ProcessState)))
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it fails when the process has ended
}

// end makes sure that the process is gone and returns its exit code.
func (c *child) end() int {
	_ = c.in.Close() // without input a child ends
	if c.out.Err() != nil {
		c.kill() // it is still writing
	}
	_ = c.cmd.Wait() // the state says it too
	return c.cmd.ProcessState.ExitCode()
}
