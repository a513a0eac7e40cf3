package target

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/config"
)

// The values of api.
const (
	apiChat      = "chat"
	apiResponses = "responses"
)

const openAIBase = "https://api.openai.com/v1"

// geminiBase is where Gemini speaks OpenAI's protocol.
const geminiBase = "https://generativelanguage.googleapis.com/v1beta/openai"

// openAIProtocols by api.
var openAIProtocols = map[string]protocol{
	apiChat: {
		base: openAIBase, path: "chat/completions", authorize: bearer, format: "response_format",
		own: []string{"model", "messages", "tools", "response_format", "stream", "stream_options", "n"},
	},
	apiResponses: {
		base: openAIBase, path: "responses", authorize: bearer, format: "text",
		own:     []string{"model", "input", "instructions", "tools", "stream", "stream_options", "background"},
		renamed: map[string]string{"max_tokens": "max_output_tokens"},
	},
}

func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// An openAI speaks to OpenAI's API, or to anything that speaks like it.
type openAI struct{ model }

func newOpenAI(cfg config.Target, env Env, b base) (*openAI, error) {
	api := cmp.Or(cfg.API, apiChat)
	p, ok := openAIProtocols[api]
	if !ok {
		return nil, fmt.Errorf("there is no api %q; it is chat or responses", cfg.API)
	}
	if cfg.Provider == config.Gemini {
		p.base = geminiBase
	}
	if cfg.KeyHeader != "" {
		p.authorize = func(h http.Header, key string) { h.Set(cfg.KeyHeader, key) }
	}
	m, err := newModel(cfg, env, b, p)
	if err != nil {
		return nil, err
	}
	o := &openAI{model: m}
	o.ask = o.askChat
	if api == apiResponses {
		o.ask = o.askResponses
	}
	return o, nil
}
