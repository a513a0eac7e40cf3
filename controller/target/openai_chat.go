package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// askChat uses the Chat Completions API.
func (o *openAI) askChat(ctx context.Context, req Request) (Reply, error) {
	request, err := o.chatRequest(req)
	if err != nil {
		return Reply{}, o.unsendable(err)
	}
	var res chatReplyBody
	body, err := o.post(ctx, req.Room, request, &res)
	if err != nil {
		return Reply{}, err
	}
	if len(res.Choices) == 0 {
		// Gateways answer so when the provider behind them failed.
		return Reply{}, o.fail(Error{Retry: true, Message: "the reply has no choices: " + string(body)})
	}
	if failed := res.failure(); failed != "" {
		return Reply{}, o.fail(Error{Retry: true, Message: "the reply has an error: " + failed})
	}
	choice := res.Choices[0]
	a := answer{isAbsent: choice.Message.Content == nil, refusal: string(choice.Message.Refusal), cut: string(choice.FinishReason)}
	if !a.isAbsent {
		a.text = string(*choice.Message.Content)
	}
	a.thinking = string(cmp.Or(choice.Message.ReasoningContent, choice.Message.Reasoning))
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
		Model:    string(res.Model),
		Finish:   finishReason(choice.FinishReason),
		Usage: verdict.Usage{
			InputTokens: int64(u.Prompt),
			// Gemini counts the tokens of thoughts in the total only.
			OutputTokens: int64(max(u.Completion, u.Total-u.Prompt)),
		},
	}, nil
}

// extraContent keeps the data that Gemini adds to its calls, by their ids: it refuses a
// call without the signature of the thought behind it.
func extraContent(calls []schema.ToolCall, answered []chatCall) json.RawMessage {
	extras := map[string]json.RawMessage{}
	for i, c := range answered {
		if c.Extra != nil {
			extras[calls[i].ID] = c.Extra
		}
	}
	return opaqueContent{Calls: extras}.opaque()
}

func (o *openAI) chatRequest(req Request) (chatRequestBody, error) {
	request := chatRequestBody{
		Model:       o.id,
		Messages:    make([]chatMessageBody, 0, len(req.Messages)+1),
		Temperature: o.heat(req),
	}
	if req.System != "" {
		request.Messages = append(request.Messages, chatText(schema.RoleSystem, req.System))
	}
	for _, m := range req.Messages {
		message, err := chatMessage(m)
		if err != nil {
			return request, err
		}
		request.Messages = append(request.Messages, message)
	}
	for _, t := range req.Tools {
		tool := wireTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, hosted: t.Hosted}
		request.Tools = append(request.Tools, chatTool{Type: "function", Function: tool})
	}
	if o.replies != nil {
		request.Format = o.replies
	}
	if format := o.formatFor(req); format != nil {
		request.Format = &chatFormatBody{
			Type:   "json_schema",
			Schema: wireSchema{Name: format.Name, Strict: new(true), Schema: format.Schema},
		}
	}
	return request, nil
}

func chatText(role, text string) chatMessageBody {
	return chatMessageBody{Role: role, Content: &wireContent[chatPart]{Text: text}}
}

func chatMessage(m schema.Message) (chatMessageBody, error) {
	if m.Role == schema.RoleUser {
		return chatUser(m)
	}
	// The API takes images from the user only.
	text, err := onlyText(m)
	if err != nil {
		return chatMessageBody{}, err
	}
	message := chatText(m.Role, text)
	switch m.Role {
	case schema.RoleSystem:
	case schema.RoleTool:
		message.ToolCallID = m.ToolCallID
	case schema.RoleAssistant:
		message.ToolCalls = chatCalls(m)
		// Next to tool calls providers want no content rather than an empty one.
		if text == "" && len(m.ToolCalls) > 0 {
			message.Content = nil
		}
	default:
		err = fmt.Errorf("a message has the role %q", m.Role)
	}
	return message, err
}

func chatUser(m schema.Message) (chatMessageBody, error) {
	list, err := pieces(m)
	if err != nil {
		return chatMessageBody{}, err
	}
	if len(list) == 1 && list[0].image == nil {
		return chatText(m.Role, list[0].text), nil
	}
	parts := make([]chatPart, 0, len(list))
	for _, p := range list {
		if p.image == nil {
			parts = append(parts, chatPart{Type: "text", Text: p.text})
			continue
		}
		parts = append(parts, chatPart{Type: "image_url", Image: &chatImage{URL: dataURL(p.image)}})
	}
	return chatMessageBody{Role: m.Role, Content: &wireContent[chatPart]{Parts: parts}}, nil
}

func chatCalls(m schema.Message) []chatCall {
	extra := keptIn(m).Calls
	var calls []chatCall
	for _, c := range m.ToolCalls {
		calls = append(calls, chatCall{
			ID: looseText(c.ID), Type: "function", Extra: extra[c.ID],
			Function: chatFunction{
				Name: looseText(c.Function.Name), Arguments: looseText(c.Function.Arguments),
			},
		})
	}
	return calls
}
