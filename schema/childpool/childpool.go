// Package childpool has child processes of this program compute what must not be able to
// do anything else: they read requests, a line each, and answer each with a line.
//
// A package that needs one makes a [Pool] with [New], calls [Pool.Serve] at the beginning
// of main, and asks with [Pool.Ask]. A child that answered waits for the next request;
// one that does not keep its limits of time and memory ends, and only its request fails.
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

// A StartError says why no child could be started.
type StartError struct{ Err error }

// Error names the operation.
func (e *StartError) Error() string { return "start a child process: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// A Config says what a pool is for, and what each of its children may take.
type Config struct {
	// Name tells the pools of a program apart: a child is started with the argument
	// NAME-child. Small letters only.
	Name string
	// Serves is the function that main has to call, for the error where it does not.
	Serves string
	// MaxTime is what one request may take, and MaxMemory the bytes of a child.
	MaxTime   time.Duration
	MaxMemory uint64
	// MaxRequest and MaxAnswer bound a line, in bytes.
	MaxRequest, MaxAnswer int
	// Confine takes everything from a child that it does not compute with. Where it
	// fails, as on systems other than Linux, the limits that the child sets itself
	// remain.
	Confine func() error
}

// A Pool is the children of one kind. It is safe for concurrent use.
type Pool struct {
	Config
	// served says that Serve was called: else a child would be a second run of whatever
	// this program does.
	served atomic.Bool
	// slots has a place for every child that is at work, which bounds the memory that
	// all of them take together.
	slots chan struct{}
	// idle are the children that wait for a request. Those that went meanwhile are found
	// out when they are asked.
	idle chan *child
}

// maxChildren bounds the children of a pool that are at work.
const maxChildren = 4

// New makes a pool. No child is started before the first request.
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
	// Line writes the request as one line without its end. Memory is what Keep gave for
	// the request that the same child answered before; empty for a new child.
	Line func(memory string) ([]byte, error)
	// Accept takes the answer over. With an error, the child counts as broken.
	Accept func(line []byte) error
	// Keep names what the child remembers of the request.
	Keep string
}

// Turn waits until one more child may be at work. The caller has to call done, after
// [Pool.Ask] at the latest.
func (p *Pool) Turn(ctx context.Context) (done func(), err error) {
	if !p.served.Load() {
		return nil, fmt.Errorf("main or TestMain must call %s first", p.Serves)
	}
	// With a context that has ended, a child could still answer before it is killed.
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

// Ask has a child answer a request, within a turn. The errors are [ErrTime], [ErrMemory],
// a [StartError], those of the call and that of the context.
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
		// It had gone, or the requests before had left too little memory: what becomes
		// of one must not depend on them.
	default:
	}
	c, err := p.start()
	if err != nil {
		return &StartError{err}
	}
	return c.ask(ctx, call)
}
