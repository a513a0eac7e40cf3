// Package chat reads prompts that are chats, lists of messages with role and content,
// and tools, both in the forms of model APIs.
//
// Most callers want [Render].
package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// A Message is a message of a prompt, before variables are filled in.
type Message struct {
	Role string `json:"role"`
	// Content is a text, or a list of parts: texts and images.
	Content json.RawMessage `json:"content"`
}

// A Prompt is the beginning of a case.
type Prompt struct {
	// System is the text of leading system messages.
	System   string
	Messages []schema.Message
}

// A Fill fills variables into a text.
type Fill func(text string) (string, error)

// A Template is a prompt in which variables are filled in.
type Template struct {
	Prefix, Text, Suffix string
	// Lenient sends a text that looks like JSON but is invalid unchanged, as agents
	// accept it.
	Lenient bool
	// InJSON fills variables into the texts of a template that is JSON; nil fills them as into
	// other texts.
	InJSON Fill
}

// Render fills variables into a prompt: a chat as JSON or YAML, or any other text,
// which becomes a user message. A chat keeps its structure whatever the variables
// contain, and the prefix and the suffix are only put around a text. The error is
// [Filled]'s, or a [*template.MistakeError] about a text that looks like JSON or a chat
// and is unreadable.
func Render(t Template, fill Fill) (Prompt, error) {
	inJSON := t.InJSON
	if inJSON == nil {
		inJSON = fill
	}
	if list := parse(t.Text); list != nil {
		return Filled(list, inJSON)
	}
	if list := parseYAML(t.Text); list != nil {
		return Filled(list, fill)
	}
	text := t.Prefix + t.Text + t.Suffix
	if opens(text) && json.Valid([]byte(text)) {
		filled, err := fillJSON(strings.TrimSpace(text), inJSON)
		return said(filled), err
	}
	filled, err := fill(text)
	if err != nil {
		return Prompt{}, err
	}
	// A text that a variable begins, such as an example of JSON, is not a chat.
	isChat := opens(text) || strings.Contains(filled, `"role"`)
	if !t.Lenient && opens(text) && isBroken(filled) {
		return Prompt{}, broken(filled)
	}
	return read(filled, t.Lenient || !isChat)
}

// opens reports whether a template begins as JSON itself.
func opens(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "{{") && !strings.HasPrefix(text, "{%") && !strings.HasPrefix(text, "{#")
}

// said returns a prompt with a user message.
func said(text string) Prompt {
	return Prompt{Messages: []schema.Message{{Role: schema.RoleUser, Content: text}}}
}

// read reads a prompt whose variables are filled in.
func read(text string, lenient bool) (Prompt, error) {
	plain := func(s string) (string, error) { return s, nil }
	if list := parse(text); list != nil {
		return Filled(list, plain)
	}
	if isYAML(text) {
		list := listOf(text)
		if list == nil {
			return Prompt{}, &template.MistakeError{Message: "the prompt begins as a chat in YAML, and is none once its variables are filled in", Hint: "put the variables into quotes, or write the chat as JSON"}
		}
		return Filled(list, plain)
	}
	if !json.Valid([]byte(text)) && !lenient && looksLikeJSON(text) {
		return Prompt{}, broken(text)
	}
	return said(text), nil
}

