package target

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

var messagesProtocol = protocol{
	base: "https://api.anthropic.com", format: "output_config",
	own: []string{"model", "messages", "system", "tools", "stream"},
}

// maxTokens is asked for where the configuration names no max_tokens, without
// which the API takes no request.
const maxTokens = 4096

// longest is more than any call may take. The SDK demands streaming of requests
// that may take longer than its own idea of it.
const longest = 24 * time.Hour

// An anthropicModel speaks to Anthropic's Messages API.
type anthropicModel struct {
	model
	messages anthropic.MessageService
}

func newAnthropic(cfg config.Target, env Env, b base) (*anthropicModel, error) {
	m, err := newModel(cfg, env, b, messagesProtocol)
	if err != nil {
		return nil, err
	}
	a := &anthropicModel{model: m}
	a.ask = a.askMessages
	// The service is built by itself because the SDK's client reads ANTHROPIC_
	// variables of the process and profiles of its user.
	options := []option.RequestOption{
		option.WithBaseURL(a.endpoint),
		option.WithHTTPClient(a.client),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(longest),
		option.WithMiddleware(a.middleware),
		option.WithoutOpenTelemetry(),
	}
	if a.key != "" {
		options = append(options, option.WithAPIKey(string(a.key)))
	}
	a.messages = anthropic.NewMessageService(options...)
	return a, nil
}

func (a *anthropicModel) askMessages(ctx context.Context, req Request) (Reply, error) {
	params, err := a.params(req)
	if err != nil {
		return Reply{}, a.unsendable(err)
	}
	res, err := a.messages.New(ctx, params)
	if err != nil {
		return Reply{}, err
	}
	if len(res.Content) == 0 && res.StopReason == "" {
		return Reply{}, a.fail(Error{Retry: true, Message: "the reply has no content: " + res.RawJSON()})
	}
	messages, err := a.message(req, readContent(res))
	if err != nil {
		return Reply{}, err
	}
	messages[0].Opaque = thoughts(res)
	// What is read from and written to a cache was sent, too.
	u := res.Usage
	return Reply{
		Messages: messages,
		Model:    string(res.Model),
		Usage: verdict.Usage{
			InputTokens:  u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens,
			OutputTokens: u.OutputTokens,
		},
	}, nil
}

// thoughts keeps an answer as it came where there is thinking in it: a model
// that thinks takes the result of a call only behind its own, signed words.
func thoughts(res *anthropic.Message) json.RawMessage {
	for _, block := range res.Content {
		if block.Type == "thinking" || block.Type == "redacted_thinking" {
			return kept{Content: json.RawMessage(res.JSON.Content.Raw())}.opaque()
		}
	}
	return nil
}

// readContent joins the texts of a reply and lists its calls. Thinking is no
// part of the answer.
func readContent(res *anthropic.Message) answer {
	var a answer
	var said strings.Builder
	for _, block := range res.Content {
		switch block.Type {
		case "text":
			said.WriteString(block.Text)
		case "tool_use":
			a.calls = append(a.calls, functionCall(block.ID, block.Name, string(block.Input)))
		}
	}
	a.text = said.String()
	if res.StopReason == anthropic.StopReasonRefusal {
		// A refusal may come without a word, or in the middle of a sentence.
		a.refusal = cmp.Or(a.text, res.StopDetails.Explanation)
		a.cut = "content_filter"
	}
	return a
}

