package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// maxPattern bounds a pattern, whose compiled form grows with it.
const maxPattern = 4096

// keyShare is the field of a pass share, which checks no answer.
const keyShare = "pass"

// A checkList is what a case has to pass: checks, and the share of its samples that do; nil
// for no share.
type checkList struct {
	checks []boundedCheck
	share  *schema.PassShare
}

// A boundedCheck is a check with the bound of the quantity that it looks at.
type boundedCheck struct {
	evaluator.Check
	// Most is nil for checks of the answer.
	Most *float64
}

type checkReader struct{ document.Complaints }

// readChecks reads the list of checks at a place of a document. of names the list in
// problems. The checks have no ID yet, and one that has a problem is left out.
func readChecks(doc *document.Document, of string, at ...any) (out checkList, problems []schema.Problem) {
	r := checkReader{document.Complaints{Doc: doc}}
	switch {
	case !doc.IsList(at...):
		r.Fail("wrong-type", of+" are not a list", `write [{"contains": "…"}]`, at...)
		return out, r.Problems
	case doc.Items(at...) == 0:
		r.Fail("out-of-range", of+" are an empty list", `write [{"contains": "…"}]`, at...)
		return out, r.Problems
	}
	for i := range doc.Items(at...) {
		item := append(slices.Clip(at), i)
		found := doc.CheckPart("#Check", schema.Error, item...)
		r.Problems = append(r.Problems, found...)
		if schema.HasErrors(found) {
			continue
		}
		keys := doc.Keys(item...)
		if len(keys) != 1 {
			r.Fail("one-check", fmt.Sprintf("a check has one field, and this one has %d", len(keys)), "write an item of the list for each check", item...)
			continue
		}
		if keys[0] == keyShare {
			r.share(&out, append(item, keyShare)...)
			continue
		}
		check := boundedCheck{Check: evaluator.Check{Kind: keys[0]}}
		r.value(&check, append(item, keys[0])...)
		out.checks = append(out.checks, check)
	}
	return out, r.Problems
}

// share reads how many samples must pass.
func (r *checkReader) share(list *checkList, at ...any) {
	text := r.Doc.Text(at...)
	if text == "" {
		text = string(r.Doc.JSON(at...)) // a number
	}
	share, ok := schema.ParsePassShare(text)
	switch {
	case !ok:
		r.Fail("bad-share", fmt.Sprintf("%q is not a share of samples", text), fmt.Sprintf("write 8 of 10, with at most %d samples, or 0.8", schema.MaxIterations), at...)
	case list.share != nil:
		r.Fail("duplicate-key", "`pass` is set twice", "remove one of them", at...)
	default:
		list.share = &share
	}
}

// value reads the expected value of a check.
func (r *checkReader) value(check *boundedCheck, at ...any) {
	check.Text = r.Doc.Text(at...)
	switch check.Kind {
	case evaluator.CheckAny, evaluator.CheckAll:
		r.decode(&check.Texts, at...)
	case evaluator.CheckRegex:
		r.pattern(check.Text, at...)
	case evaluator.CheckJSON:
		r.form(check, at...)
	case evaluator.CheckPath:
		r.path(check, at...)
	case evaluator.CheckLatency, evaluator.CheckCost:
		check.Most = new(float64)
		r.decode(check.Most, at...)
	}
}

func (r *checkReader) decode(into any, at ...any) {
	if err := json.Unmarshal(r.Doc.JSON(at...), into); err != nil {
		r.Fail("decode", err.Error(), "", at...)
	}
}

func (r *checkReader) pattern(text string, at ...any) {
	if n := len(text); n > maxPattern {
		r.Fail("regex", fmt.Sprintf("the pattern has %d bytes", n), fmt.Sprintf("it may have %d", maxPattern), at...)
	} else if _, err := regexp.Compile(text); err != nil {
		r.Fail("regex", "the pattern does not compile: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write an RE2 pattern", at...)
	}
}

func (r *checkReader) form(check *boundedCheck, at ...any) {
	raw := r.Doc.JSON(at...)
	if !r.Doc.IsObject(at...) {
		if string(raw) == "false" {
			r.Fail("wrong-value", "`is_json: false` demands nothing", "write true or a JSON Schema, or remove it", at...)
		}
		return
	}
	if _, err := jsonschema.Compile(raw); err != nil {
		r.Fail("json-schema", "the JSON Schema cannot be used: "+err.Error(), formHint(err), at...)
	}
	check.Form = raw
}

// formHint returns the repair of an unusable JSON Schema.
func formHint(err error) string {
	const example = "write a schema such as {type: object, required: [id]}"
	if unknown, ok := errors.AsType[*jsonschema.UnknownError](err); ok {
		return cmp.Or(suggest.DidYouMean(unknown.Name, unknown.Known), example)
	}
	return example
}

// path reads the path of json_path and the value that it must have.
func (r *checkReader) path(check *boundedCheck, at ...any) {
	text := r.Doc.Text(append(slices.Clip(at), "path")...)
	if _, ok := evaluator.ParsePath(strings.TrimPrefix(text, "$")); !ok {
		r.Fail("json-path", fmt.Sprintf("the path %q cannot be read", text), "write names and indexes, such as items[0].name", append(slices.Clip(at), "path")...)
	}
	check.Text, check.Value = text, r.Doc.JSON(append(slices.Clip(at), "value")...)
}
