package evalcase

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

const (
	// maxText bounds a file that goes into a message.
	maxText = 1 << 20
	// maxImage bounds an image.
	maxImage = 8 << 20
)

// An answer is the expected answer of the target.
type answer struct {
	messages []schema.Message
	// reference is the answer as text, and value the answer as JSON if it is JSON.
	reference string
	value     json.RawMessage
	// from is its position; isBroken reports that it has a mistake.
	from     document.Place
	isBroken bool
}

// conversation is the input of the target.
type conversation struct {
	system   string
	layers   []schema.Layer
	messages []schema.Message
	turns    [][]schema.Message // after the replies to messages
}

// size returns the bytes of text.
func (said conversation) size() int {
	n := len(said.system)
	for _, list := range append([][]schema.Message{said.messages}, said.turns...) {
		for _, m := range list {
			n += len(m.Content)
		}
	}
	return n
}

// talk returns the target's input, in the form of the suite.
func (c *compiler) talk() conversation {
	if c.isTests {
		c.readTest()
		return c.testInput()
	}
	return c.input()
}

// input returns the target's input. If both forms are written, input_messages counts.
func (c *compiler) input() conversation {
	short, full := c.tc.Sub("input"), c.tc.Sub("input_messages")
	switch {
	case short.Has() && full.Has():
		inputs := c.inputs
		other := c.said(short)
		c.inputs = inputs
		said := c.said(full)
		if other.system != said.system || !isSame(other.messages, said.messages) {
			c.warn(c.tc.Problem("both-forms", "`input` differs from `input_messages`, which is used", "remove `input`, or write the same", "input"))
		}
		return said
	case full.Has():
		return c.said(full)
	case short.Has():
		return c.said(short)
	}
	c.fail(c.tc.Problem("missing-field", "the case has no input", `add "input": … or "input_messages": …`))
	return conversation{}
}

// isSame reports whether two lists of messages say the same.
func isSame(a, b []schema.Message) bool {
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && string(one) == string(other)
}

// said reads one form of the input. Leading system messages are the system prompt,
// since every target accepts one.
func (c *compiler) said(from document.Place) conversation {
	switch {
	case from.IsText():
		return conversation{messages: []schema.Message{{Role: schema.RoleUser, Content: from.Text()}}}
	case from.IsObject():
		return conversation{messages: []schema.Message{{Role: schema.RoleUser, Content: string(from.JSON())}}}
	}
	var layers []schema.Layer
	items := from.List()
	for len(items) > 0 && items[0].Text("role") == schema.RoleSystem {
		layers = append(layers, c.layers(items[0])...)
		items = items[1:]
	}
	if len(items) == 0 && !c.isTests { // where the suite has an input, too
		c.fail(from.Problem("no-input", "nothing is said to the target", "add a message of the user"))
	}
	texts := make([]string, len(layers))
	for i, l := range layers {
		texts[i] = l.Text
	}
	return conversation{system: strings.Join(texts, "\n\n"), layers: layers, messages: c.messages(items)}
}

// layers makes the system prompt of a message, with the files that it is of.
func (c *compiler) layers(p document.Place) []schema.Layer {
	m, ok := c.message(p)
	switch {
	case !ok:
		return nil
	case m.Blocks == nil:
		return []schema.Layer{{File: p.Doc.File, Text: m.Content}}
	}
	var layers []schema.Layer
	for i, b := range m.Blocks {
		if b.Type == "image" {
			c.fail(p.Problem("image-in-system", "a system prompt takes no image", "put it into a message of the user", "content", i))
			continue
		}
		if b.Data != nil {
			c.fail(p.Problem("binary-file", b.Path+" is not text, and a system prompt must be text", "name a text file", "content", i))
			continue
		}
		file := p.Doc.File
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
	output, messages := c.tc.Sub("expected_output"), c.tc.Sub("expected_messages")
	a := c.answerIn(output)
	if messages.Has() {
		other := a
		a = answer{messages: c.messages(messages.List()), from: messages}
		if output.Has() && !isSame(other.messages, a.messages) {
			c.warn(c.tc.Problem("both-forms", "`expected_output` differs from `expected_messages`, which is used", "remove `expected_output`, or write the same", "expected_output"))
		}
	}
	a.reference = c.Reference
	return a.complete()
}

// answerWith is the answer that is expected of a turn.
func (c *compiler) answerWith(output document.Place) answer { return c.answerIn(output).complete() }

// complete finds the text of the answer, and its value if it is JSON.
func (a answer) complete() answer {
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
func (c *compiler) answerIn(output document.Place) answer {
	switch {
	case output.IsText():
		return answer{messages: []schema.Message{{Role: schema.RoleAssistant, Content: output.Text()}}, from: output}
	case output.IsList() && areMessages(output.List()):
		return answer{messages: c.messages(output.List()), from: output}
	case output.Has():
		raw := output.JSON()
		return answer{messages: []schema.Message{{Role: schema.RoleAssistant, Content: string(raw)}}, value: raw, from: output}
	}
	return answer{}
}

// areMessages tells a list of messages from a structured answer.
func areMessages(items []document.Place) bool {
	for _, item := range items {
		if !item.IsObject() || !item.Has("role") {
			return false
		}
	}
	return len(items) > 0
}

func (c *compiler) messages(items []document.Place) []schema.Message {
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
			c.warn(item.Problem("unknown-call", fmt.Sprintf("no message before this one makes the call %q", m.ToolCallID), "write the id of a call", "tool_call_id"))
		}
		out = append(append(out, m), answers...)
	}
	return out
}

