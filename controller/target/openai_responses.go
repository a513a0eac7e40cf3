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
	case schema.RoleTool:
		return appendOutput(items, m)
	case schema.RoleSystem, schema.RoleUser:
		list, err := pieces(m)
		if err != nil {
			return nil, err
		}
		if len(list) != 1 || list[0].image != nil {
			return append(items, responses.ResponseInputItemParamOfMessage(inputParts(list), responses.EasyInputMessageRole(m.Role))), nil
		}
	case schema.RoleAssistant:
	default:
		return nil, fmt.Errorf("a message has the role %q", m.Role)
	}
	text, err := onlyText(m)
	if err != nil {
		return nil, err
	}
	if text != "" || len(m.ToolCalls) == 0 {
		items = append(items, responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRole(m.Role)))
	}
	for _, c := range m.ToolCalls {
		items = append(items, responses.ResponseInputItemParamOfFunctionCall(c.Function.Arguments, c.ID, c.Function.Name))
	}
	return items, nil
}

func inputParts(list []piece) responses.ResponseInputMessageContentListParam {
	parts := make(responses.ResponseInputMessageContentListParam, 0, len(list))
	for _, p := range list {
		if p.image == nil {
			parts = append(parts, responses.ResponseInputContentParamOfInputText(p.text))
			continue
		}
		part := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
		part.OfInputImage.ImageURL = openai.String(dataURL(p.image))
		parts = append(parts, part)
	}
	return parts
}

// appendOutput adds the result of a tool.
func appendOutput(items responses.ResponseInputParam, m schema.Message) (responses.ResponseInputParam, error) {
	list, err := pieces(m)
	if err != nil {
		return nil, err
	}
	result := &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(m.ToolCallID)}
	if len(list) == 1 && list[0].image == nil {
		result.Output.OfString = openai.String(list[0].text)
		return append(items, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: result}), nil
	}
	for _, p := range list {
		var item responses.ResponseFunctionCallOutputItemUnionParam
		if p.image == nil {
			item.OfInputText = &responses.ResponseInputTextContentParam{Text: p.text}
		} else {
			item.OfInputImage = &responses.ResponseInputImageContentParam{ImageURL: openai.String(dataURL(p.image))}
		}
		result.Output.OfResponseFunctionCallOutputItemArray = append(result.Output.OfResponseFunctionCallOutputItemArray, item)
	}
	return append(items, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: result}), nil
}
