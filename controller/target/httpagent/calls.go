package httpagent

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/theory/jsonpath"
)

// call reads a tool call in its own form, or in one of the common ones: {function:
// {name, arguments}}, or name with arguments, args, input or parameters next to it.
func (r *reader) call(node any) (Call, error) {
	object, ok := node.(map[string]any)
	if !ok && r.callName == nil {
		return Call{}, fmt.Errorf("tool_calls: %s finds %s, which is not an object", r.paths.ToolCalls.Each, asText(node))
	}
	c := Call{ID: text(object, "id", "tool_call_id", "toolCallId")}
	inner := object
	if function, ok := object["function"].(map[string]any); ok {
		inner = function
	}
	c.Name = cmp.Or(found(r.callName, node), text(inner, "name", "tool", "toolName", "tool_name"))
	if c.Name == "" {
		return Call{}, fmt.Errorf("tool_calls: a call has no name: %s; say where it is with name", asText(node))
	}
	c.Arguments = found(r.callArgs, node)
	if r.callArgs == nil {
		c.Arguments = text(inner, "arguments", "args", "input", "parameters")
	}
	if c.Arguments = cmp.Or(c.Arguments, "{}"); !json.Valid([]byte(c.Arguments)) {
		return Call{}, fmt.Errorf("tool_calls: the arguments of %s are not JSON: %s", c.Name, c.Arguments)
	}
	c.Result = found(r.callReply, node)
	return c, nil
}

// found returns the text at a path; none for no path.
func found(p *jsonpath.Path, node any) string { return joined(selected(p, node), "") }

// text returns the first of these fields that exists.
func text(object map[string]any, names ...string) string {
	for _, name := range names {
		if v, ok := object[name]; ok && v != nil {
			return asText(v)
		}
	}
	return ""
}

// calls are the tool calls of a stream. OpenAI's protocol sends a call in pieces with
// an index; the pieces of its arguments are joined.
type calls struct {
	list []Call
	// at is the place in list by index.
	at map[string]int
}

func (c *calls) add(r *reader, node any) error {
	object, _ := node.(map[string]any)
	function, ok := object["function"].(map[string]any)
	index, numbered := object["index"].(json.Number)
	if !ok || !numbered || r.callName != nil {
		call, err := r.call(node)
		c.list = append(c.list, call)
		return err
	}
	if at, begun := c.at[index.String()]; begun {
		c.list[at].Arguments += text(function, "arguments")
		return nil
	}
	if c.at == nil {
		c.at = map[string]int{}
	}
	c.at[index.String()] = len(c.list)
	c.list = append(c.list, Call{ID: text(object, "id"), Name: text(function, "name"), Arguments: text(function, "arguments")})
	return nil
}

// whole returns the calls once the stream is over.
func (c *calls) whole() ([]Call, error) {
	for i := range c.list {
		call := &c.list[i]
		if call.Arguments = cmp.Or(call.Arguments, "{}"); !json.Valid([]byte(call.Arguments)) {
			return nil, fmt.Errorf("tool_calls: the arguments of %s are not JSON: %s", call.Name, call.Arguments)
		}
	}
	return c.list, nil
}
