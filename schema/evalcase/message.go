package evalcase

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

const (
	// maxText bounds a file that goes into a message.
	maxText = 1 << 20
	// maxImage bounds an image.
	maxImage = 8 << 20
)

// An answer is what is expected of the target.
type answer struct {
	messages []schema.Message
	// reference is the answer as text, value as JSON where it is JSON.
	reference string
	value     json.RawMessage
	// from is its position; isBroken reports that it has a mistake.
	from     part
	isBroken bool
}

// conversation is what is said to the target.
type conversation struct {
	system   string
	layers   []schema.Layer
	messages []schema.Message
}

// talk returns what is said to the target, in the form of the suite.
func (c *compiler) talk() conversation {
	if c.isTests {
		c.readTest()
		return c.testInput()
	}
	return c.input()
}

// input returns what is said to the target. Where both forms are written,
// input_messages counts.
func (c *compiler) input() conversation {
	short, full := c.tc.sub("input"), c.tc.sub("input_messages")
	switch {
	case short.has() && full.has():
		inputs := c.inputs
		other := c.said(short)
		c.inputs = inputs
		said := c.said(full)
		if other.system != said.system || !isSame(other.messages, said.messages) {
			c.warn(c.tc.problem("both-forms", "`input` differs from `input_messages`, which is used", "remove `input`, or write the same", "input"))
		}
		return said
	case full.has():
		return c.said(full)
	case short.has():
		return c.said(short)
	}
	c.fail(c.tc.problem("missing-field", "the case has no input", `add "input": … or "input_messages": …`))
	return conversation{}
}

// isSame reports whether two lists of messages say the same.
func isSame(a, b []schema.Message) bool {
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && string(one) == string(other)
}

// said reads one form of the input. The system messages that come first are the
// system prompt, as every target takes one.
func (c *compiler) said(from part) conversation {
	if from.isText() {
		return conversation{messages: []schema.Message{{Role: schema.RoleUser, Content: from.text()}}}
	}
	var layers []schema.Layer
	items := from.list()
	for len(items) > 0 && items[0].text("role") == schema.RoleSystem {
		layers = append(layers, c.layers(items[0])...)
		items = items[1:]
	}
	if len(items) == 0 && !c.isTests { // where the suite has an input, too
		c.fail(from.problem("no-input", "nothing is said to the target", "add a message of the user"))
	}
	texts := make([]string, len(layers))
	for i, l := range layers {
		texts[i] = l.Text
	}
	return conversation{strings.Join(texts, "\n\n"), layers, c.messages(items)}
}

// layers makes the system prompt of a message, with the files that it is of.
func (c *compiler) layers(p part) []schema.Layer {
	m, ok := c.message(p)
	switch {
	case !ok:
		return nil
	case m.Blocks == nil:
		return []schema.Layer{{File: p.doc.File, Text: m.Content}}
	}
	var layers []schema.Layer
	for i, b := range m.Blocks {
		if b.Type == "image" {
			c.fail(p.problem("image-in-system", "a system prompt takes no image", "put it into a message of the user", "content", i))
			continue
		}
		if b.Data != nil {
			c.fail(p.problem("binary-file", b.Path+" is not text, and a system prompt must be text", "name a text file", "content", i))
			continue
		}
		file := p.doc.File
		if b.Path != "" {
			file = b.Path
		}
		layers = append(layers, schema.Layer{File: file, Text: trimmed(b.Text)})
	}
	return layers
}

