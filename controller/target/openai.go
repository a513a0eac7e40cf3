package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

const openAIBase = "https://api.openai.com/v1"

// The values of api.
const (
	apiChat      = "chat"
	apiResponses = "responses"
)

// An openAI speaks to OpenAI's API, or to anything that speaks like it.
type openAI struct {
	wire
	model string
	// parameters are sent as they are, over whatever else has their name.
	parameters map[string]any
	// text holds what parameters say beside the format in the Responses API.
	text map[string]any
	// temperature is true where parameters settle it, by a value or by null.
	temperature bool

	completions openai.ChatCompletionService
	responses   responses.ResponseService
	ask         func(ctx context.Context, req Request) (Reply, error)
}

func newOpenAI(cfg config.Target, env Env, b base) (*openAI, error) {
	w, err := newWire(cfg, env, b)
	if err != nil {
		return nil, err
	}
	endpoint := cmp.Or(cfg.BaseURL, openAIBase)
	if err := checkEndpoint("base_url", endpoint); err != nil {
		return nil, err
	}
	if cfg.Model == "" {
		return nil, errors.New("model is not set")
	}
	o := &openAI{wire: w, model: cfg.Model}
	if err := o.takeParameters(cfg); err != nil {
		return nil, err
	}
	// The services are built by themselves because the SDK's client reads
	// OPENAI_ variables of the process.
	options := []option.RequestOption{
		option.WithBaseURL(endpoint),
		option.WithHTTPClient(o.client),
		option.WithMaxRetries(0),
		option.WithMiddleware(o.middleware),
	}
	if o.key != "" {
		options = append(options, option.WithAPIKey(string(o.key)))
	}
	switch cmp.Or(cfg.API, apiChat) {
	case apiChat:
		o.completions = openai.NewChatCompletionService(options...)
		o.ask = o.askChat
	case apiResponses:
		o.responses = responses.NewResponseService(options...)
		o.ask = o.askResponses
	default:
		return nil, fmt.Errorf("there is no api %q; it is chat or responses", cfg.API)
	}
	return o, nil
}

// ownFields of a request are what Gavel fills in itself or cannot deal with.
var ownFields = map[string][]string{
	apiChat:      {"model", "messages", "tools", "response_format", "stream", "stream_options", "n"},
	apiResponses: {"model", "input", "instructions", "tools", "stream", "stream_options", "background"},
}

// takeParameters checks the configured parameters. One that is null is not
// sent, which takes the judges' temperature away from models that refuse it.
func (o *openAI) takeParameters(cfg config.Target) error {
	api := cmp.Or(cfg.API, apiChat)
	o.parameters = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Parameters)) {
		raw := bytes.TrimSpace(cfg.Parameters[name])
		if slices.Contains(ownFields[api], name) {
			return fmt.Errorf("parameter %s cannot be configured: it is part of what is tested", name)
		}
		if !json.Valid(raw) {
			return fmt.Errorf("parameter %s is not JSON", name)
		}
		if name == "temperature" {
			o.temperature = true
		}
		switch {
		case string(raw) == "null":
		case api == apiResponses && name == "text":
			if err := o.takeText(raw); err != nil {
				return err
			}
		case api == apiResponses && name == "max_tokens":
			o.parameters["max_output_tokens"] = json.RawMessage(raw)
		default:
			o.parameters[name] = json.RawMessage(raw)
		}
	}
	return nil
}

// takeText keeps what a text parameter says beside the format.
func (o *openAI) takeText(raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &o.text); err != nil {
		return errors.New("parameter text is no object")
	}
	if _, ok := o.text["format"]; ok {
		return errors.New("parameter text.format cannot be configured: it is part of what is tested")
	}
	return nil
}

func (o *openAI) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := o.exchange(req, next)
	if err != nil {
		return nil, err
	}
	// Some servers forget the type, without which the SDK reads no JSON.
	resp.Header.Set("Content-Type", "application/json")
	return resp, nil
}

// Respond sends one request. The reply is one assistant message.
func (o *openAI) Respond(ctx context.Context, req Request) (Reply, error) {
	start := o.now()
	reply, err := o.ask(ctx, req)
	var known *Error
	switch {
	case err == nil:
		reply.Traced = true
		reply.Usage.Calls = 1
		reply.Latency = o.now().Sub(start)
		return reply, nil
	case errors.As(err, &known):
		return Reply{}, known
	case ctx.Err() != nil:
		return Reply{}, o.ended(ctx)
	}
	return Reply{}, o.fail(Error{
		Message: "the reply is not what " + o.model + " should send; is base_url right? " + err.Error(),
	})
}

// An answer is the common part of what both APIs give.
type answer struct {
	text, refusal string
	calls         []schema.ToolCall
	// cut names what stopped the model before its end, such as content_filter.
	cut string
}

// message turns an answer into the message of a reply. A refusal is an answer
// like any other where free text was asked for, since tests may well ask for
// one; where JSON was asked for there is none.
func (o *openAI) message(req Request, a answer) ([]schema.Message, error) {
	if a.refusal != "" && req.Format != nil {
		return nil, o.fail(Error{Message: "the model refused: " + a.refusal})
	}
	content := cmp.Or(a.text, a.refusal)
	if content == "" && len(a.calls) == 0 && a.cut == "content_filter" {
		return nil, o.fail(Error{Message: "the provider's content filter held the answer back"})
	}
	for i := range a.calls {
		a.calls[i].ID = cmp.Or(a.calls[i].ID, callID(req, i))
	}
	return []schema.Message{{Role: schema.RoleAssistant, Content: content, ToolCalls: a.calls}}, nil
}

// callID names a tool call that came without an id, unique in the conversation
// and the same in every run.
func callID(req Request, i int) string {
	return "call_" + strconv.Itoa(len(req.Messages)) + "_" + strconv.Itoa(i)
}
