package target

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

var messagesProtocol = protocol{
	base: "https://api.anthropic.com", path: "v1/messages", authorize: anthropicKey, format: "output_config",
	own: []string{"model", "messages", "system", "tools", "stream"},
}

func anthropicKey(h http.Header, key string) {
	h.Set("Anthropic-Version", "2023-06-01")
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// maxTokens is sent if the configuration names no max_tokens: the API refuses requests
// without it.
const maxTokens = 4096

// An anthropicModel speaks to Anthropic's Messages API.
type anthropicModel struct{ model }

func newAnthropic(cfg config.Target, env Env, b base) (*anthropicModel, error) {
	m, err := newModel(cfg, env, b, messagesProtocol)
	if err != nil {
		return nil, err
	}
	a := &anthropicModel{model: m}
	a.ask = a.askMessages
	return a, nil
}

func (a *anthropicModel) askMessages(ctx context.Context, req Request) (Reply, error) {
	request, err := a.request(req)
	if err != nil {
		return Reply{}, a.unsendable(err)
	}
	var res messagesReply
	body, err := a.post(ctx, req.Room, request, &res)
	if err != nil {
		return Reply{}, err
	}
	blocks := res.Blocks()
	if len(blocks) == 0 && res.StopReason == "" {
		return Reply{}, a.fail(Error{Retry: true, Message: "the reply has no content: " + string(body)})
	}
	if failed := httpagent.ErrorText(res.Error); failed != "" {
		return Reply{}, a.fail(Error{Retry: true, Message: "the reply has an error: " + failed})
	}
	messages, err := a.message(req, readContent(&res, blocks))
	if err != nil {
		return Reply{}, err
	}
	if slices.ContainsFunc(blocks, isThought) || slices.ContainsFunc(blocks, isHosted) {
		// A model that thinks takes the result of a call only after its own, signed
		// thoughts; one whose vendor ran tools, only after their blocks.
		messages[0].Opaque = opaqueContent{Content: res.Content}.opaque()
	}
	// Tokens read from and written to a cache were sent, too.
	u := res.Usage
	return Reply{
		Messages: messages,
		Model:    string(res.Model),
		Finish:   finishReason(res.StopReason),
		Usage: verdict.Usage{
			InputTokens:  int64(u.Input + u.CacheCreation + u.CacheRead),
			OutputTokens: int64(u.Output),
		},
	}, nil
}

// isHosted reports whether a block is about a tool that the vendor ran, such as
// server_tool_use or web_search_tool_result.
func isHosted(b replyBlock) bool {
	return b.Type != "tool_use" && strings.Contains(string(b.Type), "tool_")
}

func isThought(b replyBlock) bool {
	return b.Type == "thinking" || b.Type == "redacted_thinking"
}

// readContent joins the texts of a reply and lists its calls. Thinking is not
// part of the answer.
func readContent(res *messagesReply, blocks []replyBlock) answer {
	a := answer{isAbsent: blocks == nil, cut: string(res.StopReason)} // an empty list is an empty answer
	var said strings.Builder
	var thought []string
	for _, block := range blocks {
		switch block.Type {
		case "text":
			if block.Text == nil {
				a.isAbsent = true
				continue
			}
			said.WriteString(string(*block.Text))
		case "thinking":
			thought = append(thought, string(block.Thinking))
		case "tool_use":
			a.calls = append(a.calls, functionCall(string(block.ID), string(block.Name), string(block.Input)))
		}
	}
	a.text, a.thinking = said.String(), strings.Join(thought, "\n\n")
	if res.StopReason == "refusal" {
		// A refusal may come without a word, or in the middle of a sentence.
		a.refusal = cmp.Or(a.text, string(res.StopDetails.Explanation))
		a.cut = "content_filter"
	}
	return a
}

func (a *anthropicModel) request(req Request) (messagesRequest, error) {
	request := messagesRequest{
		Model: a.id, MaxTokens: maxTokens, Output: a.siblings, Temperature: a.heat(req),
		Messages: make([]messagesTurn, 0, len(req.Messages)),
	}
	if req.System != "" {
		request.System = append(request.System, textBlock(req.System))
	}
	for _, m := range req.Messages {
		if err := appendMessage(&request, m); err != nil {
			return request, err
		}
	}
	for _, t := range req.Tools {
		if t.Hosted != nil {
			request.Tools = append(request.Tools, messagesTool{hosted: t.Hosted})
			continue
		}
		parameters, err := objectSchema(t.Name, t.Parameters)
		if err != nil {
			return request, err
		}
		request.Tools = append(request.Tools, messagesTool{Name: t.Name, Description: t.Description, Schema: parameters})
	}
	if format := a.formatFor(req); format != nil {
		request.Output = a.withFormat(wireSchema{Type: "json_schema", Schema: format.Schema})
	}
	return request, nil
}

// appendMessage adds a message in the API's form: messages of the system come before
// all others, and results of tools become messages of the user.
func appendMessage(request *messagesRequest, m schema.Message) error {
	switch m.Role {
	case schema.RoleSystem:
		text, err := onlyText(m)
		request.System = append(request.System, textBlock(text))
		return err
	case schema.RoleUser:
		list, err := pieces(m)
		said := messagesTurn{Role: m.Role}
		for _, p := range list {
			said.Content = append(said.Content, contentBlock(p))
		}
		request.Messages = append(request.Messages, said)
		return err
	case schema.RoleAssistant:
		return appendAssistant(request, m)
	case schema.RoleTool:
		return appendResult(request, m)
	}
	return fmt.Errorf("a message has the role %q", m.Role)
}

func textBlock(text string) messageBlock { return messageBlock{Type: "text", Text: &text} }

func contentBlock(p piece) messageBlock {
	if p.image == nil {
		return textBlock(p.text)
	}
	return messageBlock{Type: "image", Source: &imageSource{
		Type: "base64", MediaType: p.image.Media, Data: base64.StdEncoding.EncodeToString(p.image.Data),
	}}
}

// appendAssistant adds the text and calls of the model. It leaves an empty message out,
// since the API refuses it.
func appendAssistant(request *messagesRequest, m schema.Message) error {
	var blocks []messageBlock
	var err error
	if came := keptIn(m).Content; len(came) > 0 {
		if err = json.Unmarshal(came, &blocks); err != nil {
			err = fmt.Errorf("what the model thought cannot be read: %w", err)
		}
	} else {
		blocks, err = assistantBlocks(m)
	}
	if len(blocks) > 0 {
		request.Messages = append(request.Messages, messagesTurn{Role: m.Role, Content: blocks})
	}
	return err
}

func assistantBlocks(m schema.Message) ([]messageBlock, error) {
	text, err := onlyText(m)
	if err != nil {
		return nil, err
	}
	var blocks []messageBlock
	if text != "" {
		blocks = append(blocks, textBlock(text))
	}
	for _, c := range m.ToolCalls {
		var input map[string]json.RawMessage
		arguments := cmp.Or(strings.TrimSpace(c.Function.Arguments), "{}")
		if err := json.Unmarshal([]byte(arguments), &input); err != nil || input == nil {
			return nil, fmt.Errorf("the arguments of the call %s are not a JSON object: %s", c.Function.Name, arguments)
		}
		blocks = append(blocks, messageBlock{Type: "tool_use", ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(arguments)})
	}
	return blocks, nil
}

// appendResult adds the result of a tool. The results of calls that were made together
// must be in one message.
func appendResult(request *messagesRequest, m schema.Message) error {
	list, err := pieces(m)
	if err != nil {
		return err
	}
	result := messageBlock{Type: "tool_result", ToolUseID: m.ToolCallID}
	for _, p := range list {
		if p.image == nil && p.text == "" {
			continue // the API refuses empty text
		}
		result.Content = append(result.Content, contentBlock(p))
	}
	if n := len(request.Messages); n > 0 && hasResults(request.Messages[n-1]) {
		last := &request.Messages[n-1]
		last.Content = append(last.Content, result)
		return nil
	}
	request.Messages = append(request.Messages, messagesTurn{Role: schema.RoleUser, Content: []messageBlock{result}})
	return nil
}

func hasResults(m messagesTurn) bool {
	return len(m.Content) > 0 && m.Content[0].Type == "tool_result"
}
