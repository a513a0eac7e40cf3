package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/number"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// An answerKind compares answers of one type.
type answerKind struct {
	// wanted describes the form of the answer to the extractor.
	wanted string
	// bare reports whether the whole reply is nothing but an answer of this form, or
	// the expected answer, so that nothing needs extracting.
	bare func(reply string) bool
	// equal compares the extractor's answer with the expected one.
	equal func(answer string) bool
}

// twoPass compares the answer in the final reply with the expected one: one criterion,
// 1 when they are equal, else 0 (the two_pass section of the domain dialect). The
// extractor first takes the answer from the reply, unless the whole reply, without
// white space, emphasis and a closing full stop, has the form of the answer and nothing
// else: "It is not 105." is not a number.
//
//	numeric   |got − expected| ≤ tolerance, numbers as [number.Parse] reads them
//	string    equal after plain: case, width, spaces, quotes and final stop
//	contains  the answer contains the expected text, both after plain
//	boolean   yes and no, true and false, in English and Indonesian
//	choice    equal labels (B, "(b)", "B. Paris") or equal texts
//	json      equal values; key order and the form of numbers do not matter
func twoPass(ctx context.Context, spec evaluator.TwoPass, in Input, d *dialogue) (finding, error) {
	kind, err := kindOf(spec)
	if err != nil {
		return finding{}, err
	}
	reply := in.Transcript.Final()
	expected := ofJSON(spec.Answer)
	if strings.TrimSpace(reply) == "" {
		return answered(false, expected, "", "the reply is empty"), nil
	}
	if kind.bare(reply) {
		equal := kind.equal(reply)
		return answered(equal, expected, reply, compared(reply, expected, equal)), nil
	}
	answer, err := extract(ctx, in, d, kind.wanted)
	switch {
	case err != nil:
		return finding{}, err
	case answer == nil:
		return answered(false, expected, reply, "the reply gives no answer; expected "+quote(expected)), nil
	}
	equal := kind.equal(*answer)
	return answered(equal, expected, *answer, compared(*answer, expected, equal)), nil
}

func compared(got, expected string, equal bool) string {
	if equal {
		return "the answer is " + quote(got)
	}
	return fmt.Sprintf("the answer is %s, expected %s", quote(got), quote(expected))
}

func answered(equal bool, expected, got, reason string) finding {
	c := verdict.Criterion{ID: "answer", Score: share(equal), Note: reason}
	contrast(&c, expected, got)
	return finding{[]verdict.Criterion{c}, reason}
}

func kindOf(spec evaluator.TwoPass) (answerKind, error) {
	if len(spec.Answer) == 0 || string(spec.Answer) == "null" {
		return answerKind{}, errors.New("no answer is expected")
	}
	expected := ofJSON(spec.Answer)
	switch spec.Type {
	case "numeric":
		return numericKind(expected, spec.Tolerance)
	case "string", "text", "exact_match":
		return stringKind(expected), nil
	case "contains":
		return containsKind(expected)
	case "boolean":
		return booleanKind(expected)
	case "choice":
		return choiceKind(expected, spec.Choices), nil
	case "json":
		return jsonKind(spec.Answer)
	}
	return answerKind{}, fmt.Errorf("answer type %q is not known", spec.Type)
}

func numericKind(expected string, tolerance float64) (answerKind, error) {
	want, custom := number.Parse(expected), number.CustomOf(expected)
	if len(want) == 0 {
		return answerKind{}, fmt.Errorf("the expected answer %s is not a number", quote(expected))
	}
	parse := func(s string) number.Readings { return number.ParseIn(plain(s), custom) }
	return answerKind{
		wanted: "a number. Copy it as it is written, with its sign, separators and percent sign, without a unit.",
		bare:   func(reply string) bool { return number.IsBare(plain(reply)) && parse(reply) != nil },
		equal:  func(answer string) bool { return parse(answer).Near(want, tolerance) },
	}, nil
}

func stringKind(expected string) answerKind {
	want := plain(expected)
	equal := func(s string) bool { return plain(s) == want }
	return answerKind{
		wanted: "a word or phrase. Copy it as it is written, without the sentence around it.",
		bare:   equal,
		equal:  equal,
	}
}

