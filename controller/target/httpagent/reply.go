package httpagent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
)

// An Answer has the parts of a reply.
type Answer struct {
	Text  string
	Calls []Call
	// Model and Revision are empty, and the tokens 0, if the reply has none.
	Model, Revision string
	End             bool
	Input, Output   int64
	// Traced reports whether the tool calls of the turn are known.
	Traced bool
}

// A Call is one tool call. Arguments is JSON; Result is empty if the reply has none.
type Call struct{ ID, Name, Arguments, Result string }

// CheckPath returns what is wrong with a JSONPath query; nil for a valid one.
func CheckPath(text string) error {
	_, err := query(text)
	return err
}

// query parses a path; an empty one is nil.
func query(text string) (*jsonpath.Path, error) {
	if text == "" {
		return nil, nil
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	return p, nil
}

// A reader has the compiled paths.
type reader struct {
	paths                                Paths
	text, usage, model, revision, end    *jsonpath.Path
	calls, callName, callArgs, callReply *jsonpath.Path
}

func newReader(p Paths) (*reader, error) {
	r := &reader{paths: p}
	for _, one := range []struct {
		name, text string
		to         **jsonpath.Path
	}{
		{"text", p.Text, &r.text}, {"usage", p.Usage, &r.usage}, {"model", p.Model, &r.model},
		{"revision", p.Revision, &r.revision}, {"end", p.End, &r.end}, {"tool_calls.each", p.ToolCalls.Each, &r.calls},
		{"tool_calls.name", p.ToolCalls.Name, &r.callName}, {"tool_calls.arguments", p.ToolCalls.Arguments, &r.callArgs},
		{"tool_calls.result", p.ToolCalls.Result, &r.callReply},
	} {
		var err error
		if *one.to, err = query(one.text); err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	if r.text == nil {
		return nil, errors.New("text is missing")
	}
	return r, nil
}

// A TextlessError reports a reply without a text at the path of the texts.
type TextlessError string

// Error names the path and the fields of the reply.
func (e TextlessError) Error() string { return string(e) }

// Decode reads a reply. It must have its own form, see [Codec.HasReply]. The error says
// what is missing where.
func (c *Codec) Decode(contentType string, body []byte) (Answer, error) {
	if isStream(contentType) {
		return c.reply.stream(events(contentType, body))
	}
	value, err := parse(body)
	if err != nil {
		return Answer{}, fmt.Errorf("the reply is not JSON: %s", body)
	}
	a := Answer{Traced: c.reply.calls != nil}
	texts := selected(c.reply.text, value)
	if err := c.reply.add(&a, value); err != nil {
		return Answer{}, err
	}
	if len(texts) == 0 && len(a.Calls) == 0 && !a.End {
		if len(c.reply.text.Select(value)) > 0 {
			return Answer{}, fmt.Errorf("the reply has null at %s, and no tool call", c.reply.paths.Text)
		}
		return Answer{}, TextlessError(fmt.Sprintf("the reply has nothing at %s; it has %s", c.reply.paths.Text, outline(value)))
	}
	a.Text = joined(texts, "\n")
	return a, nil
}

// stream reads a reply that is a stream. An event of the name error fails it, and so does an
// error behind the last text and call.
func (r *reader) stream(list []event) (Answer, error) {
	a := Answer{Traced: r.calls != nil}
	var texts []any
	var seen any
	failed := ""
	merged := calls{}
	for _, e := range list {
		if e.name == "error" {
			return Answer{}, errors.New("the stream has an error: " + e.data)
		}
		value, err := parse([]byte(e.data))
		if err != nil {
			value = e.data // a text as it is
		}
		found := selected(r.text, value)
		if seen == nil || len(found) == 0 {
			seen = value
		}
		if r.paths.Stream == Last && len(found) > 0 {
			texts = nil
		}
		texts = append(texts, found...)
		if err := r.part(&a, value); err != nil {
			return Answer{}, err
		}
		called := selected(r.calls, value)
		for _, node := range called {
			if err := merged.add(r, node); err != nil {
				return Answer{}, err
			}
		}
		if len(found)+len(called) > 0 {
			failed = ""
		} else {
			failed = cmp.Or(e.failure(), failed)
		}
	}
	if failed != "" {
		return Answer{}, errors.New("the stream ends with an error: " + failed)
	}
	var err error
	if a.Calls, err = merged.whole(); err != nil {
		return Answer{}, err
	}
	if len(texts) == 0 && len(a.Calls) == 0 && !a.End {
		return Answer{}, fmt.Errorf("none of the %d events of the reply has anything at %s; one has %s", len(list), r.paths.Text, outline(seen))
	}
	a.Text = joined(texts, "")
	return a, nil
}

// add reads all but the text.
func (r *reader) add(a *Answer, value any) error {
	for _, node := range selected(r.calls, value) {
		call, err := r.call(node)
		if err != nil {
			return err
		}
		a.Calls = append(a.Calls, call)
	}
	return r.part(a, value)
}

// part reads the parts that any event may have. The last one wins.
func (r *reader) part(a *Answer, value any) error {
	a.Model = cmp.Or(joined(selected(r.model, value), ""), a.Model)
	a.Revision = cmp.Or(joined(selected(r.revision, value), ""), a.Revision)
	for _, node := range selected(r.end, value) {
		a.End = a.End || node == true || node == "true"
	}
	for _, node := range selected(r.usage, value) {
		usage, ok := node.(map[string]any)
		if !ok && node != nil {
			return fmt.Errorf("usage: %s is not an object but %s", r.paths.Usage, joined([]any{node}, ""))
		}
		a.Input = max(a.Input, number(usage, inputNames))
		a.Output = max(a.Output, number(usage, outputNames))
	}
	return nil
}

// The names of the two numbers of tokens in common use.
var (
	inputNames  = []string{"input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "input", "prompt"}
	outputNames = []string{"output_tokens", "completion_tokens", "outputTokens", "completionTokens", "candidatesTokenCount", "output", "completion"}
)

// Tokens returns the two numbers of tokens in an object, 0 for one that it does not have.
func Tokens(object map[string]any) (in, out int64) {
	return number(object, inputNames), number(object, outputNames)
}

func number(object map[string]any, names []string) int64 {
	for _, name := range names {
		if n, ok := object[name].(json.Number); ok {
			if v, err := n.Int64(); err == nil {
				return max(v, 0)
			}
		}
	}
	return 0
}

// selected returns the nodes that a path finds, without nulls; none for no path.
func selected(p *jsonpath.Path, value any) []any {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc([]any(p.Select(value)), func(node any) bool { return node == nil })
}

// joined returns the text of nodes. A node that is not a text becomes JSON.
func joined(nodes []any, separator string) string {
	parts := make([]string, 0, len(nodes))
	for _, node := range nodes {
		parts = append(parts, asText(node))
	}
	return strings.Join(parts, separator)
}

func asText(node any) string {
	if text, ok := node.(string); ok {
		return text
	}
	raw, err := json.Marshal(node)
	if err != nil {
		return "" // it was JSON before
	}
	return string(raw)
}

// outline names the top level of a value, for a message.
func outline(value any) string {
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) > 12 {
			names = append(names[:12], "…")
		}
		return "$." + strings.Join(names, ", $.")
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case nil:
		return "nothing"
	}
	return "the text " + asText(value)
}
