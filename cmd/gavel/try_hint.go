package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
)

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
	if found := target.TextPath(path, at); found != "" {
		return fmt.Sprintf("the text is an object; a text in it is at reply: %s", found)
	}
	return ""
}
