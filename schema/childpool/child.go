package childpool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/gavel-evals/gavel/schema/confine"
)

const (
	// startTime bounds a child's start on a busy machine.
	startTime = 10 * time.Second
	// maxWait is how many times longer than its work a request may take on a machine
	// that is busy with other things.
	maxWait = 8
)

// A child is a process that answers one request at a time.
type child struct {
	pool *Pool
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	// memory is the child's memory of the previous request.
	memory string
}

func (p *Pool) start() (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(program, p.argument())
	// Built with -race, a program would wait for a second at its end, and its
	// detector, which gets no memory before Go's runtime gets none, would end
	// it with another code.
	cmd.Env = []string{p.variable() + "=1", "GORACE=atexit_sleep_ms=0 exitcode=2"}
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
	c := &child{pool: p, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, p.MaxAnswer)
	return c, nil
}

// ask returns the child to the others when it answered, and ends it when it did not.
func (c *child) ask(ctx context.Context, call Call) error {
	line, err := call.Line(c.memory)
	if err == nil && len(line) >= c.pool.MaxRequest {
		err = fmt.Errorf("the request has %d bytes, and at most %d are taken", len(line), c.pool.MaxRequest)
	}
	if err != nil {
		c.end()
		return err
	}
	// The child counts its own work; this bounds how long it waits for a processor.
	bounded, cancel := context.WithTimeout(ctx, startTime+maxWait*c.pool.MaxTime)
	defer cancel()
	stop := context.AfterFunc(bounded, c.kill)
	_, err = c.in.Write(append(line, '\n'))
	if err == nil && c.out.Scan() {
		err = call.Accept(c.out.Bytes())
		if stop() && err == nil {
			c.memory = call.Keep
			c.pool.idle <- c
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
		return ErrTime
	case code == memoryCode, code == confine.FatalCode:
		return ErrMemory
	}
	return fmt.Errorf("the child process gave no answer: %v", errors.Join(c.out.Err(), fmt.Errorf("it ended with %v", c.cmd.ProcessState)))
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails if the process has ended
}

// end ensures that the process has ended and returns its exit code.
func (c *child) end() int {
	// Without input a child ends by itself, with the right exit code if it is about to
	// end for another reason.
	_ = c.in.Close()
	if c.out.Err() != nil {
		c.kill() // it is still writing
	}
	_ = c.cmd.Wait() // the state has the result
	return c.cmd.ProcessState.ExitCode()
}