func (a *anthropicModel) params(req Request) (anthropic.MessageNewParams, error) {
	params := anthropic.MessageNewParams{Model: anthropic.Model(a.id), MaxTokens: maxTokens}
	if req.System != "" {
		params.System = append(params.System, anthropic.TextBlockParam{Text: req.System})
	}
	for _, m := range req.Messages {
		if err := appendMessage(&params, m); err != nil {
			return params, err
		}
	}
	for _, t := range req.Tools {
		tool, err := offeredTool(t)
		if err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	if format := a.wanted(req); format != nil {
		// As it is: the order of the properties is that of the answer.
		params.OutputConfig.Format.SetExtraFields(map[string]any{"schema": format.Schema})
	}
	if len(a.beside) > 0 {
		params.OutputConfig.SetExtraFields(a.beside)
	}
	if heat := a.heat(req); heat != nil {
		params.Temperature = anthropic.Float(*heat)
	}
	params.SetExtraFields(a.parameters)
	return params, nil
}

// offeredTool takes the schema as it is, which must be that of an object: a tool
// that takes nothing says so, too.
func offeredTool(t schema.Tool) (*anthropic.ToolParam, error) {
	tool := &anthropic.ToolParam{Name: t.Name, InputSchema: anthropic.ToolInputSchemaParam{Type: "object"}}
	if t.Description != "" {
		tool.Description = anthropic.String(t.Description)
	}
	if len(t.Parameters) > 0 {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(t.Parameters, &fields); err != nil {
			return nil, fmt.Errorf("the parameters of the tool %s are no JSON object", t.Name)
		}
		tool.InputSchema.ExtraFields = make(map[string]any, len(fields))
		for name, value := range fields {
			tool.InputSchema.ExtraFields[name] = value
		}
	}
	return tool, nil
}

// appendMessage adds a message in the API's form: what is said by the system
// stands before all others, and results of tools are said by the user.
func appendMessage(params *anthropic.MessageNewParams, m schema.Message) error {
	switch m.Role {
	case schema.RoleSystem:
		text, err := onlyText(m)
		params.System = append(params.System, anthropic.TextBlockParam{Text: text})
		return err
	case schema.RoleUser:
		list, err := pieces(m)
		said := anthropic.NewUserMessage()
		for _, p := range list {
			said.Content = append(said.Content, contentBlock(p))
		}
		params.Messages = append(params.Messages, said)
		return err
	case schema.RoleAssistant:
		return appendAssistant(params, m)
	case schema.RoleTool:
		return appendResult(params, m)
	}
	return fmt.Errorf("a message has the role %q", m.Role)
}

func contentBlock(p piece) anthropic.ContentBlockParamUnion {
	if p.image == nil {
		return anthropic.NewTextBlock(p.text)
	}
	return anthropic.NewImageBlockBase64(p.image.Media, base64.StdEncoding.EncodeToString(p.image.Data))
}

// appendAssistant adds what the model said and called. A message that is empty
// is left out, since the API takes none.
func appendAssistant(params *anthropic.MessageNewParams, m schema.Message) error {
	said := anthropic.NewAssistantMessage()
	var err error
	if came := keptIn(m).Content; len(came) > 0 {
		said.Content, err = blocksAsTheyCame(came)
	} else {
		said.Content, err = assistantBlocks(m)
	}
	if len(said.Content) > 0 {
		params.Messages = append(params.Messages, said)
	}
	return err
}

func blocksAsTheyCame(content json.RawMessage) ([]anthropic.ContentBlockParamUnion, error) {
	var came []anthropic.ContentBlockUnion
	if err := json.Unmarshal(content, &came); err != nil {
		return nil, fmt.Errorf("what the model thought cannot be read: %w", err)
	}
	blocks := make([]anthropic.ContentBlockParamUnion, 0, len(came))
	for _, block := range came {
		blocks = append(blocks, block.ToParam())
	}
	return blocks, nil
}

func assistantBlocks(m schema.Message) ([]anthropic.ContentBlockParamUnion, error) {
	text, err := onlyText(m)
	if err != nil {
		return nil, err
	}
	var blocks []anthropic.ContentBlockParamUnion
	if text != "" {
		blocks = append(blocks, anthropic.NewTextBlock(text))
	}
	for _, c := range m.ToolCalls {
		var input map[string]json.RawMessage
		arguments := cmp.Or(strings.TrimSpace(c.Function.Arguments), "{}")
		if err := json.Unmarshal([]byte(arguments), &input); err != nil || input == nil {
			return nil, fmt.Errorf("the arguments of the call %s are no JSON object: %s", c.Function.Name, arguments)
		}
		blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, json.RawMessage(arguments), c.Function.Name))
	}
	return blocks, nil
}

// appendResult adds the result of a tool. Those of calls that were made
// together must stand in one message.
func appendResult(params *anthropic.MessageNewParams, m schema.Message) error {
	list, err := pieces(m)
	if err != nil {
		return err
	}
	result := anthropic.ToolResultBlockParam{ToolUseID: m.ToolCallID}
	for _, p := range list {
		var content anthropic.ToolResultBlockParamContentUnion
		switch block := contentBlock(p); {
		case p.image != nil:
			content.OfImage = block.OfImage
		case p.text == "":
			continue // the API takes no empty text
		default:
			content.OfText = block.OfText
		}
		result.Content = append(result.Content, content)
	}
	block := anthropic.ContentBlockParamUnion{OfToolResult: &result}
	if n := len(params.Messages); n > 0 && isResult(params.Messages[n-1]) {
		params.Messages[n-1].Content = append(params.Messages[n-1].Content, block)
		return nil
	}
	params.Messages = append(params.Messages, anthropic.NewUserMessage(block))
	return nil
}

func isResult(m anthropic.MessageParam) bool {
	return len(m.Content) > 0 && !param.IsOmitted(m.Content[0].OfToolResult)
}
