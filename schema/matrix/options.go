package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// A form is what the value of an option must be.
type form struct {
	fits    func(value json.RawMessage) bool
	is, say string // for messages: what it must be, and what to write
}

var (
	aText   = form{func(v json.RawMessage) bool { return v[0] == '"' }, "a text", "write a text"}
	aFlag   = form{func(v json.RawMessage) bool { return string(v) == "true" || string(v) == "false" }, "true or false", "write true or false"}
	aCount  = form{func(v json.RawMessage) bool { return repeat(v) > 0 }, "a whole number from 1 to 1000", "write a number such as 3"}
	aGroup  = form{func(v json.RawMessage) bool { return v[0] == '{' }, "an object", "write an object with a number for each of its answers"}
	aPrompt = form{func(v json.RawMessage) bool { return v[0] == '"' || v[0] == '[' }, "a text or a list of messages", "write a text, file:// with one, or messages with role and content"}
	aName   = form{func(v json.RawMessage) bool { return v[0] == '"' || v[0] == '{' }, "the name of a target", "write the name of a target, or an object with its id"}
)

// options are the keys of options that promptfoo has, with their forms.
var options = map[string]form{
	"prefix": aText, "suffix": aText, "transform": aText, "postprocess": aText, "transformVars": aText, "storeOutputAs": aText,
	"disableVarExpansion": aFlag, "disableConversationVar": aFlag, "disableDefaultAsserts": aFlag, "runSerially": aFlag,
	"repeat": aCount, "factuality": aGroup, "rubricPrompt": aPrompt, "provider": aName,
}

// checkOptions notes an option of another form, and warns about keys that are none, which
// promptfoo hands to the provider. It returns the options that are right.
func (c *compiler) checkOptions(t *test, doc *document.Document, at ...any) map[string]json.RawMessage {
	right := map[string]json.RawMessage{}
	for _, key := range doc.Keys(at...) {
		place := append(slices.Clip(at), key)
		value := doc.JSON(place...)
		must, isOption := options[key]
		switch {
		case !isOption:
			hint := suggest.DidYouMean(key, slices.Sorted(maps.Keys(options)))
			if hint == "" {
				hint = "remove it, or set it for the target in gavel.yaml"
			}
			p := doc.Problem("not-read", fmt.Sprintf("`%s` of options is not read; the test is run without it", template.Clip(key)), hint, place...)
			p.Severity = schema.Warning
			c.Problems = append(c.Problems, p)
		case len(value) == 0 || string(value) == "null":
		case !must.fits(value):
			c.note(t, []schema.Problem{doc.Problem("wrong-type", fmt.Sprintf("`%s` of options must be %s, not %s", key, must.is, template.Clip(string(value))), must.say, place...)})
		default:
			right[key] = value
		}
	}
	return right
}

// readOptions reads the options of a test. Those that it does not have are the shared
// ones.
func (c *compiler) readOptions(t *test, doc *document.Document, at ...any) {
	written := c.checkOptions(t, doc, at...)
	in := func(key string) []any { return append(slices.Clip(at), key) }
	text := func(key string, into *string) {
		if s, _ := document.ParseText(written[key]); s != "" {
			*into = s
		}
	}
	flag := func(key string, into *bool) {
		if value, has := written[key]; has {
			*into = string(value) == "true"
		}
	}
	text("prefix", &t.prefix)
	text("suffix", &t.suffix)
	flag("disableDefaultAsserts", &t.bare)
	whole := !t.expands
	flag("disableVarExpansion", &whole)
	t.expands = !whole
	var older, newer string
	if text("postprocess", &older); older != "" {
		t.postprocess = c.transformCode(t, older, doc.At(in("postprocess")...))
	}
	if text("transform", &newer); newer != "" {
		t.transform = c.transformCode(t, newer, doc.At(in("transform")...))
	}
	if _, has := written["transformVars"]; has {
		c.readVariation(t, doc, in("transformVars")...)
	}
	text("storeOutputAs", &t.keeps)
	if n := repeat(written["repeat"]); n > 0 {
		t.repeat = n
	}
	_, rescored := written["factuality"]
	t.rescored = t.rescored || rescored
	if _, has := written["rubricPrompt"]; has {
		if s := c.prompt(t, doc, in("rubricPrompt")...); s != "" {
			t.rubricPrompt = s
		}
	}
	if _, has := written["provider"]; has {
		own, isOne := c.assessors(doc, in("provider")...)
		if isOne { // a model that chats, which neither embeds nor moderates
			own.embedder, own.moderator = "", ""
		}
		t.assessors = own.over(t.assessors)
	}
}
