// Package childpool runs untrusted computations in child processes of this program:
// they read requests, a line each, and answer each with a line.
//
// A package that needs one creates a [Pool] with [New], calls [Pool.Serve] at the
// beginning of main, and sends requests with [Pool.Ask]. A child that answered waits
// for the next request; one that exceeds its limits of time and memory ends, and only
// its request fails.
package childpool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// The limits of a child that a request may break.
var (
	ErrTime   = errors.New("it took too long")
	ErrMemory = errors.New("it needed too much memory")
)

// A StartError is the reason why no child could be started.
type StartError struct{ Err error }

// Error names the operation.
func (e *StartError) Error() string { return "start a child process: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// A Config configures a pool and the limits of its children.
type Config struct {
	// Name distinguishes a program's pools: a child is started with the argument
	// NAME-child. Lower-case letters only.
	Name string
	// Serves is the function that main must call, for the error if it does not.
	Serves string
	// MaxTime bounds the processor time of one request, and MaxMemory the bytes of a
	// child.
	MaxTime   time.Duration
	MaxMemory uint64
	// MaxRequest and MaxAnswer bound a line, in bytes.
	MaxRequest, MaxAnswer int
	// Confine removes all of a child's rights that it does not need for computing. If
	// it fails, as on systems other than Linux, only the child's own limits remain.
	Confine func() error
}

// A Pool is the children of one kind. It is safe for concurrent use.
type Pool struct {
	Config
	// served means that Serve was called: otherwise a child would run the whole program
	// again.
	served atomic.Bool
	// slots has a slot for every working child, which bounds their total memory.
	slots chan struct{}
	// idle are the children that wait for a request. Children that ended meanwhile are
	// detected by the next request.
	idle chan *child
}

// maxChildren bounds the children of a pool that are at work.
const maxChildren = 4

// New returns a pool. No child is started before the first request.
func New(c Config) *Pool {
	p := &Pool{Config: c, slots: make(chan struct{}, min(maxChildren, runtime.GOMAXPROCS(0)))}
	p.idle = make(chan *child, cap(p.slots))
	return p
}

func (p *Pool) argument() string { return p.Name + "-child" }

func (p *Pool) variable() string { return "GAVEL_" + strings.ToUpper(p.Name) + "_CHILD" }

// isChild reports whether this process is a child of the pool.
func (p *Pool) isChild() bool {
	return os.Getenv(p.variable()) != "" && len(os.Args) == 2 && os.Args[1] == p.argument()
}

// A Call is a request to a child.
type Call struct {
	// Line returns the request as one line without its end. memory is the result of
	// Keep for the previous request to the same child; empty for a new child.
	Line func(memory string) ([]byte, error)
	// Accept reads the answer. With an error, the child counts as broken.
	Accept func(line []byte) error
	// Keep identifies the child's memory of the request.
	Keep string
}

// Turn waits until one more child may work. The caller must call done, after [Pool.Ask]
// at the latest.
func (p *Pool) Turn(ctx context.Context) (done func(), err error) {
	if !p.served.Load() {
		return nil, fmt.Errorf("main or TestMain must call %s first", p.Serves)
	}
	// With an ended context, a child could still answer before it is killed.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Ask lets a child answer a request, within a turn. The errors are [ErrTime],
// [ErrMemory], a [StartError], the call's and the context's.
func (p *Pool) Ask(ctx context.Context, call Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c := <-p.idle:
		err := c.ask(ctx, call)
		if err == nil || errors.Is(err, ErrTime) || ctx.Err() != nil {
			return err
		}
		// It had ended, or earlier requests had left too little memory: a request's
		// result must not depend on them.
	default:
	}
	c, err := p.start()
	if err != nil {
		return &StartError{err}
	}
	return c.ask(ctx, call)
}
