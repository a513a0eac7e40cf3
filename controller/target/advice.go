package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// place names the line of gavel.yaml with the target's address.
func place(cfg config.Target) string {
	at := cfg.AddressAt
	switch {
	case at.Line > 0:
		return fmt.Sprintf("the address in %s:%d", at.File, at.Line)
	case cfg.File != "":
		return "the address in " + cfg.File
	}
	return "the address in gavel.yaml"
}

// unreachedHint returns the repair of a connection that failed; empty for a failure that
// waiting may end.
func unreachedHint(cfg config.Target, err error) string {
	switch {
	case cfg.Started():
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start it, or correct " + place(cfg)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "write http:// in the place of https://, or correct " + place(cfg)
	case strings.Contains(err.Error(), "no such host"):
		return "correct " + place(cfg)
	}
	return ""
}

// refusedHint returns the setting of gavel.yaml that an agent over HTTP may need, which
// answered with this status; empty if none is known to help.
func refusedHint(cfg config.Target, status int) string {
	f := cfg.HTTP
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		switch {
		case slices.ContainsFunc(f.Headers, func(h httpagent.Header) bool { return h.Env != "" }):
			return ""
		case cfg.APIKeyEnv != "":
			return "it was sent as a bearer token; for another header, write headers: {X-Token: {value_env: " + cfg.APIKeyEnv + "}} in the place of api_key_env"
		}
		return "write api_key_env: AGENT_TOKEN at the target for a bearer token, or headers: {X-Token: {value_env: AGENT_TOKEN}} for another header"
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		if f.Body == nil {
			return `if the agent takes another form than messages, write it at the target, such as body: {question: "{{message}}"}`
		}
	case http.StatusMethodNotAllowed:
		if f.Method == "" {
			return `was another method than POST meant? Write method: GET and query: {q: "{{message}}"} at the target`
		}
	}
	return ""
}

// maxQuoted bounds the part of a reply in an error.
const maxQuoted = 200

// quoted returns the beginning of a reply, without secrets.
func quoted(data string) string {
	data = printable(redact.Text(strings.TrimSpace(data)))
	if runes := []rune(data); len(runes) > maxQuoted {
		return string(runes[:maxQuoted]) + "…"
	}
	return data
}

// misread returns the error of a reply that has another form than the target's.
func misread(cfg config.Target, contentType, data string, err error) Error {
	trimmed := strings.TrimSpace(data)
	const contract = `{"messages": [{"role": "assistant", "content": "…"}]}`
	switch {
	case trimmed == "":
		return Error{Message: "the reply is empty", Hint: "the agent has to answer " + contract + ", or another object whose text reply: names"}
	case isPage(contentType, trimmed):
		return Error{Message: "the reply is a page and not JSON: " + quoted(title(trimmed)), Hint: "does a sign-in or a proxy answer in the place of the agent? Correct " + place(cfg) + ", or write headers: with a credential"}
	case errors.As(err, new(failedError)):
		return Error{Message: quoted(err.Error()), Hint: "find its cause at the agent, or in its log"}
	case failure(trimmed) != "":
		return Error{Message: "the agent answered with an error: " + quoted(failure(trimmed)), Hint: "find its cause at the agent, or in its log"}
	case cfg.HTTP.Reply != nil:
		if errors.As(err, new(httpagent.TextlessError)) {
			return Error{Message: err.Error(), Hint: pathHint(trimmed, cfg.HTTP.Reply.Text)}
		}
		return Error{Message: err.Error()}
	case !json.Valid([]byte(trimmed)):
		return Error{Message: "the reply is not JSON: " + quoted(trimmed), Hint: "the agent has to answer " + contract + ", or another object whose text reply: names"}
	case hasMessages([]byte(trimmed)):
		return Error{Message: err.Error()}
	}
	return Error{Message: err.Error() + ": " + quoted(trimmed), Hint: pathHint(trimmed, "")}
}

// failureNames are the fields of an agent's error, in which nobody finds an answer.
var failureNames = []string{"error", "errors", "detail", "details"}

