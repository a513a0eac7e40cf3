package httpagent

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A Fault is something in a template that cannot be filled.
type Fault struct {
	// Where is the path of the text in the configuration of the target. Its first part
	// is method, headers, body or query.
	Where []any
	// Name is the hole that is not known, empty for other faults.
	Name    string
	Message string
	// Hint says what to write instead, if that does not follow from Name.
	Hint string
}

// headerHoles are the holes that a header may have: their values fit into one.
var headerHoles = []string{"session"}

// Faults finds what is wrong with the templates of a format.
func Faults(f Format) []Fault {
	var found []Fault
	used := map[string]bool{}
	if f.Body != nil {
		template, err := parse(f.Body)
		if err != nil {
			return []Fault{{Where: []any{"body"}, Message: "it is not JSON: " + err.Error()}}
		}
		walk(template, []any{"body"}, func(text string, where []any) {
			found = append(found, faultsIn(text, where, Holes, used)...)
		})
	}
	for _, p := range f.Query {
		found = append(found, faultsIn(p.Value, []any{"query", p.Name}, Holes, used)...)
	}
	for _, h := range f.Headers {
		found = append(found, faultsIn(h.Value, []any{"headers", h.Name}, headerHoles, map[string]bool{})...)
	}
	if len(found) > 0 {
		return found
	}
	conversation := used["messages"] || used["message"]
	switch {
	case f.Method == http.MethodGet && f.Body != nil:
		return []Fault{{Where: []any{"body"}, Message: "a GET request has no body", Hint: `move it to query, such as query: {q: "{{message}}"}`}}
	case f.Method == http.MethodGet && !conversation:
		return []Fault{{Where: []any{"method"}, Message: "a GET request needs the conversation in its query", Hint: `add query: {q: "{{message}}"}, say`}}
	case f.Body != nil && !conversation:
		return []Fault{{
			Where: []any{"body"}, Message: "it does not contain the conversation",
			Hint: `add {{messages}}, or {{message}} for the last one alone, such as body: {input: "{{message}}"}`,
		}}
	}
	return nil
}

// faultsIn finds what is wrong with the holes of a text, and notes the holes in it.
func faultsIn(text string, where []any, known []string, used map[string]bool) []Fault {
	var found []Fault
	for _, m := range hole.FindAllStringSubmatch(text, -1) {
		used[m[1]] = true
		switch {
		case slices.Contains(known, m[1]):
		case slices.Contains(Holes, m[1]):
			found = append(found, Fault{Where: where, Message: fmt.Sprintf("{{%s}} does not fit here", m[1]), Hint: "write it into body or query; here only {{" + strings.Join(known, "}}, {{") + "}} is known"})
		default:
			found = append(found, Fault{Where: where, Name: m[1], Message: fmt.Sprintf("there is no {{%s}} to fill in", m[1])})
		}
	}
	if rest := hole.ReplaceAllString(text, ""); strings.Contains(rest, "{{") {
		found = append(found, Fault{Where: where, Message: "a {{ is not closed by }}", Hint: "write {{message}}"})
	}
	return found
}

// UsesSession reports whether a request has {{session}} in it.
func (f Format) UsesSession() bool {
	used := map[string]bool{}
	note := func(text string, _ []any) { faultsIn(text, nil, Holes, used) }
	if template, err := parse(f.Body); err == nil {
		walk(template, nil, note)
	}
	for _, p := range f.Query {
		note(p.Value, nil)
	}
	for _, h := range f.Headers {
		note(h.Value, nil)
	}
	return used["session"]
}
