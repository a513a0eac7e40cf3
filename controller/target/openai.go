package target

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/provider"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// The values of api.
const (
	apiChat      = "chat"
	apiResponses = "responses"
	apiEmbedding = "embeddings"
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
	apiEmbedding: {base: openAIBase, path: "embeddings", authorize: bearer, own: []string{"model", "input", "encoding_format"}},
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
		return nil, fmt.Errorf("there is no api %q; it is chat, responses or embeddings", cfg.API)
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
	o.ask = map[string]func(context.Context, Request) (Reply, error){apiChat: o.askChat, apiResponses: o.askResponses, apiEmbedding: o.askEmbedding}[api]
	return o, nil
}

// askEmbedding has the text of the last message turned into numbers. The reply is a
// message whose content is a list of them as JSON.
func (o *openAI) askEmbedding(ctx context.Context, req Request) (Reply, error) {
	request := provider.EmbeddingRequest{Model: o.id, Format: "float"}
	for _, m := range req.Messages {
		request.Input = m.Content
	}
	var res provider.EmbeddingReply
	if _, err := o.post(ctx, request, &res); err != nil {
		return Reply{}, err
	}
	numbers, err := res.Numbers()
	if err != nil {
		return Reply{}, o.fail(Error{Retry: true, Message: err.Error()})
	}
	messages := []schema.Message{{Role: schema.RoleAssistant, Content: numbers}}
	return Reply{Messages: messages, Model: string(res.Model), Usage: verdict.Usage{InputTokens: res.Usage.Prompt}}, nil
}
