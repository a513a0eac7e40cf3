package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// The values of api.
const (
	apiChat      = "chat"
	apiResponses = "responses"
	apiEmbedding = "embeddings"
	apiHarm      = "moderations"
	apiLabels    = "classification"
)

const openAIBase = "https://api.openai.com/v1"

// geminiBase is the address of Gemini's version of OpenAI's protocol.
const geminiBase = "https://generativelanguage.googleapis.com/v1beta/openai"

// huggingFaceBase is the address of Hugging Face's models, each below it by its name.
const huggingFaceBase = "https://router.huggingface.co/hf-inference/models"

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
	apiHarm:      {base: openAIBase, path: "moderations", authorize: bearer, own: []string{"model", "input"}},
	apiLabels:    {base: huggingFaceBase, authorize: bearer, own: []string{"inputs"}}, // its path is the model
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
		return nil, fmt.Errorf("there is no api %q; it is chat, responses, embeddings, moderations or classification", cfg.API)
	}
	if api == apiLabels {
		p.path = cfg.Model
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
	o.ask = map[string]func(context.Context, Request) (Reply, error){
		apiChat: o.askChat, apiResponses: o.askResponses,
		apiEmbedding: o.askSingle(embeddingsRequest()), apiHarm: o.askSingle(moderationsRequest()), apiLabels: o.askSingle(classificationRequest()),
	}[api]
	return o, nil
}

// askSingle asks for one value from the text of the last message. The reply is a
// message whose content is the value as JSON.
func (o *openAI) askSingle(api singleRequest) func(context.Context, Request) (Reply, error) {
	return func(ctx context.Context, req Request) (Reply, error) {
		last := ""
		for _, m := range req.Messages {
			last = m.Content
		}
		var raw json.RawMessage
		if _, err := o.post(ctx, 0, api.Request(o.id, last), &raw); err != nil {
			return Reply{}, err
		}
		made, err := api.Read(raw)
		if err != nil {
			return Reply{}, o.fail(Error{Retry: true, Message: err.Error()})
		}
		messages := []schema.Message{{Role: schema.RoleAssistant, Content: made.Value}}
		return Reply{Messages: messages, Model: made.Model, Usage: verdict.Usage{InputTokens: made.Tokens}}, nil
	}
}