// isBroken reports whether a text begins like JSON, so that promptfoo takes it for a
// chat, but is invalid.
func isBroken(text string) bool {
	trimmed := strings.TrimSpace(text)
	return (strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{")) && !json.Valid([]byte(trimmed))
}

// broken returns the error of a text that looks like JSON but is invalid.
func broken(text string) error {
	why := json.Unmarshal([]byte(text), new(any))
	hint := "fill variables in with {{ name | dump }}, without quotes around it"
	if !looksLikeJSON(text) {
		hint = "write a chat as JSON, or begin the text with another sign"
	}
	return &template.MistakeError{Message: fmt.Sprintf("the prompt looks like JSON, and is none once its variables are filled in: %v", why), Hint: hint}
}

// inside matches the characters with which a JSON list continues or ends.
var inside = lazyregexp.New(`^\[\s*(?:["{\[\]\d-]|true|false|null)`)

// looksLikeJSON reports whether a text begins and ends as an object or a list of JSON does.
func looksLikeJSON(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") || strings.HasSuffix(text, "]") && inside.MatchString(text)
}

// literal matches a text within JSON, and the colon after a field's name.
var literal = lazyregexp.New(`"(?:[^"\\]|\\.)*"(\s*:)?`)

// fillJSON fills variables into the texts of JSON, except the names of fields, and
// writes it as JavaScript does with two spaces.
func fillJSON(text string, fill Fill) (string, error) {
	var failed error
	text = literal.ReplaceAllStringFunc(text, func(s string) string {
		var value string
		if strings.HasSuffix(s, ":") || json.Unmarshal([]byte(s), &value) != nil {
			return s
		}
		value, err := fill(value)
		failed = cmp.Or(failed, err)
		return quoted(value)
	})
	var out bytes.Buffer
	if failed != nil {
		return "", failed
	}
	err := json.Indent(&out, []byte(text), "", "  ")
	return out.String(), err
}

// quoted returns a text as JSON, without escapes for HTML.
func quoted(s string) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text
	return strings.TrimSuffix(out.String(), "\n")
}

// parse reads a chat as JSON; nil for any other text.
func parse(text string) []Message {
	var list []Message
	if !strings.HasPrefix(strings.TrimSpace(text), "[") || json.Unmarshal([]byte(text), &list) != nil || len(list) == 0 || list[0].Role == "" {
		return nil
	}
	return list
}

// isYAML reports whether a text begins as a chat in YAML does.
func isYAML(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "- role:") }

// listOf reads a chat as YAML; nil for any other text.
func listOf(text string) []Message {
	doc, problems := document.Parse("prompt.yaml", []byte(text))
	if doc == nil || schema.HasErrors(problems) {
		return nil
	}
	return parse(string(doc.JSON()))
}

// hole matches a placeholder.
var hole = lazyregexp.New(`\{\{.*?\}\}`)

// parseYAML parses a template that is a chat in YAML; nil for any other text, and if a
// template generates the messages. Quotes around a variable are optional.
func parseYAML(text string) []Message {
	if !isYAML(text) || strings.Contains(text, "{%") {
		return nil
	}
	var holes []string
	list := listOf(hole.ReplaceAllStringFunc(text, func(s string) string {
		holes = append(holes, s)
		return fmt.Sprintf("GavelHole%dX", len(holes)-1)
	}))
	for i := range list {
		for n, hole := range holes {
			mark, inJSON := fmt.Sprintf("GavelHole%dX", n), quoted(hole)
			list[i].Role = strings.ReplaceAll(list[i].Role, mark, hole)
			list[i].Content = json.RawMessage(strings.ReplaceAll(string(list[i].Content), mark, inJSON[1:len(inJSON)-1]))
		}
	}
	return list
}

// Filled reads the messages of a chat and fills variables into their texts. The error
// is a [*template.NeedError] about an unsupported part, or fill's.
func Filled(list []Message, fill Fill) (Prompt, error) {
	var out Prompt
	for _, m := range list {
		said, err := m.said(fill)
		if err != nil {
			return Prompt{}, err
		}
		switch {
		case m.Role != schema.RoleUser && said.Blocks != nil:
			return Prompt{}, &template.NeedError{What: fmt.Sprintf("an image in a message of the role %q, which models take from the user only", template.Clip(m.Role))}
		case m.Role == schema.RoleSystem && len(out.Messages) == 0:
			out.System = strings.TrimPrefix(out.System+"\n\n"+said.Content, "\n\n")
		case m.Role == schema.RoleSystem, m.Role == schema.RoleUser, m.Role == schema.RoleAssistant:
			out.Messages = append(out.Messages, said)
		default:
			return Prompt{}, &template.NeedError{What: fmt.Sprintf("a message of the role %q", template.Clip(m.Role))}
		}
	}
	if len(out.Messages) == 0 {
		return Prompt{}, &template.NeedError{What: "a message besides the system prompt"}
	}
	return out, nil
}

