package main

import (
	"encoding/json"
	"regexp"
	"strings"
)

// asked matches a block of a question to a judge.
var asked = regexp.MustCompile(`(?s)<<<([A-Z ]+) \w+\n(.*?)\n\w+ [A-Z ]+>>>`)

// countedReply is what the judge of the forms says of parts: a sentence is supported if it
// is in the context, needed if it has the question's word, and a turn relevant if the
// answer has the user's word. It is empty for another question.
func countedReply(question string) string {
	blocks := map[string]string{}
	for _, m := range asked.FindAllStringSubmatch(question, -1) {
		blocks[m[1]] = m[2]
	}
	sentences := func(text string) []string {
		return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, ". ", ".\n"), "\n"), "\n")
	}
	var reply any
	switch {
	case strings.Contains(question, `{"statements": [`):
		reply = map[string]any{"statements": sentences(blocks["ANSWER"])}
	case strings.Contains(question, `{"claims": [`):
		list := sentences(blocks["EXPECTED ANSWER"])
		if blocks["STATEMENTS"] != "" {
			_ = json.Unmarshal([]byte(blocks["STATEMENTS"]), &list) // which Gavel wrote
		}
		var claims []any
		for _, s := range list {
			claims = append(claims, map[string]any{"statement": s, "supported": strings.Contains(blocks["CONTEXT"], s)})
		}
		reply = map[string]any{"claims": claims}
	case strings.Contains(question, `{"sentences": [`):
		needed := []string{}
		for _, s := range sentences(blocks["CONTEXT"]) {
			if strings.Contains(s, blocks["QUESTION"]) {
				needed = append(needed, s)
			}
		}
		reply = map[string]any{"sentences": needed}
	case strings.Contains(question, `"relevant": …}`):
		reply = map[string]any{"reason": "r", "relevant": strings.Contains(blocks["ASSISTANT"], blocks["USER"])}
	default:
		return ""
	}
	raw, _ := json.Marshal(reply) // texts and booleans
	return string(raw)
}
