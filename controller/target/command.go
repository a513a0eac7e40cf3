package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A command is an agent that is started again for every turn.
type command struct {
	base
	box *sandbox.Box
	// shown are the files that it sees; nil for all. list is where more are named.
	shown []string
	list  string
	// program is everything except its input.
	program sandbox.Program
	// takesPrompt adds the text of the last message to the arguments.
	takesPrompt bool
	// takesRow adds the row of a matrix to its input, and to the arguments after the
	// prompt.
	takesRow bool
	// read reads its output.
	read func([]byte) (Reply, error)
	// coder is the coding agent that the program is; nil for other programs.
	coder *coder
}

func newCommand(cfg config.Target, env Env, b base) (*command, error) {
	if env.Programs == nil {
		return nil, errors.New("there is no sandbox to run the command in")
	}
	argv, limits := cfg.Argv, sandbox.Limits{}
	coder, err := newCoder(cfg, env)
	if err != nil {
		return nil, err
	}
	if coder != nil {
		argv, limits = []string{coder.agent.Program}, coderLimits
	}
	// The call's own time is up long before.
	limits.Output, limits.Time = maxReply, 24*time.Hour
	p := sandbox.Program{
		Argv: argv, Tree: env.Dir, Limits: limits,
	}
	if p.Env, err = variables(cfg, env); err != nil {
		return nil, err
	}
	if err := env.Programs.Check(p); err != nil {
		return nil, coder.missing(err)
	}
	c := &command{base: b, box: env.Programs, shown: env.Shown, program: p, takesPrompt: cfg.PromptArgument, takesRow: cfg.TakesRow, read: commandReply, coder: coder, list: listOf(cfg)}
	switch {
	case coder != nil:
		c.read = coder.reply
	case cfg.OutputVersion > 0:
		c.read = agentvReply
	}
	return c, nil
}

// Respond runs the program with one turn on its stdin. When Respond returns, it and all
// processes that it started have ended, if the sandbox can see to it.
func (c *command) Respond(ctx context.Context, req Request) (Reply, error) {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p, way, err := c.prepare(ctx, req, stop)
	switch {
	case ctx.Err() != nil:
		return Reply{}, c.ended(ctx)
	case err != nil:
		return Reply{}, c.fail(Error{Message: c.hide(err.Error())})
	}
	reply, err := c.start(work, p, req)
	if refused := way.Refused(); refused != nil {
		err = refused
	}
	if err != nil {
		// Another try begins with a workspace in which nothing happened. Leftovers are not
		// used again either.
		_ = req.Workspace.Discard()
		return Reply{Usage: cmp.Or(reply.Usage, way.Used())}, err
	}
	if p.Until != nil && reply.Usage.Tokens() == 0 { // it was ended before it said what it used
		reply.Usage = cmp.Or(way.Used(), reply.Usage)
	}
	reply.Changes, err = req.Workspace.Changes(ctx)
	switch {
	case ctx.Err() != nil:
		return Reply{}, c.ended(ctx)
	case err != nil:
		_ = req.Workspace.Discard()
		return Reply{}, c.fail(Error{Message: err.Error()})
	}
	return reply, nil
}

// prepare returns the program with its input, and the folder where it starts; and what the
// requests of a coding agent pass through, which may stop it.
func (c *command) prepare(ctx context.Context, req Request, stop context.CancelCauseFunc) (sandbox.Program, *passage, error) {
	p := c.program
	files := ""
	if req.Workspace != nil {
		dir, err := req.Workspace.Open(ctx, workspaces.Checkout{Box: c.box, Tree: p.Tree})
		if err != nil {
			return p, nil, err
		}
		p.Dir, p.Workspace, files = dir, dir, p.Tree
		p.Argv = workspaces.FromFolder(p.Argv, p.Tree)
		p.Env = append(slices.Clip(p.Env), workspaces.Variables(dir, p.Tree)...)
	}
	if c.coder != nil {
		p, way := c.coder.prepare(p, req, stop)
		return p, way, nil
	}
	if !c.takesRow {
		req.Row = nil
	} else if len(req.Row) == 0 {
		req.Row = json.RawMessage(`{"vars":{}}`) // as for one message from somebody who tries it
	}
	var err error
	p.Stdin, err = agentRequest(req, p.Workspace, files)
	if n := len(req.Messages); c.takesPrompt && n > 0 {
		p.Argv = append(slices.Clone(p.Argv), req.Messages[n-1].Content)
		if c.takesRow {
			p.Argv = append(p.Argv, string(req.Row))
		}
	}
	return p, nil, err
}

// start runs the program to its end. It sees the files that it is sent.
func (c *command) start(ctx context.Context, p sandbox.Program, req Request) (Reply, error) {
	start, box := c.now(), c.box
	if c.shown != nil {
		var err error
		if box, err = box.Showing(sandbox.View{Files: slices.Concat(c.shown, schema.Attached(req.Messages)), List: c.list}); err != nil {
			return Reply{}, c.fail(Error{Message: err.Error(), Err: err})
		}
	}
	stdout, err := box.Run(ctx, p)
	var failure *sandbox.Failure
	switch {
	case errors.As(err, &failure):
		// Before it is cut, which could leave half of a secret.
		failure.Stderr = c.hide(failure.Stderr)
		if used, err := c.coder.failure(failure); err != nil {
			return Reply{Usage: used}, c.fail(Error{Message: err.Error(), Hint: failure.Hint})
		}
		return Reply{}, c.fail(Error{Message: failure.Error(), Hint: unset(c.program.Env, failure.Stderr)})
	case ctx.Err() != nil:
		return Reply{}, c.ended(ctx)
	case err != nil:
		return Reply{}, c.fail(Error{Message: err.Error(), Err: err})
	}
	if !utf8.Valid(stdout) {
		return Reply{}, c.fail(Error{Message: "stdout: " + notUTF8(stdout)})
	}
	read := c.read
	if p.Until != nil {
		read = func(stdout []byte) (Reply, error) { return c.coder.choice(stdout, req.Loads) }
	}
	reply, err := read(stdout)
	if err != nil {
		return Reply{Usage: reply.Usage}, c.fail(Error{Message: "stdout: " + err.Error()})
	}
	if reply.Latency == 0 {
		reply.Latency = c.now().Sub(start)
	}
	return reply, nil
}

// The words of an error about an environment variable, and the form of its name.
var (
	environment = lazyregexp.New(`\benviron\b|<frozen os>|process\.env|(?i:environment variable)`)
	variable    = lazyregexp.New(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b`)
)

// unset returns the repair of a program that misses an environment variable besides its
// own; empty for other failures.
func unset(own []string, stderr string) string {
	if !environment.MatchString(stderr) {
		return ""
	}
	for _, name := range variable.FindAllString(stderr, -1) {
		if !slices.ContainsFunc(own, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			return "if it needs the environment variable " + name + ", write env: [" + name + "] at the target"
		}
	}
	return ""
}

// commandReply reads the output of a program. Output that is not an object with
// messages is plain text, whose tool calls are unknown.
func commandReply(stdout []byte) (Reply, error) {
	if hasMessages(stdout) {
		return agentReply(stdout)
	}
	said := strings.TrimRight(string(stdout), "\r\n")
	if strings.TrimSpace(said) == "" {
		return Reply{}, errors.New("the program printed nothing")
	}
	return Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: said}},
		Usage:    verdict.Usage{Calls: 1},
	}, nil
}