func containsKind(expected string) (answerKind, error) {
	want := plain(expected)
	if want == "" {
		return answerKind{}, errors.New("the expected answer is empty and would always be contained")
	}
	return answerKind{
		wanted: "the part that answers. Copy it as it is written.",
		// A reply that contains the text proves nothing: it may deny it.
		bare:  func(reply string) bool { return plain(reply) == want },
		equal: func(answer string) bool { return strings.Contains(plain(answer), want) },
	}, nil
}

func booleanKind(expected string) (answerKind, error) {
	want, ok := truth(expected)
	if !ok {
		return answerKind{}, fmt.Errorf("the expected answer %s is neither yes nor no", quote(expected))
	}
	return answerKind{
		wanted: "yes or no.",
		bare: func(reply string) bool {
			_, ok := truth(reply)
			return ok
		},
		equal: func(answer string) bool {
			got, ok := truth(answer)
			return ok && got == want
		},
	}, nil
}

// truth parses a text that is only yes or no.
func truth(s string) (value, ok bool) {
	return evaluator.YesOrNo(plain(s))
}

// choiceKind compares choices. Without a list, a single letter or the expected answer
// itself counts as a choice.
func choiceKind(expected string, choices []string) answerKind {
	want := parseOption(expected)
	wanted := "one of the options in QUESTION. Give its label, such as B, if the options have labels, else its text."
	if len(choices) > 0 {
		wanted = "one of " + unmarked(compactJSON(choices)) + ". Copy it as it is written there."
	}
	for _, c := range choices {
		if o := parseOption(c); o.same(want) { // B means the choice "B. Paris"
			want = option{label: cmp.Or(want.label, o.label), text: cmp.Or(want.text, o.text)}
		}
	}
	return answerKind{
		wanted: wanted,
		bare: func(reply string) bool {
			got := parseOption(reply)
			if plain(reply) == plain(expected) {
				return true
			}
			if len(choices) == 0 {
				return got.text == "" && got.label >= "a" && got.label <= "z"
			}
			return slices.ContainsFunc(choices, func(c string) bool {
				return plain(reply) == plain(c) || got.text == "" && got.same(parseOption(c))
			})
		},
		equal: func(answer string) bool { return parseOption(answer).same(want) },
	}
}

// An option is a choice by its label, its text, or both.
type option struct{ label, text string }

// same compares labels if both have one, else texts.
func (o option) same(other option) bool {
	if o.label != "" && other.label != "" {
		return o.label == other.label
	}
	return o.text == other.text && o.text != ""
}

// parseOption parses "B", "(b)", "Option B", "B) Paris", "2. Jakarta", "Paris".
func parseOption(s string) option {
	t := plain(s)
	for _, lead := range []string{"option ", "answer: ", "answer ", "choice ", "opsi ", "pilihan ", "jawaban: ", "jawaban "} {
		t = strings.TrimPrefix(t, lead)
	}
	inner := strings.TrimPrefix(t, "(")
	n := 0
	for n < len(inner) && n < 2 && (inner[n] >= '0' && inner[n] <= '9') {
		n++
	}
	if n == 0 && inner != "" && inner[0] >= 'a' && inner[0] <= 'z' {
		n = 1
	}
	rest := inner[n:]
	switch {
	case n == 0:
	case rest == "" || rest == ")" || rest == ":":
		return option{label: inner[:n]}
	case strings.IndexByte(").:", rest[0]) >= 0 && len(rest) > 1 && (rest[0] != '.' || rest[1] == ' '):
		return option{label: inner[:n], text: plain(rest[1:])}
	}
	return option{text: t}
}

func jsonKind(answer json.RawMessage) (answerKind, error) {
	// Authors sometimes write the expected JSON as a string.
	if inner, err := schema.Canonical([]byte(ofJSON(answer))); err == nil {
		answer = inner
	}
	want, err := schema.Canonical(answer)
	if err != nil {
		return answerKind{}, fmt.Errorf("the expected answer: %w", err)
	}
	parse := func(s string) (json.RawMessage, bool) {
		got, err := schema.Canonical([]byte(unfenced(s)))
		return got, err == nil
	}
	return answerKind{
		wanted: "a JSON value. Copy it as it is written, as a string that holds the JSON text.",
		bare: func(reply string) bool {
			_, ok := parse(reply)
			return ok
		},
		equal: func(answer string) bool {
			got, ok := parse(answer)
			return ok && string(got) == string(want)
		},
	}, nil
}
