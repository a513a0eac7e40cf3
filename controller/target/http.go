package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A httpAgent is a deployed agent that answers requests over HTTP.
type httpAgent struct {
	wire
	endpoint, method string
	header           http.Header
	codec            *httpagent.Codec
	// process is the agent if Gavel starts it; nil for a deployed one.
	process *Process
}

func newHTTP(cfg config.Target, env Env, b base) (*httpAgent, error) {
	w, err := newWire(cfg, env, b)
	if err != nil {
		return nil, err
	}
	name, address := "url", cfg.URL
	if cfg.URLTemplate != "" {
		name = "url_template"
		if address, err = fillEndpoint(cfg.URLTemplate, env.Commit, env.PullRequest); err != nil {
			return nil, err
		}
	}
	if cfg.Started() {
		if env.Process == nil {
			return nil, errors.New("its agent is not started here")
		}
		address = env.Process.fill(address)
	}
	if err := checkEndpoint(name, address); err != nil {
		return nil, err
	}
	h := &httpAgent{wire: w, endpoint: address, method: cmp.Or(cfg.HTTP.Method, http.MethodPost), process: env.Process}
	if h.codec, err = httpagent.New(cfg.HTTP); err != nil {
		return nil, err
	}
	h.header, err = h.headers(cfg.HTTP, env)
	return h, err
}

// headers returns the headers of every request.
func (h *httpAgent) headers(f httpagent.Format, env Env) (http.Header, error) {
	header := http.Header{"Accept": {"application/json"}}
	if h.method != http.MethodGet {
		header.Set("Content-Type", "application/json")
	}
	if h.codec.HasReply() {
		header.Set("Accept", "application/json, text/event-stream;q=0.9, application/x-ndjson;q=0.9")
	}
	if h.key != "" {
		bearer(header, string(h.key))
	}
	for _, field := range f.Headers {
		value := field.Value
		if field.Env != "" {
			v, _ := env.Lookup(field.Env)
			if v = strings.TrimSpace(v); v == "" {
				return nil, fmt.Errorf("environment variable %s (header %s) is not set: write export %[1]s=…", field.Env, field.Name)
			}
			value, h.keyEnv = field.Prefix+v, cmp.Or(h.keyEnv, field.Env)
		}
		header.Set(field.Name, value)
	}
	return header, nil
}

// Respond sends one turn. The answer must have the expected form, whatever its content
// type: an error page does not pass as the agent's answer.
func (h *httpAgent) Respond(ctx context.Context, req Request) (Reply, error) {
	if h.process != nil {
		if fault := h.process.failed(h.hide); fault != nil {
			return Reply{}, h.fail(*fault)
		}
	}
	sent, err := h.request(ctx, req)
	if err != nil {
		return Reply{}, h.fail(Error{Message: err.Error()})
	}
	start := h.now()
	resp, data, err := h.exchange(sent)
	if err != nil {
		if fault, ok := errors.AsType[*Error](err); ok && h.process != nil && ctx.Err() == nil && (fault.Status == 0 || fault.Status >= 500) {
			err = h.fail(h.process.explain(*fault, h.hide))
		}
		return Reply{}, err
	}
	latency := h.now().Sub(start)
	reply, err := h.read(resp.Header.Get("Content-Type"), data, req)
	if err != nil {
		fault := misread(h.cfg, resp.Header.Get("Content-Type"), h.hide(string(data)), err)
		fault.Status = resp.StatusCode
		return Reply{}, h.fail(fault)
	}
	reply.Latency = latency
	return reply, nil
}

// request writes a turn by the contract or the templates.
func (h *httpAgent) request(ctx context.Context, req Request) (*http.Request, error) {
	with := httpagent.Conversation{System: req.System, Case: req.Case, Turn: req.Turn, Session: req.Session}
	for _, m := range req.Messages {
		raw, err := json.Marshal(sentMessage{m.Role, agentContent(m, ""), m.ToolCalls, m.ToolCallID, m.Name})
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		with.Messages, with.Message = append(with.Messages, raw), m.Content
	}
	body, err := h.body(req, with)
	if err != nil {
		return nil, err
	}
	address, err := h.codec.Address(h.endpoint, with)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	sent, err := http.NewRequestWithContext(ctx, h.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	sent.Header = h.header.Clone()
	h.codec.FillHeader(sent.Header, with)
	return sent, nil
}

// body returns the body of a request; none for GET.
func (h *httpAgent) body(req Request, with httpagent.Conversation) (io.Reader, error) {
	encode := func() ([]byte, error) { return agentRequest(req, "", "") }
	switch {
	case h.method == http.MethodGet:
		return http.NoBody, nil
	case h.codec.HasBody():
		encode = func() ([]byte, error) { return h.codec.Encode(with) }
	}
	raw, err := encode()
	return bytes.NewReader(raw), err
}

// read reads a reply by the contract or the paths.
func (h *httpAgent) read(contentType string, data []byte, req Request) (Reply, error) {
	if !h.codec.HasReply() {
		if failed := httpagent.StreamError("messages", contentType, data); failed != "" {
			return Reply{}, failedError(failed)
		}
		return agentReply(httpagent.LastWith("messages", contentType, data))
	}
	a, err := h.codec.Decode(contentType, data)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{
		Model: a.Model, Revision: a.Revision, End: a.End, Traced: a.Traced,
		Usage: verdict.Usage{Calls: 1, InputTokens: a.Input, OutputTokens: a.Output},
	}
	said := schema.Message{Role: schema.RoleAssistant, Content: a.Text}
	if len(a.Calls) > 0 {
		asking := schema.Message{Role: schema.RoleAssistant}
		var results []schema.Message
		for i, c := range a.Calls {
			id := cmp.Or(c.ID, callID(req, i))
			asking.ToolCalls = append(asking.ToolCalls, functionCall(id, c.Name, c.Arguments))
			if c.Result != "" {
				results = append(results, schema.Message{Role: schema.RoleTool, ToolCallID: id, Name: c.Name, Content: c.Result})
			}
		}
		reply.Messages = append([]schema.Message{asking}, results...)
	}
	if a.Text != "" || len(a.Calls) == 0 && !a.End {
		reply.Messages = append(reply.Messages, said)
	}
	return reply, nil
}