// expected returns the expected answer. Where both forms are written,
// expected_messages counts.
func (c *compiler) expected() answer {
	output, messages := c.tc.sub("expected_output"), c.tc.sub("expected_messages")
	a := c.answerIn(output)
	if messages.has() {
		other := a
		a = answer{messages: c.messages(messages.list()), from: messages}
		if output.has() && !isSame(other.messages, a.messages) {
			c.warn(c.tc.problem("both-forms", "`expected_output` differs from `expected_messages`, which is used", "remove `expected_output`, or write the same", "expected_output"))
		}
	}
	a.reference = c.Reference
	for i := len(a.messages) - 1; i >= 0; i-- {
		m := a.messages[i]
		if m.Role != schema.RoleAssistant || m.Content == "" {
			continue
		}
		if raw, err := schema.Canonical([]byte(m.Content)); err == nil && a.value == nil {
			a.value = raw
		}
		if a.reference == "" {
			a.reference = m.Content
		}
		break
	}
	return a
}

// answerIn reads the short form of the expected answer.
func (c *compiler) answerIn(output part) answer {
	switch {
	case output.isText():
		return answer{messages: []schema.Message{{Role: schema.RoleAssistant, Content: output.text()}}, from: output}
	case output.isList() && areMessages(output.list()):
		return answer{messages: c.messages(output.list()), from: output}
	case output.has():
		raw := output.json()
		return answer{messages: []schema.Message{{Role: schema.RoleAssistant, Content: string(raw)}}, value: raw, from: output}
	}
	return answer{}
}

// areMessages tells a list of messages from a structured answer.
func areMessages(items []part) bool {
	for _, item := range items {
		if !item.isObject() || !item.has("role") {
			return false
		}
	}
	return len(items) > 0
}

func (c *compiler) messages(items []part) []schema.Message {
	var out []schema.Message
	calls := map[string]bool{}
	for _, item := range items {
		m, ok := c.message(item)
		if !ok {
			continue
		}
		answers := c.calls(item, &m, len(calls))
		for _, call := range m.ToolCalls {
			calls[call.ID] = true
		}
		if m.ToolCallID != "" && !calls[m.ToolCallID] {
			c.warn(item.problem("unknown-call", fmt.Sprintf("no message before this one makes the call %q", m.ToolCallID), "write the id of a call", "tool_call_id"))
		}
		out = append(append(out, m), answers...)
	}
	return out
}

// message reads one message without its calls.
func (c *compiler) message(p part) (schema.Message, bool) {
	found := p.check("#EvalcaseMessage", schema.Error)
	c.problems = append(c.problems, found...)
	if schema.HasErrors(found) {
		return schema.Message{}, false
	}
	m := schema.Message{Role: p.text("role"), ToolCallID: p.text("tool_call_id"), Name: p.text("name")}
	content := p.sub("content")
	switch {
	case content.isText():
		m.Content = content.text()
	case content.isList():
		m.Content, m.Blocks = c.content(content.list())
	case content.has():
		m.Content = string(content.json())
	case !p.has("tool_calls"):
		c.fail(p.problem("missing-field", "the field `content` is missing", `add "content": …`))
	}
	return m, true
}

// content joins blocks to one text. The blocks are kept where they are more
// than text.
func (c *compiler) content(items []part) (string, []schema.Block) {
	var texts []string
	var blocks []schema.Block
	rich := false
	for _, item := range items {
		b, ok := c.block(item)
		if !ok {
			continue
		}
		if b.Data == nil {
			texts = append(texts, trimmed(b.Text))
		}
		rich = rich || b.Type == "file" || b.Type == "image"
		blocks = append(blocks, b)
	}
	if !rich {
		blocks = nil
	}
	return strings.Join(texts, "\n\n"), blocks
}

// trimmed leaves out the line ends behind a text, so that a file that ends
// with one does not make the gap to the next block wider.
func trimmed(text string) string { return strings.TrimRight(text, "\r\n") }

