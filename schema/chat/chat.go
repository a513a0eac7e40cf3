// Package chat reads prompts that are chats, lists of messages with role and content, and
// tools, both as the APIs of models have them.
//
// Most callers want [Read].
package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/image"
	"github.com/gavel-evals/gavel/schema/matrix/rawjson"
	"github.com/gavel-evals/gavel/schema/template"
)

// A Message is one of a prompt, before variables are filled in.
type Message struct {
	Role string `json:"role"`
	// Content is a text, or a list of parts: texts and images.
	Content json.RawMessage `json:"content"`
}

// A Prompt is what a case begins with.
type Prompt struct {
	// System is what the messages of that role say which are before all others.
	System   string
	Messages []schema.Message
}

// A Fill fills variables into a text.
type Fill func(text string) (string, error)

// Read reads a prompt whose variables are filled in: a chat as JSON, or any other text, which
// the user says. The error is that of [Filled].
func Read(text string) (Prompt, error) {
	list := parse(text)
	if list == nil {
		return Prompt{Messages: []schema.Message{{Role: schema.RoleUser, Content: text}}}, nil
	}
	return Filled(list, func(s string) (string, error) { return s, nil })
}

// parse reads a chat; nil for any other text.
func parse(text string) []Message {
	var list []Message
	if !strings.HasPrefix(strings.TrimSpace(text), "[") || json.Unmarshal([]byte(text), &list) != nil || len(list) == 0 || list[0].Role == "" {
		return nil
	}
	return list
}

// Framed puts a prefix and a suffix around what a function wrote, unless that is a chat.
func Framed(prefix, text, suffix string) string {
	if parse(text) != nil {
		return text
	}
	return prefix + text + suffix
}

// Filled reads the messages of a chat and fills variables into their texts. The error is a
// [*template.NeedError] about what is not sent, or one of fill.
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

// Text is the prompt as functions are told it: a text, or a chat as JSON. It has
// nothing of an image.
func (p Prompt) Text() string { return p.text("") }

// Indented is the prompt as promptfoo's echo answers it: a text, or a chat as JSON that
// is indented by two spaces.
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

// Size is how many bytes the prompt has.
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

// A part is one of a content, in the forms of OpenAI's APIs and of Anthropic's.
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

// said is a message with its content filled in. The text parts of a list are joined.
func (m Message) said(fill Fill) (schema.Message, error) {
	out := schema.Message{Role: m.Role}
	text, isText := rawjson.Text(m.Content)
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

// block is a part as it is sent.
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

// address is where the image of a part is.
func (p part) address() string {
	if text, isText := rawjson.Text(p.URL); isText {
		return text
	}
	var in struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(p.URL, &in) // another form has no image
	return in.URL
}

// imageAt is the image of a data: URI.
func imageAt(address string, fill Fill) (schema.Block, error) {
	address, err := fill(address)
	if err != nil {
		return schema.Block{}, err
	}
	uri, isData := strings.CutPrefix(strings.TrimSpace(address), "data:")
	if !isData {
		return schema.Block{}, &template.NeedError{What: "an image of a prompt as a data: URI, in place of the address " + template.Clip(address)}
	}
	data := image.FromURI(uri)
	kind := image.MediaType(data)
	if kind == "" {
		return schema.Block{}, &template.NeedError{What: "an image of a prompt that is a PNG, JPEG, GIF or WebP in base64"}
	}
	return schema.Block{Type: "image", Data: data, Media: kind}, nil
}