// failure returns the text of an error that is all that a reply has; empty for a reply
// with a text elsewhere.
func failure(data string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(data), &object) != nil || hasMessages([]byte(data)) || TextPath("$", []byte(data)) != "" {
		return ""
	}
	for _, name := range failureNames {
		var text string
		switch raw := object[name]; {
		case json.Unmarshal(raw, &text) == nil && text != "":
			return text
		case len(raw) > 0 && (raw[0] == '{' || raw[0] == '['):
			var found []textField
			texts("", 0, raw, 0, &found)
			if len(found) > 0 {
				return slices.MinFunc(found, byUse).text
			}
		}
	}
	return ""
}

// pathHint proposes the path of a text in a reply, other than the one that is configured.
func pathHint(data, configured string) string {
	if path := TextPath("$", []byte(data)); path != "" && path != configured {
		return "if its text is at " + path + ", write reply: " + path + " at the target"
	}
	return ""
}

// isPage reports whether a reply is HTML.
func isPage(contentType, data string) bool {
	begin := strings.ToLower(data[:min(len(data), 20)])
	return strings.HasPrefix(contentType, "text/html") || strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// title returns a page's title, or else all of it.
func title(page string) string {
	if _, rest, found := strings.Cut(page, "<title>"); found {
		if text, _, closed := strings.Cut(rest, "</title>"); closed && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return page
}

// Names of fields that usually hold an agent's answer, the most usual first.
var answerNames = []string{"reply", "answer", "response", "output", "text", "message", "content"}

// A textField is a text within a reply.
type textField struct {
	path, text  string
	rank, depth int
}

// The bounds of the search for a text in a reply.
const (
	maxTextDepth  = 8
	maxTextFields = 1000
)

// TextPath returns the JSONPath of the text below path that is most likely the answer: one
// with a usual name, near the top, and not within an error. It is empty without a text.
func TextPath(path string, raw json.RawMessage) string {
	var fields []textField
	texts(path, len(answerNames), raw, 0, &fields)
	if len(fields) == 0 {
		return ""
	}
	return slices.MinFunc(fields, byUse).path
}

// byUse compares texts by how likely they are the answer.
func byUse(a, b textField) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.depth, b.depth), cmp.Compare(a.path, b.path))
}

// texts finds the texts of a value, and of the first element of each list.
func texts(path string, rank int, raw json.RawMessage, depth int, found *[]textField) {
	var text string
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case depth > maxTextDepth || len(*found) >= maxTextFields:
	case json.Unmarshal(raw, &text) == nil:
		if text != "" && depth > 0 {
			*found = append(*found, textField{path, text, rank, depth})
		}
	case json.Unmarshal(raw, &list) == nil:
		if len(list) > 0 {
			texts(path+"[0]", rank, list[0], depth+1, found)
		}
	case json.Unmarshal(raw, &object) == nil:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if slices.Contains(failureNames, name) {
				continue
			}
			rank := slices.Index(answerNames, name)
			if rank < 0 {
				rank = len(answerNames)
			}
			texts(path+member(name), rank, object[name], depth+1, found)
		}
	}
}

// UsagePath returns the JSONPath of the first object of a reply that has both numbers of
// tokens. It is empty without one.
func UsagePath(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var reply any
	if decoder.Decode(&reply) != nil {
		return ""
	}
	return usagePath("$", reply, 0)
}

func usagePath(path string, value any, depth int) string {
	object, ok := value.(map[string]any)
	if !ok || depth > maxTextDepth {
		return ""
	}
	if in, out := httpagent.Tokens(object); in > 0 && out > 0 {
		return path
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if found := usagePath(path+member(name), object[name], depth+1); found != "" {
			return found
		}
	}
	return ""
}

// plainName matches the names that a JSONPath has after a dot.
var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// member returns the part of a JSONPath that selects a field.
func member(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	raw, err := json.Marshal(name)
	if err != nil {
		return "" // a name of JSON always encodes
	}
	return "[" + string(raw) + "]"
}