func (c *compiler) block(p part) (schema.Block, bool) {
	if p.isText() {
		return schema.Block{Type: "text", Text: p.text()}, true
	}
	defs := map[string]string{"text": "#EvalcaseText", "file": "#EvalcaseFile", "image": "#EvalcaseImage", "json": "#EvalcaseJSON"}
	kind := p.text("type")
	def, ok := defs[kind]
	if !ok {
		c.unknownBlock(p, kind)
		return schema.Block{}, false
	}
	found := p.check(def, schema.Error)
	c.problems = append(c.problems, found...)
	if schema.HasErrors(found) {
		return schema.Block{}, false
	}
	switch kind {
	case "file":
		return c.fileBlock(p)
	case "image":
		return c.imageBlock(p)
	case "json":
		return schema.Block{Type: kind, Text: string(p.json("value"))}, true
	}
	return schema.Block{Type: kind, Text: p.text("value")}, true
}

func (c *compiler) unknownBlock(p part, kind string) {
	known := []string{"text", "file", "image", "json"}
	hint := "write one of " + strings.Join(known, ", ")
	if !p.has("type") {
		c.fail(p.problem("missing-field", "the field `type` is missing", hint))
		return
	}
	if near := suggest.DidYouMean(kind, known); near != "" {
		hint = near
	}
	c.fail(p.problem("wrong-value", fmt.Sprintf("unknown content type %s", p.json("type")), hint, "type"))
}

// fileBlock reads a file that goes into the message of a model and of which an
// agent gets the path.
func (c *compiler) fileBlock(p part) (schema.Block, bool) {
	f, ok := c.read(p.sub("value"), p.text("value"), "file", maxText)
	if !ok {
		return schema.Block{}, false
	}
	b := schema.Block{Type: "file", Path: f.Path, Text: string(f.Data)}
	if !utf8.Valid(f.Data) || strings.ContainsRune(b.Text, 0) {
		b.Text, b.Data = "", f.Data
		if c.known && !c.target.Agent {
			c.fail(p.problem("binary-file", f.Path+" is not text, and a model receives the text of a file", "name a text file, an image as `type: image`, or an agent as the target", "value"))
		}
	}
	return b, true
}

// calls reads the calls of an assistant message into it. Those in short bring
// their answers, which are messages of their own.
func (c *compiler) calls(p part, m *schema.Message, before int) []schema.Message {
	var answers []schema.Message
	for i, item := range p.list("tool_calls") {
		if m.Role != schema.RoleAssistant {
			c.fail(p.problem("misplaced-field", "only the assistant makes calls", "make the role assistant, or remove `tool_calls`", "tool_calls"))
			return nil
		}
		if item.has("tool") {
			call, reply := c.shortCall(item, before+i)
			m.ToolCalls = append(m.ToolCalls, call)
			answers = append(answers, reply...)
			continue
		}
		found := item.check("#EvalcaseToolCall", schema.Error)
		c.problems = append(c.problems, found...)
		if schema.HasErrors(found) {
			continue
		}
		arguments := item.text("function", "arguments")
		if !json.Valid([]byte(arguments)) {
			c.fail(item.problem("arguments", "the arguments of the call are not JSON", `write a string that holds JSON, such as "{}"`, "function", "arguments"))
		}
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID: item.text("id"), Type: "function",
			Function: schema.FunctionCall{Name: item.text("function", "name"), Arguments: arguments},
		})
	}
	return answers
}

// shortCall reads a call that is written as tool, input and output.
func (c *compiler) shortCall(p part, number int) (schema.ToolCall, []schema.Message) {
	c.problems = append(c.problems, p.check("#EvalcaseShortCall", schema.Error)...)
	call := schema.ToolCall{
		ID: p.text("id"), Type: "function",
		Function: schema.FunctionCall{Name: p.text("tool"), Arguments: "{}"},
	}
	if call.ID == "" {
		call.ID = fmt.Sprintf("call-%d", number+1)
	}
	if p.has("input") {
		call.Function.Arguments = string(p.json("input"))
	}
	if !p.has("output") {
		return call, nil
	}
	reply := schema.Message{Role: schema.RoleTool, ToolCallID: call.ID, Name: call.Function.Name, Content: string(p.json("output"))}
	if p.isText("output") {
		reply.Content = p.text("output")
	}
	return call, []schema.Message{reply}
}
