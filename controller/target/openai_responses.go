package target

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// askResponses uses the Responses API. Every request carries the whole
// conversation: nothing relies on what the provider keeps.
func (o *openAI) askResponses(ctx context.Context, req Request) (Reply, error) {
	params, err := o.responseParams(req)
	if err != nil {
		return Reply{}, o.unsendable(err)
	}
	res, err := o.responses.New(ctx, params)
	if err != nil {
		return Reply{}, err
	}
	if err := o.responseFault(res); err != nil {
		return Reply{}, err
	}
	messages, err := o.message(req, readOutput(res))
	return Reply{
		Messages: messages,
		Model:    res.Model,
		Usage:    verdict.Usage{InputTokens: res.Usage.InputTokens, OutputTokens: res.Usage.OutputTokens},
	}, err
}

// responseFault is the error of a response that failed behind a status of 200.
func (o *openAI) responseFault(res *responses.Response) error {
	switch {
	case res.Error.Message != "" || res.Status == responses.ResponseStatusFailed:
		code := string(res.Error.Code)
		return o.fail(Error{
			Retry:   code == "server_error" || code == "rate_limit_exceeded",
			Message: cmp.Or(res.Error.Message, "the response failed"),
		})
	case len(res.Output) == 0 && res.Status != responses.ResponseStatusIncomplete:
		return o.fail(Error{Retry: true, Message: "the reply has no output: " + res.RawJSON()})
	}
	return nil
}

// readOutput joins the texts of a response and lists its function calls.
// Reasoning is no part of the answer.
func readOutput(res *responses.Response) answer {
	a := answer{cut: res.IncompleteDetails.Reason}
	var said, refused strings.Builder
	for _, item := range res.Output {
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				said.WriteString(part.Text)
				refused.WriteString(part.Refusal)
			}
		case "function_call":
			a.calls = append(a.calls, functionCall(item.CallID, item.Name, item.Arguments.OfString))
		}
	}
	a.text, a.refusal = said.String(), refused.String()
	return a
}

func (o *openAI) responseParams(req Request) (responses.ResponseNewParams, error) {
	params := responses.ResponseNewParams{Model: o.id}
	if req.System != "" {
		params.Instructions = openai.String(req.System)
	}
	items := make(responses.ResponseInputParam, 0, len(req.Messages))
	for _, m := range req.Messages {
		var err error
		if items, err = appendInput(items, m); err != nil {
			return params, err
		}
	}
	params.Input.OfInputItemList = items
	for _, t := range req.Tools {
		tool := responses.FunctionToolParam{Name: t.Name, Strict: openai.Bool(false)}
		if t.Description != "" {
			tool.Description = openai.String(t.Description)
		}
		if len(t.Parameters) > 0 {
			tool.SetExtraFields(map[string]any{"parameters": t.Parameters})
		}
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	if format := o.wanted(req); format != nil {
		text := responses.ResponseFormatTextJSONSchemaConfigParam{Name: format.Name, Strict: openai.Bool(true)}
		text.SetExtraFields(map[string]any{"schema": format.Schema})
		params.Text.Format.OfJSONSchema = &text
	}
	if len(o.beside) > 0 {
		params.Text.SetExtraFields(o.beside)
	}
	if heat := o.heat(req); heat != nil {
		params.Temperature = openai.Float(*heat)
	}
	params.SetExtraFields(o.parameters)
	return params, nil
}

// appendInput adds a message as the items that the API makes of it: calls and
// results stand beside the messages.
func appendInput(items responses.ResponseInputParam, m schema.Message) (responses.ResponseInputParam, error) {
	switch m.Role {
	case schema.RoleSystem, schema.RoleUser, schema.RoleAssistant:
	case schema.RoleTool:
		return append(items, responses.ResponseInputItemUnionParam{
			OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
				CallID: openai.String(m.ToolCallID),
				Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(m.Content)},
			},
		}), nil
	default:
		return nil, fmt.Errorf("a message has the role %q", m.Role)
	}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		items = append(items, responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRole(m.Role)))
	}
	for _, c := range m.ToolCalls {
		items = append(items, responses.ResponseInputItemParamOfFunctionCall(c.Function.Arguments, c.ID, c.Function.Name))
	}
	return items, nil
}
