package target

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// askResponses uses the Responses API. Every request carries the whole conversation:
// nothing relies on the provider's storage.
func (o *openAI) askResponses(ctx context.Context, req Request) (Reply, error) {
	request, err := o.responsesRequest(req)
	if err != nil {
		return Reply{}, o.unsendable(err)
	}
	var res responsesReplyBody
	body, err := o.post(ctx, req.Room, request, &res)
	if err != nil {
		return Reply{}, err
	}
	if err := o.responseFault(&res, body); err != nil {
		return Reply{}, err
	}
	said := readOutput(&res)
	messages, err := o.message(req, said)
	if err == nil {
		messages[0].Opaque = opaqueContent{Items: said.hosted}.opaque()
	}
	return Reply{
		Messages: messages,
		Model:    string(res.Model),
		Finish:   res.Finish(),
		Usage:    verdict.Usage{InputTokens: int64(res.Usage.Input), OutputTokens: int64(res.Usage.Output)},
	}, err
}

// responseFault returns the error of a response that failed behind a status of 200.
func (o *openAI) responseFault(res *responsesReplyBody, body []byte) error {
	switch {
	case res.Error.Message != "" || res.Error.Code != "" || res.Status == "failed" || res.Status == "cancelled":
		code := res.Error.Code
		return o.fail(Error{
			Retry:   code == "server_error" || code == "rate_limit_exceeded",
			Message: cmp.Or(string(res.Error.Message), string(code), "the response "+string(cmp.Or(res.Status, "failed"))),
		})
	case len(res.Output) == 0 && res.Status != "incomplete":
		return o.fail(Error{Retry: true, Message: "the reply has no output: " + string(body)})
	}
	return nil
}

// readOutput joins the texts of a response and lists its function calls.
// Reasoning is not part of the answer.
func readOutput(res *responsesReplyBody) answer {
	a := answer{isAbsent: true, cut: string(res.Incomplete.Reason)}
	var said, refused strings.Builder
	var thought []string
	for _, item := range res.Output {
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				a.isAbsent = a.isAbsent && part.Text == nil
				said.WriteString(part.said())
				refused.WriteString(string(part.Refusal))
			}
		case "reasoning":
			for _, part := range item.Content {
				thought = append(thought, part.said())
			}
			for _, part := range item.Summary {
				thought = append(thought, string(part.Text))
			}
		case "function_call":
			a.calls = append(a.calls, functionCall(item.CallID, item.Name, item.Arguments))
		default: // what a tool did that the vendor runs
			a.hosted = append(a.hosted, item.came)
		}
	}
	a.text, a.refusal, a.thinking = said.String(), refused.String(), strings.Join(thought, "\n\n")
	return a
}

func (o *openAI) responsesRequest(req Request) (responsesRequestBody, error) {
	request := responsesRequestBody{
		Model: o.id, Instructions: req.System, Temperature: o.heat(req),
		Input: make([]inputItem, 0, len(req.Messages)),
		Text:  o.siblings,
	}
	if format := o.formatFor(req); format != nil {
		request.Text = o.withFormat(wireSchema{
			Type: "json_schema", Name: format.Name, Strict: new(true), Schema: format.Schema,
		})
	}
	for _, m := range req.Messages {
		items, err := inputItems(m)
		if err != nil {
			return request, err
		}
		request.Input = append(request.Input, items...)
	}
	for _, t := range req.Tools {
		request.Tools = append(request.Tools, wireTool{
			Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: new(false), hosted: t.Hosted,
		})
	}
	return request, nil
}

// inputItems returns a message as the items of the API: calls and results are items
// next to the messages.
func inputItems(m schema.Message) ([]inputItem, error) {
	switch m.Role {
	case schema.RoleTool:
		output, err := inputContent(m, "")
		return []inputItem{{Type: "function_call_output", CallID: m.ToolCallID, Output: output}}, err
	case schema.RoleSystem, schema.RoleUser:
		content, err := inputContent(m, "auto")
		return []inputItem{{Role: m.Role, Content: content}}, err
	case schema.RoleAssistant:
		return assistantItems(m)
	}
	return nil, fmt.Errorf("a message has the role %q", m.Role)
}

func assistantItems(m schema.Message) ([]inputItem, error) {
	text, err := onlyText(m)
	if err != nil {
		return nil, err
	}
	var items []inputItem
	if text != "" || len(m.ToolCalls) == 0 {
		items = append(items, inputItem{Role: m.Role, Content: &wireContent[inputPart]{Text: text}})
	}
	for _, c := range m.ToolCalls {
		items = append(items, inputItem{
			Type: "function_call", CallID: c.ID, Name: c.Function.Name, Arguments: &c.Function.Arguments,
		})
	}
	return items, nil
}

// inputContent returns the content of a message, whose images are looked at in the
// given detail.
func inputContent(m schema.Message, detail string) (*wireContent[inputPart], error) {
	list, err := pieces(m)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 && list[0].image == nil {
		return &wireContent[inputPart]{Text: list[0].text}, nil
	}
	parts := make([]inputPart, 0, len(list))
	for _, p := range list {
		if p.image == nil {
			parts = append(parts, inputPart{Type: "input_text", Text: p.text})
			continue
		}
		parts = append(parts, inputPart{Type: "input_image", Detail: detail, ImageURL: dataURL(p.image)})
	}
	return &wireContent[inputPart]{Parts: parts}, nil
}
