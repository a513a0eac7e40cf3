package evalcase

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// A v5prompt is a prompt of tests.
type v5prompt struct {
	// id is the file's, or a hash of the text.
	id   string
	at   schema.Position
	text string
	chat document.Piece // in place of text
	need string         // an unsupported need
}

// readPrompts reads the prompts of the file. Without any, a test sends its input.
func (r *v5rewriter) readPrompts() []v5prompt {
	all := document.Place{Doc: r.doc, Path: []any{"prompts"}}
	items := all.List()
	switch {
	case !all.Has():
		return []v5prompt{{text: "{{ input }}", at: r.doc.At()}}
	case len(items) == 0 || isMessage(items[0]):
		items = []document.Place{all} // one prompt, or one chat
	}
	var out []v5prompt
	r.Budget.Within(document.Prompts, len(items))
	for _, p := range items {
		out = append(out, r.prompt(p))
	}
	return out
}

func isMessage(p document.Place) bool { return p.Has("role") && p.Has("content") }

// prompt reads a text, the name of a file, a chat, or an object of one of them.
func (r *v5rewriter) prompt(p document.Place) v5prompt {
	out := v5prompt{at: p.At(), id: cmp.Or(p.Text("id"), p.Text("label")), text: p.Text()}
	for _, key := range []string{"raw", "prompt", "file"} {
		if s := p.Text(key); s != "" && out.text == "" {
			if out.text = s; key == "file" && !strings.HasPrefix(s, "file://") {
				out.text = "file://" + s
			}
			out.at = p.At(key)
		}
	}
	for _, key := range []string{"command", "function", "function_file"} {
		if p.Has(key) {
			out.need = "a program that writes the prompt"
		}
	}
	chat := p
	if p.Has("messages") {
		chat = p.Sub("messages")
	} else if items := p.List("prompt"); len(items) > 0 {
		chat = p.Sub("prompt")
	}
	if items := chat.List(); len(items) > 0 {
		out.chat = chat.Piece()
	}
	if name, isFile := strings.CutPrefix(out.text, "file://"); isFile {
		out.text = ""
		switch file := r.read(name, "prompt", out.at); path.Ext(name) {
		case ".py", ".js", ".ts", ".mjs":
			out.need = "a program that writes the prompt"
		default:
			out.id, out.text = cmp.Or(out.id, path.Base(name)), strings.TrimRight(string(file.Data), "\n")
		}
	}
	if out.text == "" && out.chat.Missing() && out.need == "" && !schema.HasErrors(r.out.Problems) {
		r.add(r.doc.Problem("missing-field", "the prompt has no text", "write a text with {{ variables }}, a list of messages, or file://prompt.txt", p.Path...))
	}
	if out.id == "" {
		text := out.text
		if !out.chat.Missing() {
			text = string(document.Compose(out.at.File, out.chat).JSON())
		}
		sum := sha256.Sum256([]byte(text))
		out.id = hex.EncodeToString(sum[:4])
	}
	return out
}

// onlyInput matches a prompt that is the input, whose value keeps its type.
var onlyInput = lazyregexp.New(`^\s*\{\{-?\s*(?:vars\.)?(\w+)\s*-?\}\}\s*$`)

// input returns a test's input: a text, or messages. need is its unsupported need.
func (r *v5rewriter) input(p v5prompt, of v5row) (input document.Piece, need string) {
	if p.need != "" {
		return input, p.need
	}
	if m := onlyInput.FindStringSubmatch(p.text); m != nil && !of.pieces[m[1]].Missing() {
		return of.pieces[m[1]], ""
	}
	if len(of.vars) == 0 { // then AgentV fills nothing in
		return cmp.Or(p.chat, document.TextPiece(p.at, p.text)), ""
	}
	written := p.text
	if !p.chat.Missing() {
		written = string(document.Compose(p.at.File, p.chat).JSON())
		raw, err := r.engine.FillJSON(of.all, json.RawMessage(written))
		if err != nil {
			return document.TextPiece(p.at, p.text), r.needOf(of.id, p.at, err)
		}
		r.Budget.Spend(document.Text, len(raw))
		return messages(p.at, raw), ""
	}
	text, err := r.engine.Fill(of.all, written)
	if err != nil {
		return document.TextPiece(p.at, p.text), r.needOf(of.id, p.at, err)
	}
	r.Budget.Spend(document.Text, len(text))
	if chat := messages(p.at, json.RawMessage(text)); !chat.Missing() {
		return chat, ""
	}
	return document.TextPiece(p.at, text), ""
}

// needOf returns the need of a text of a test that cannot be filled in. A mistake is
// recorded as one and gives none.
func (r *v5rewriter) needOf(id string, at schema.Position, err error) string {
	if need, ok := errors.AsType[*template.NeedError](err); ok {
		return need.What
	}
	p := schema.Problem{Position: at, Severity: schema.Error, Rule: "template"}
	if wrong, ok := errors.AsType[*template.Error](err); ok && wrong.Wrong {
		p.Message, p.Hint = wrong.Message, wrong.Hint
	} else if wrong, ok := errors.AsType[*template.MistakeError](err); ok {
		p.Message, p.Hint = wrong.Message, wrong.Hint
	} else {
		return err.Error()
	}
	if _, known := r.out.Mistakes[id]; !known {
		r.out.Mistakes[id] = p
	}
	return ""
}

// messages reads a list of messages with role and content; missing if the text is not
// one.
func messages(at schema.Position, raw json.RawMessage) document.Piece {
	var chat []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	if json.Unmarshal(raw, &chat) != nil || len(chat) == 0 || chat[0].Role == "" {
		return document.Piece{}
	}
	items := make([]document.Piece, len(chat))
	for i, m := range chat {
		items[i] = document.ObjectPiece(at,
			document.NamedPiece{Name: "role", Piece: document.TextPiece(at, m.Role)},
			document.NamedPiece{Name: "content", Piece: document.TextPiece(at, m.Content)})
	}
	return document.ListPiece(at, items...)
}
