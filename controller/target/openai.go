package target

import (
	"cmp"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/gavel-evals/gavel/controller/config"
)

// The values of api.
const (
	apiChat      = "chat"
	apiResponses = "responses"
)

const openAIBase = "https://api.openai.com/v1"

// geminiBase is where Gemini speaks OpenAI's protocol. Its own SDK would bring
// gRPC with it.
const geminiBase = "https://generativelanguage.googleapis.com/v1beta/openai"

// openAIProtocols by api.
var openAIProtocols = map[string]protocol{
	apiChat: {
		base: openAIBase, format: "response_format",
		own: []string{"model", "messages", "tools", "response_format", "stream", "stream_options", "n"},
	},
	apiResponses: {
		base: openAIBase, format: "text",
		own:     []string{"model", "input", "instructions", "tools", "stream", "stream_options", "background"},
		renamed: map[string]string{"max_tokens": "max_output_tokens"},
	},
}

// An openAI speaks to OpenAI's API, or to anything that speaks like it.
type openAI struct {
	model
	completions openai.ChatCompletionService
	responses   responses.ResponseService
}

func newOpenAI(cfg config.Target, env Env, b base) (*openAI, error) {
	api := cmp.Or(cfg.API, apiChat)
	p, ok := openAIProtocols[api]
	if !ok {
		return nil, fmt.Errorf("there is no api %q; it is chat or responses", cfg.API)
	}
	if cfg.Provider == config.Gemini {
		p.base = geminiBase
	}
	m, err := newModel(cfg, env, b, p)
	if err != nil {
		return nil, err
	}
	o := &openAI{model: m}
	// The services are built by themselves because the SDK's client reads
	// OPENAI_ variables of the process.
	options := []option.RequestOption{
		option.WithBaseURL(o.endpoint),
		option.WithHTTPClient(o.client),
		option.WithMaxRetries(0),
		option.WithMiddleware(o.middleware),
	}
	if o.key != "" {
		options = append(options, option.WithAPIKey(string(o.key)))
	}
	if api == apiResponses {
		o.responses = responses.NewResponseService(options...)
		o.ask = o.askResponses
		return o, nil
	}
	o.completions = openai.NewChatCompletionService(options...)
	o.ask = o.askChat
	return o, nil
}
