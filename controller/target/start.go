package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
)

const (
	// startTime bounds the time until an agent is ready if its target sets none.
	startTime = time.Minute
	// readyPause is the time between two looks whether it is.
	readyPause = 50 * time.Millisecond
	// readyTime bounds one look.
	readyTime = 10 * time.Second
)

// agentLimits are what an agent may take that answers several conversations at once.
var agentLimits = coderLimits

// A Process is an agent that was started for a target, from the files of one side. Its
// owner closes it.
type Process struct {
	server    *sandbox.Server
	transport *http.Transport
	port      int
	// env is its environment as NAME=value.
	env []string
	// fault is why the agent never was ready; nil if it was.
	fault error
	// status is the last answer at ready that is none of success; 0 without one.
	status int
	// late says that it ran, and was not ready in time.
	late bool
}

// Start starts the agent of an http target, and waits until it is ready, has ended or has
// used up its time. An agent that is not ready by then is ended, and its target answers
// each request with the reason. The error is about settings that are wrong for every
// commit.
func Start(ctx context.Context, cfg config.Target, env Env) (*Process, error) {
	if env.Programs == nil {
		return nil, errors.New("there is no sandbox to start the agent in")
	}
	port, err := sandbox.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	p := &Process{port: port}
	program := sandbox.Program{Tree: env.Dir, Limits: agentLimits}
	for _, arg := range cfg.Argv {
		program.Argv = append(program.Argv, p.fill(arg))
	}
	if p.env, err = variables(cfg, env); err != nil {
		return nil, err
	}
	program.Env = append(slices.Clone(p.env), "PORT="+strconv.Itoa(port))
	if err := env.Programs.Check(program); err != nil {
		return nil, err
	}
	box, err := env.Programs.Showing(sandbox.View{Files: env.Shown, List: listOf(cfg)})
	if err != nil {
		return nil, err
	}
	// The agent outlives the call that opens its target.
	p.server, err = box.Serve(context.WithoutCancel(ctx), program, port)
	if unseen := (*sandbox.UnseenError)(nil); errors.As(err, &unseen) {
		p.fault = unseen
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.transport = Transport()
	p.transport.Proxy = nil
	p.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.server.Dial(ctx) }
	p.fault = p.await(ctx, cfg)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// fill puts the port into an argument or an address.
func (p *Process) fill(text string) string {
	return strings.ReplaceAll(text, config.Port, strconv.Itoa(p.port))
}

// await waits until the agent is ready, and otherwise ends it and returns the reason.
func (p *Process) await(ctx context.Context, cfg config.Target) error {
	most := cmp.Or(cfg.StartTime, startTime)
	deadline := time.Now().Add(most)
	limited, stop := context.WithDeadline(ctx, deadline)
	defer stop()
	var missing error
	for {
		before := missing
		if missing = p.look(limited, p.fill(cfg.Ready)); missing == nil {
			return nil
		}
		// That the time is over says nothing. A connection can notice it before its context.
		if before != nil && (limited.Err() != nil || !time.Now().Before(deadline)) {
			missing = before
		}
		select {
		case <-p.server.Done():
			return p.server.Ended()
		case <-limited.Done():
			p.late = true
			return p.server.Stop(fmt.Sprintf("it was not ready within %s (%v)", most, missing))
		case <-time.After(readyPause):
		}
	}
}

// look returns why the agent is not ready; nil if it is.
func (p *Process) look(ctx context.Context, ready string) error {
	ctx, stop := context.WithTimeout(ctx, readyTime)
	defer stop()
	if ready == "" {
		conn, err := p.server.Dial(ctx)
		if err != nil {
			return unreached(err)
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ready, nil)
	if err != nil {
		return err
	}
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return unreached(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply)) // so that the connection is used again
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		p.status = resp.StatusCode
		return fmt.Errorf("ready answers with the status %d", resp.StatusCode)
	}
	return nil
}

// Transport carries requests to the agent.
func (p *Process) Transport() http.RoundTripper { return p.transport }

// endTime is how long an agent may take to end, or to print its last lines, after a request
// failed.
const endTime = 200 * time.Millisecond

// explain adds to the error of a request why the agent has ended, or the last lines of an
// agent that runs, without secrets.
func (p *Process) explain(fault Error, hide func(string) string) Error {
	select {
	case <-p.server.Done():
	case <-time.After(endTime):
	}
	if ended := p.failed(hide); ended != nil {
		return *ended
	}
	failure := p.server.Explained(fault.Message)
	if failure.Stderr = hide(failure.Stderr); strings.TrimSpace(failure.Stderr) != "" {
		fault.Message, fault.Hint = failure.Error(), cmp.Or(unset(p.env, failure.Stderr), fault.Hint)
	}
	return fault
}

// failed returns why the agent does not answer, with its last lines without secrets: it was
// never ready, or has ended since.
func (p *Process) failed(hide func(string) string) *Error {
	what, err := "the agent did not start", p.fault
	if err == nil {
		select {
		case <-p.server.Done():
			what, err = "the agent has ended", p.server.Ended()
		default:
			return nil
		}
	}
	failure, ok := errors.AsType[*sandbox.Failure](err)
	if !ok {
		return &Error{Message: what + ": " + hide(err.Error())}
	}
	shown := *failure
	// Before it is cut, which could leave half of a secret.
	shown.Stderr = hide(failure.Stderr)
	hint := unset(p.env, shown.Stderr)
	switch {
	case hint != "" || failure.Hint != "" || !p.late:
	case p.status != 0:
		hint = fmt.Sprintf("it runs and answers: correct the path of ready below start, to one that it answers with a status from 200 to 299 (%d is none)", p.status)
	default:
		hint = "it has to listen on 127.0.0.1 and the port that {port} in argv and PORT name; if it takes longer, set timeout below start"
	}
	return &Error{Message: what + ": " + shown.Error(), Hint: hint}
}

// Close ends the agent with all of its processes.
func (p *Process) Close() error {
	if p.server != nil {
		p.transport.CloseIdleConnections()
		p.server.Close()
	}
	return nil
}

// variables returns the environment that a target's program gets by name.
func variables(cfg config.Target, env Env) ([]string, error) {
	var out []string
	for _, name := range cfg.Env {
		value, ok := env.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("environment variable %s (env) is not set: write export %[1]s=…", name)
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// listOf names the list of files that a program of a target sees; empty for targets outside
// of gavel.yaml.
func listOf(cfg config.Target) string {
	if cfg.File != "" {
		return ""
	}
	return "inputs of the target " + cfg.Name
}