// Shows reports whether the prompt has an image.
func (p Prompt) Shows() bool {
	return slices.ContainsFunc(p.Messages, func(m schema.Message) bool { return m.Blocks != nil })
}

// Text returns the prompt for functions: a text, or a chat as JSON, without images.
func (p Prompt) Text() string { return p.text("") }

// Indented returns the prompt as promptfoo's echo does: a text, or a chat as JSON
// indented by two spaces.
func (p Prompt) Indented() string { return p.text("  ") }

func (p Prompt) text(indent string) string {
	if p.System == "" && len(p.Messages) == 1 {
		return p.Messages[0].Content
	}
	var all []schema.Message
	if p.System != "" {
		all = append(all, schema.Message{Role: schema.RoleSystem, Content: p.System})
	}
	for _, m := range p.Messages {
		all = append(all, schema.Message{Role: m.Role, Content: m.Content})
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	_ = enc.Encode(all) // texts
	return strings.TrimSuffix(out.String(), "\n")
}

// Size returns the size of the prompt in bytes.
func (p Prompt) Size() int {
	n := len(p.System)
	for _, m := range p.Messages {
		n += len(m.Content)
		for _, b := range m.Blocks {
			n += len(b.Text) + len(b.Data)
		}
	}
	return n
}

// A part is a part of a content, in the forms of OpenAI's APIs and of Anthropic's.
type part struct {
	Type   string          `json:"type"`
	Text   string          `json:"text"`
	URL    json.RawMessage `json:"image_url"` // a text, or {url}
	Source struct {
		Type string `json:"type"`
		Data string `json:"data"`
		URL  string `json:"url"`
		Kind string `json:"media_type"`
	} `json:"source"`
}

// said converts a message with its content filled in. The text parts of a list are
// joined.
func (m Message) said(fill Fill) (schema.Message, error) {
	out := schema.Message{Role: m.Role}
	text, isText := document.ParseText(m.Content)
	if isText {
		var err error
		out.Content, err = fill(text)
		return out, err
	}
	var parts []part
	if json.Unmarshal(m.Content, &parts) != nil {
		return out, &template.NeedError{What: "a message whose content is not a text"}
	}
	var texts []string
	images := false
	for _, p := range parts {
		b, err := p.block(fill)
		if err != nil {
			return out, err
		}
		if images = images || b.Type == "image"; b.Type == "text" {
			texts = append(texts, b.Text)
		}
		out.Blocks = append(out.Blocks, b)
	}
	out.Content = strings.Join(texts, "\n")
	if !images {
		out.Blocks = nil
	}
	return out, nil
}

// block converts a part for sending.
func (p part) block(fill Fill) (schema.Block, error) {
	switch p.Type {
	case "text", "input_text":
		text, err := fill(p.Text)
		return schema.Block{Type: "text", Text: text}, err
	case "image_url", "input_image":
		return imageAt(p.address(), fill)
	case "image":
		if p.Source.Type == "base64" {
			return imageAt("data:"+p.Source.Kind+";base64,"+p.Source.Data, fill)
		}
		return imageAt(p.Source.URL, fill)
	}
	return schema.Block{}, &template.NeedError{What: fmt.Sprintf("content of the type %q in a prompt", template.Clip(p.Type))}
}

// address returns the address of a part's image.
func (p part) address() string {
	if text, isText := document.ParseText(p.URL); isText {
		return text
	}
	var in struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(p.URL, &in) // other forms have no image
	return in.URL
}

// imageAt returns the image of a data: URI.
func imageAt(address string, fill Fill) (schema.Block, error) {
	address, err := fill(address)
	if err != nil {
		return schema.Block{}, err
	}
	uri, isData := strings.CutPrefix(strings.TrimSpace(address), "data:")
	if !isData {
		return schema.Block{}, &template.NeedError{What: "an image of a prompt as a data: URI, in place of the address " + template.Clip(address)}
	}
	data := schema.ImageFromURI(uri)
	kind := schema.ImageType(data)
	if kind == "" {
		return schema.Block{}, &template.NeedError{What: "an image of a prompt that is a PNG, JPEG, GIF or WebP in base64"}
	}
	return schema.Block{Type: "image", Data: data, Media: kind}, nil
}