// message reads one message without its calls.
func (c *compiler) message(p document.Place) (schema.Message, bool) {
	found := p.Check("#EvalcaseMessage", schema.Error)
	c.problems = append(c.problems, found...)
	if schema.HasErrors(found) {
		return schema.Message{}, false
	}
	m := schema.Message{Role: p.Text("role"), ToolCallID: p.Text("tool_call_id"), Name: p.Text("name")}
	content := p.Sub("content")
	switch {
	case content.IsText():
		m.Content = content.Text()
	case content.IsList():
		m.Content, m.Blocks = c.content(content.List())
	case content.Has():
		m.Content = string(content.JSON())
	case !p.Has("tool_calls"):
		c.fail(p.Problem("missing-field", "the field `content` is missing", `add "content": …`))
	}
	return m, true
}

// content joins blocks to one text. The blocks are kept where they are more
// than text.
func (c *compiler) content(items []document.Place) (string, []schema.Block) {
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

func (c *compiler) block(p document.Place) (schema.Block, bool) {
	if p.IsText() {
		return schema.Block{Type: "text", Text: p.Text()}, true
	}
	defs := map[string]string{"text": "#EvalcaseText", "file": "#EvalcaseFile", "image": "#EvalcaseImage", "json": "#EvalcaseJSON"}
	kind := p.Text("type")
	def, ok := defs[kind]
	if !ok {
		c.unknownBlock(p, kind)
		return schema.Block{}, false
	}
	found := p.Check(def, schema.Error)
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
		return schema.Block{Type: kind, Text: string(p.JSON("value"))}, true
	}
	return schema.Block{Type: kind, Text: p.Text("value")}, true
}

func (c *compiler) unknownBlock(p document.Place, kind string) {
	known := []string{"text", "file", "image", "json"}
	hint := "write one of " + strings.Join(known, ", ")
	if !p.Has("type") {
		c.fail(p.Problem("missing-field", "the field `type` is missing", hint))
		return
	}
	if near := suggest.DidYouMean(kind, known); near != "" {
		hint = near
	}
	c.fail(p.Problem("wrong-value", fmt.Sprintf("unknown content type %s", p.JSON("type")), hint, "type"))
}

// fileBlock reads a file that becomes a part of a model's message; an agent gets its
// path.
func (c *compiler) fileBlock(p document.Place) (schema.Block, bool) {
	f, ok := c.read(p.Sub("value"), p.Text("value"), "file", maxText)
	if !ok {
		return schema.Block{}, false
	}
	c.Budget.Spend(document.Text, len(f.Data))
	b := schema.Block{Type: "file", Path: f.Path, Text: string(f.Data)}
	if !utf8.Valid(f.Data) || strings.ContainsRune(b.Text, 0) {
		b.Text, b.Data = "", f.Data
		if c.known && !c.target.Agent {
			c.fail(p.Problem("binary-file", f.Path+" is not text, and a model receives the text of a file", "name a text file, an image as `type: image`, or an agent as the target", "value"))
		}
	}
	return b, true
}

// calls reads the calls of an assistant message into it. Those in short bring
// their answers, which are messages of their own.
func (c *compiler) calls(p document.Place, m *schema.Message, before int) []schema.Message {
	var answers []schema.Message
	for i, item := range p.List("tool_calls") {
		if m.Role != schema.RoleAssistant {
			c.fail(p.Problem("misplaced-field", "only the assistant makes calls", "make the role assistant, or remove `tool_calls`", "tool_calls"))
			return nil
		}
		if item.Has("tool") {
			call, reply := c.shortCall(item, before+i)
			m.ToolCalls = append(m.ToolCalls, call)
			answers = append(answers, reply...)
			continue
		}
		found := item.Check("#EvalcaseToolCall", schema.Error)
		c.problems = append(c.problems, found...)
		if schema.HasErrors(found) {
			continue
		}
		arguments := item.Text("function", "arguments")
		if !json.Valid([]byte(arguments)) {
			c.fail(item.Problem("arguments", "the arguments of the call are not JSON", `write a string that holds JSON, such as "{}"`, "function", "arguments"))
		}
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID: item.Text("id"), Type: "function",
			Function: schema.FunctionCall{Name: item.Text("function", "name"), Arguments: arguments},
		})
	}
	return answers
}

// shortCall reads a call that is written as tool, input and output.
func (c *compiler) shortCall(p document.Place, number int) (schema.ToolCall, []schema.Message) {
	c.problems = append(c.problems, p.Check("#EvalcaseShortCall", schema.Error)...)
	call := schema.ToolCall{
		ID: p.Text("id"), Type: "function",
		Function: schema.FunctionCall{Name: p.Text("tool"), Arguments: "{}"},
	}
	if call.ID == "" {
		call.ID = fmt.Sprintf("call-%d", number+1)
	}
	if p.Has("input") {
		call.Function.Arguments = string(p.JSON("input"))
	}
	if !p.Has("output") {
		return call, nil
	}
	reply := schema.Message{Role: schema.RoleTool, ToolCallID: call.ID, Name: call.Function.Name, Content: string(p.JSON("output"))}
	if p.IsText("output") {
		reply.Content = p.Text("output")
	}
	return call, []schema.Message{reply}
}
