package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A coder is a coding agent that is started in a work folder.
type coder struct {
	agent    codingagent.Agent
	settings codingagent.Settings
	// variable is where the agent takes its key from, and key its value.
	variable string
	key      secret
	// api is what the agent's requests are passed on to, at base; nil for an agent that asks
	// its model by itself, and has the key.
	api       *codingagent.API
	base      *url.URL
	transport http.RoundTripper
}

// coderLimits are what a coding agent may take: they bring a whole runtime with them.
var coderLimits = sandbox.Limits{Memory: 8 << 30, Processes: 512, OpenFiles: 4096, Disk: 1 << 30, Files: 50_000}

// newCoder returns the coding agent of a target; nil for other targets.
func newCoder(cfg config.Target, env Env) (*coder, error) {
	agent, ok := codingagent.Lookup(cfg.CodingAgent)
	if !ok {
		return nil, nil
	}
	c := &coder{agent: agent, settings: codingagent.Settings{Model: cfg.Model, Turns: cfg.Bounds.Turns, USD: cfg.Bounds.USD}, transport: env.Transport}
	value, ok := env.Lookup(cfg.APIKeyEnv)
	if !ok || value == "" {
		return nil, fmt.Errorf("environment variable %s (api_key_env) is not set: write export %[1]s=…", cfg.APIKeyEnv)
	}
	c.variable, c.key = agent.KeyVariable(cfg.APIKeyEnv), secret(value)
	if c.api = agent.API(cfg.Model); c.api == nil {
		if !env.Programs.Connects() {
			return nil, fmt.Errorf("%s reaches its model by itself, and programs have no network here: allow it with --sandbox-network, or network: true below sandbox of the server", agent.Name)
		}
		return c, nil
	}
	err := checkEndpoint("base_url", cfg.BaseURL)
	if err == nil {
		c.base, err = url.Parse(cfg.BaseURL)
	}
	return c, err
}

// missing returns the error of a program that cannot be started, with the repair where a
// coding agent is not there.
func (c *coder) missing(err error) error {
	none, ok := errors.AsType[*sandbox.NotFound](err)
	if !ok || c == nil {
		return err
	}
	repair := "install it with npm install -g " + c.agent.Package + ", or name its folder"
	if found, err := exec.LookPath(c.agent.Program); err == nil {
		repair = "it is in " + filepath.Dir(found) + ": name that folder"
	}
	return fmt.Errorf("%s: no program %s in %s; %s (--sandbox-path, or sandbox.path in the operator's file)", c.agent.Name, none.Name, none.Path, repair)
}

// prepare adds the command line, the prompt and the key to a program. The passage is what its
// requests go through; nil for an agent that asks its model by itself.
func (c *coder) prepare(p sandbox.Program, req Request, stop context.CancelCauseFunc) (sandbox.Program, *passage) {
	settings, key := c.settings, string(c.key)
	var way *passage
	if c.api != nil {
		way = &passage{coder: c, token: rand.Text(), pay: req.Pay, stop: stop}
		settings.Address, key = rand.Text(), way.token
		p.Loopback = &sandbox.Loopback{Address: settings.Address, Handler: way}
	}
	argv, stdin := c.agent.Argv(settings, promptOf(req))
	p.Argv, p.Stdin = argv, []byte(stdin)
	p.Env = slices.Concat(p.Env, c.agent.Environment(settings), []string{c.variable + "=" + key})
	if req.Loads != nil {
		p.Until = c.agent.Choice(req.Loads).Decides
	}
	return p, way
}

// reply reads the events of an agent. With an error the reply has what was used, if the agent
// said it.
func (c *coder) reply(stdout []byte) (Reply, error) {
	turn, err := c.agent.Read(stdout)
	used := Reply{Usage: usageOf(turn)}
	if err != nil {
		return used, fmt.Errorf("%s: %w", c.agent.Name, err)
	}
	if n := len(turn.Messages); n == 0 || turn.Messages[n-1].Role != schema.RoleAssistant || strings.TrimSpace(turn.Messages[n-1].Content) == "" {
		return used, fmt.Errorf("%s ended without an answer", c.agent.Name)
	}
	return Reply{Messages: turn.Messages, Model: turn.Model, Traced: true, Usage: used.Usage}, nil
}

// choice reads the events of an agent that was asked for a skill, and may have been ended
// in the middle of its work.
func (c *coder) choice(stdout []byte, loads func([]schema.Message) (asked, another bool)) (Reply, error) {
	turn, err := c.agent.Read(stdout)
	if errors.Is(err, codingagent.ErrSilent) && c.agent.Choice(loads).IsIn(stdout) {
		err = nil
	}
	if err != nil {
		return Reply{Usage: usageOf(turn)}, fmt.Errorf("%s: %w", c.agent.Name, err)
	}
	return Reply{Messages: turn.Messages, Model: turn.Model, Traced: true, Usage: usageOf(turn)}, nil
}

// usageOf returns what a turn took.
func usageOf(turn codingagent.Turn) verdict.Usage {
	// A program cannot give itself credit by what it prints.
	u := verdict.Usage{Calls: 1, InputTokens: max(turn.InputTokens, 0), OutputTokens: max(turn.OutputTokens, 0)}
	if turn.CostUSD != nil {
		u.Told, u.ToldUSD = 1, max(*turn.CostUSD, 0)
	}
	return u
}

// failure returns what an agent that ended with an error status used, and what it says about
// it in its events; nil if it says nothing.
func (c *coder) failure(f *sandbox.Failure) (verdict.Usage, error) {
	if c == nil || len(f.Printed) == 0 {
		return verdict.Usage{}, nil
	}
	turn, err := c.agent.Read(f.Printed)
	if err == nil || errors.Is(err, codingagent.ErrSilent) {
		return verdict.Usage{}, nil
	}
	return usageOf(turn), fmt.Errorf("%s: %w", c.agent.Name, err)
}

// promptOf returns the text that a coding agent is given: the instructions, the conversation
// so far, and the last message. Each turn is a new start of the agent, in the folder as it left it.
func promptOf(req Request) string {
	var b strings.Builder
	if req.System != "" {
		b.WriteString(req.System + "\n\n")
	}
	if n := len(req.Messages); n > 1 {
		b.WriteString("The conversation so far:\n\n")
		for _, m := range req.Messages[:n-1] {
			if m.Content != "" && (m.Role == schema.RoleUser || m.Role == schema.RoleAssistant) {
				fmt.Fprintf(&b, "%s: %s\n\n", m.Role, m.Content)
			}
		}
		b.WriteString("The message to answer:\n\n")
	}
	if n := len(req.Messages); n > 0 {
		b.WriteString(req.Messages[n-1].Content)
	}
	return b.String()
}
