package target

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
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
	// api is the address that the agent's requests are passed on to; nil for an agent that
	// asks its model by itself, and has the key.
	api       *url.URL
	transport http.RoundTripper
}

// passedOn are the paths below the address of an API that an agent may ask with the key.
var passedOn = []string{"/v1/messages", "/v1/messages/count_tokens"}

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
	if agent.BaseEnv == "" {
		if !env.Programs.Connects() {
			return nil, fmt.Errorf("%s reaches its model by itself, and programs have no network here: allow it with --sandbox-network, or network: true below sandbox of the server", agent.Name)
		}
		return c, nil
	}
	err := checkEndpoint("base_url", cfg.BaseURL)
	if err == nil {
		c.api, err = url.Parse(cfg.BaseURL)
	}
	return c, err
}

// prepare adds the command line, the prompt and the key to a program.
func (c *coder) prepare(p sandbox.Program, req Request) sandbox.Program {
	argv, stdin := c.agent.Argv(c.settings, promptOf(req))
	p.Argv, p.Stdin = argv, []byte(stdin)
	p.Env = append(append([]string{}, p.Env...), c.agent.Env...)
	if c.api == nil {
		p.Env = append(p.Env, c.variable+"="+string(c.key))
		return p
	}
	token := rand.Text()
	p.Env = append(p.Env, c.variable+"="+token)
	p.Loopback = &sandbox.Loopback{Variable: c.agent.BaseEnv, Handler: c.passOn(token)}
	return p
}

// passOn returns a handler that passes requests with the token on to the agent's API, with
// the key in its place. The program never has the key.
func (c *coder) passOn(token string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Transport: c.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(c.api)
			for _, header := range []string{"X-Api-Key", "Authorization"} {
				if had := r.In.Header.Get(header); had != "" {
					r.Out.Header.Set(header, strings.Replace(had, token, string(c.key), 1))
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "the model cannot be reached", http.StatusBadGateway)
		},
		FlushInterval: -1, // replies are streams
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		has := cmp.Or(r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		switch {
		case has != token:
			http.Error(w, "the key of this run is needed", http.StatusUnauthorized)
		case r.Method != http.MethodPost || r.URL.RawPath != "" || !slices.Contains(passedOn, r.URL.Path):
			http.Error(w, "only messages are passed on", http.StatusNotFound)
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

// reply reads the events of an agent.
func (c *coder) reply(stdout []byte) (Reply, error) {
	turn, err := c.agent.Read(stdout)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", c.agent.Name, err)
	}
	if n := len(turn.Messages); n == 0 || turn.Messages[n-1].Role != schema.RoleAssistant || strings.TrimSpace(turn.Messages[n-1].Content) == "" {
		return Reply{}, fmt.Errorf("%s ended without an answer", c.agent.Name)
	}
	reply := Reply{
		Messages: turn.Messages, Model: turn.Model, Traced: true,
		Usage: verdict.Usage{Calls: 1, InputTokens: turn.InputTokens, OutputTokens: turn.OutputTokens},
	}
	if turn.CostUSD != nil {
		reply.Usage.Told, reply.Usage.ToldUSD = 1, *turn.CostUSD
	}
	return reply, nil
}

// failure returns what an agent that ended with an error status says about it in its events;
// nil if it says nothing.
func (c *coder) failure(f *sandbox.Failure) error {
	if c == nil || len(f.Printed) == 0 {
		return nil
	}
	_, err := c.agent.Read(f.Printed)
	if err == nil || errors.Is(err, codingagent.ErrSilent) {
		return nil
	}
	return fmt.Errorf("%s: %w", c.agent.Name, err)
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
