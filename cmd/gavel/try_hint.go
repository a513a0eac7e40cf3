package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
)

// hint returns a setting for gavel.yaml after a failed trial of an agent over HTTP;
// empty if none is known to help.
func hint(cfg config.Target, reply *got) string {
	if cfg.Provider != config.HTTP || reply == nil {
		return ""
	}
	switch reply.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if len(cfg.HTTP.Headers) == 0 {
			return "the key may belong into another header than Authorization; write headers: {X-Api-Key: {value_env: AGENT_KEY}} at the target"
		}
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		if cfg.HTTP.Body == nil {
			return `the agent may take another form than messages; write it at the target, such as body: {question: "{{message}}"}`
		}
	case http.StatusOK:
		if path := textAt("$", reply.Body); cfg.HTTP.Reply == nil && path != "" {
			return fmt.Sprintf("the answer may be at another place than in messages; write reply: %s at the target", path)
		}
	}
	return ""
}

// objectHint returns the location of a text if the target's path leads to an object
// that has one; empty otherwise, and for paths that are more than names.
func objectHint(cfg config.Target, reply *got) string {
	if cfg.HTTP.Reply == nil || reply == nil {
		return ""
	}
	path := cfg.HTTP.Reply.Text
	names, plain := strings.CutPrefix(path, "$.")
	if !plain {
		return ""
	}
	at := reply.Body
	for name := range strings.SplitSeq(names, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(at, &fields) != nil {
			return ""
		}
		at = fields[name]
	}
	if found := textAt(path, at); found != "" {
		return fmt.Sprintf("the text is an object; a text in it is at reply: %s", found)
	}
	return ""
}

// textAt returns the JSONPath of the first text in an object, by name, outside of
// lists; empty without one.
func textAt(path string, raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	names := slices.Sorted(maps.Keys(fields))
	for _, known := range []string{"reply", "answer", "response", "output", "text", "message", "content"} {
		if slices.Contains(names, known) {
			names = append([]string{known}, names...)
			break
		}
	}
	for _, name := range names {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			return path + "." + name
		}
	}
	for _, name := range names {
		if found := textAt(path+"."+name, fields[name]); found != "" {
			return found
		}
	}
	return ""
}
