package target

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
)

// An httpAgent is a deployed agent that answers POST requests.
type httpAgent struct {
	wire
	endpoint string
}

func newHTTP(cfg config.Target, env Env, b base) (*httpAgent, error) {
	w, err := newWire(cfg, env, b)
	if err != nil {
		return nil, err
	}
	name, endpoint := "url", cfg.URL
	if cfg.URLTemplate != "" {
		name = "url_template"
		if endpoint, err = fillTemplate(cfg.URLTemplate, env); err != nil {
			return nil, err
		}
	}
	if err := checkEndpoint(name, endpoint); err != nil {
		return nil, err
	}
	return &httpAgent{wire: w, endpoint: endpoint}, nil
}

// fillTemplate puts the commit and the pull request in the place of {sha} and
// {pr}.
func fillTemplate(template string, env Env) (string, error) {
	for _, hole := range []struct{ name, value, what string }{
		{"{sha}", env.Commit, "a commit"}, {"{pr}", env.PullRequest, "a pull request"},
	} {
		if !strings.Contains(template, hole.name) {
			continue
		}
		if hole.value == "" {
			return "", errors.New("url_template has " + hole.name + ", but there is not " + hole.what + " to fill it with")
		}
		template = strings.ReplaceAll(template, hole.name, url.PathEscape(hole.value))
	}
	return template, nil
}

// Respond posts one turn. Whatever content type the answer has, it must be the
// JSON of the contract: an error page is not taken for what the agent said.
func (h *httpAgent) Respond(ctx context.Context, req Request) (Reply, error) {
	body, err := agentRequest(req)
	if err != nil {
		return Reply{}, h.fail(Error{Message: err.Error()})
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, h.endpoint, bytes.NewReader(body))
	if err != nil {
		return Reply{}, h.fail(Error{Message: "url: " + err.Error()})
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json")
	if h.key != "" {
		post.Header.Set("Authorization", "Bearer "+string(h.key))
	}
	start := h.now()
	status, data, err := h.exchange(post)
	if err != nil {
		return Reply{}, err
	}
	latency := h.now().Sub(start)
	reply, err := agentReply(data)
	if err != nil {
		return Reply{}, h.fail(Error{Status: status, Message: err.Error()})
	}
	reply.Latency = latency
	return reply, nil
}
