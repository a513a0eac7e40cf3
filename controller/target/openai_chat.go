package target

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// askChat uses the Chat Completions API.
func (o *openAI) askChat(ctx context.Context, req Request) (Reply, error) {
	params, err := o.chatParams(req)
	if err != nil {
		return Reply{}, o.unsendable(err)
	}
	res, err := o.completions.New(ctx, params)
	if err != nil {
		return Reply{}, err
	}
	if len(res.Choices) == 0 {
		// Gateways answer so when the provider behind them failed.
		return Reply{}, o.fail(Error{Retry: true, Message: "the reply has no choices: " + res.RawJSON()})
	}
	choice := res.Choices[0]
	a := answer{text: choice.Message.Content, refusal: choice.Message.Refusal, cut: choice.FinishReason}
	for _, c := range choice.Message.ToolCalls {
		a.calls = append(a.calls, functionCall(c.ID, c.Function.Name, c.Function.Arguments))
	}
	messages, err := o.message(req, a)
	if err != nil {
		return Reply{}, err
	}
	messages[0].Opaque = extraContent(messages[0].ToolCalls, choice.Message.ToolCalls)
	u := res.Usage
	return Reply{
		Messages: messages,
		Model:    res.Model,
		Usage: verdict.Usage{
			InputTokens: u.PromptTokens,
			// Gemini counts what it thinks in the total only.
			OutputTokens: max(u.CompletionTokens, u.TotalTokens-u.PromptTokens),
		},
	}, nil
}

// extraContent keeps what Gemini says beside its calls, by their ids: it takes
// no call back without the signature of the thought behind it.
func extraContent(calls []schema.ToolCall, answered []openai.ChatCompletionMessageToolCallUnion) json.RawMessage {
	extras := map[string]json.RawMessage{}
	for i, c := range answered {
		var beside struct {
			Extra json.RawMessage `json:"extra_content"`
		}
		if json.Unmarshal([]byte(c.RawJSON()), &beside) == nil && beside.Extra != nil {
			extras[calls[i].ID] = beside.Extra
		}
	}
	return kept{Calls: extras}.opaque()
}

func (o *openAI) chatParams(req Request) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{
		Model:    o.id,
		Messages: make([]openai.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1),
	}
	if req.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		message, err := chatMessage(m)
		if err != nil {
			return params, err
		}
		params.Messages = append(params.Messages, message)
	}
	for _, t := range req.Tools {
		def := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			def.Description = openai.String(t.Description)
		}
		if len(t.Parameters) > 0 {
			def.SetExtraFields(map[string]any{"parameters": t.Parameters})
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(def))
	}
	if format := o.wanted(req); format != nil {
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: format.Name, Strict: openai.Bool(true), Schema: format.Schema,
			},
		}
	}
	if heat := o.heat(req); heat != nil {
		params.Temperature = openai.Float(*heat)
	}
	params.SetExtraFields(o.parameters)
	return params, nil
}

func chatMessage(m schema.Message) (openai.ChatCompletionMessageParamUnion, error) {
	if m.Role == schema.RoleUser {
		return chatUser(m)
	}
	// The API takes images from the user only.
	text, err := onlyText(m)
	switch {
	case err != nil:
		return openai.ChatCompletionMessageParamUnion{}, err
	case m.Role == schema.RoleSystem:
		return openai.SystemMessage(text), nil
	case m.Role == schema.RoleTool:
		return openai.ToolMessage(text, m.ToolCallID), nil
	case m.Role == schema.RoleAssistant:
		return chatAssistant(m, text), nil
	}
	return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("a message has the role %q", m.Role)
}

func chatUser(m schema.Message) (openai.ChatCompletionMessageParamUnion, error) {
	list, err := pieces(m)
	if err != nil {
		return openai.ChatCompletionMessageParamUnion{}, err
	}
	if len(list) == 1 && list[0].image == nil {
		return openai.UserMessage(list[0].text), nil
	}
	parts := make([]openai.ChatCompletionContentPartUnionParam, 0, len(list))
	for _, p := range list {
		if p.image == nil {
			parts = append(parts, openai.TextContentPart(p.text))
			continue
		}
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: dataURL(p.image)}))
	}
	return openai.UserMessage(parts), nil
}

func chatAssistant(m schema.Message, text string) openai.ChatCompletionMessageParamUnion {
	var said openai.ChatCompletionAssistantMessageParam
	// Beside tool calls providers want no content rather than an empty one.
	if text != "" || len(m.ToolCalls) == 0 {
		said.Content.OfString = openai.String(text)
	}
	extra := keptIn(m).Calls
	for _, c := range m.ToolCalls {
		call := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID,
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name: c.Function.Name, Arguments: c.Function.Arguments,
			},
		}
		if raw, ok := extra[c.ID]; ok {
			call.SetExtraFields(map[string]any{"extra_content": raw})
		}
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}
}
