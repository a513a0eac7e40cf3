package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/gavel-evals/gavel/controller/evaluate/markup"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/jsonschema"
)

// assertionCriterion is the id of the one criterion of a measurement.
const assertionCriterion = "assertion"

// assertion checks an answer against an assertion. The criterion scores 1 if the
// assertion holds, else 0, and its note gives the reason. An error means that the
// assertion itself is unusable.
func assertion(ctx context.Context, spec evaluator.Assertion, answer string) (verdict.Criterion, error) {
	holds, wrong, err := assertAnswer(ctx, spec, answer)
	if err != nil {
		return verdict.Criterion{}, err
	}
	out := verdict.Criterion{ID: assertionCriterion}
	switch {
	case spec.Not && holds:
		out.Note = fmt.Sprintf("%s holds, and must not", spec.Type)
	case !spec.Not && !holds:
		out.Note = wrong
		contrast(&out, comparedWith(spec), answer)
	default:
		out.Score = 1
	}
	return out, nil
}

// comparedWith returns the text or the list of texts to which an assertion compares the
// answer; empty for one that does otherwise.
func comparedWith(spec evaluator.Assertion) string {
	switch spec.Type {
	case "contains", "icontains", "starts-with", "ends-with", "regex", "levenshtein", "equals":
		return ofJSON(spec.Value)
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		var wanted []string
		_ = json.Unmarshal(spec.Value, &wanted) // several has read it
		return quoteAll(wanted)
	}
	return ""
}

// assertAnswer reports whether a rule holds, ignoring Not, and the reason if it does
// not.
func assertAnswer(ctx context.Context, spec evaluator.Assertion, answer string) (holds bool, wrong string, err error) {
	if spec.Trim {
		spec.Value, answer = trimmed(spec.Value), strings.TrimSpace(answer)
	}
	switch spec.Type {
	case "contains", "icontains", "starts-with", "ends-with", "regex", "levenshtein":
		return text(ctx, spec, answer)
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		return several(spec, answer)
	case "equals":
		return equal(spec.Value, answer)
	case "is-json":
		return isJSON(spec.Value, answer)
	case "contains-json":
		return containsJSON(spec.Value, answer)
	case "word-count":
		return words(spec.Value, answer)
	case "is-xml", "contains-xml", "is-html", "contains-html":
		return isMarkup(spec, answer)
	}
	return false, "", fmt.Errorf("the assertion %q is not known", spec.Type)
}

// trimmed removes the white space around a JSON string and leaves any other value
// unchanged.
func trimmed(value json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return value
	}
	out, err := json.Marshal(strings.TrimSpace(s))
	if err != nil {
		return value
	}
	return out
}

// text compares the answer with one text, letter by letter.
func text(ctx context.Context, spec evaluator.Assertion, answer string) (bool, string, error) {
	var want string
	if err := json.Unmarshal(spec.Value, &want); err != nil || want == "" {
		return false, "", fmt.Errorf("the value of %s is not a text", spec.Type)
	}
	switch spec.Type {
	case "contains":
		return strings.Contains(answer, want), "the answer does not contain " + quote(want), nil
	case "icontains":
		return strings.Contains(lower(answer), lower(want)), "the answer does not contain " + quote(want) + " in any case", nil
	case "starts-with":
		return strings.HasPrefix(answer, want), "the answer does not start with " + quote(want), nil
	case "ends-with":
		return strings.HasSuffix(answer, want), "the answer does not end with " + quote(want), nil
	case "regex":
		found, err := javascript.Match(ctx, want, spec.Flags, answer)
		if err != nil {
			return false, "", fmt.Errorf("match the pattern %s: %w", quote(want), err)
		}
		return found, "the answer does not match " + quote(want), nil
	}
	d, ok := distance(answer, want)
	if !ok {
		return false, fmt.Sprintf("the answer or the value has more than %d characters and is not compared", maxDistance), nil
	}
	return d <= spec.Most, fmt.Sprintf("the answer is %s from %s, and %d are allowed", counted(d, "edit"), quote(want), spec.Most), nil
}

// lower returns a text in lower case as JavaScript writes it: İ becomes two code points,
// and Σ at the end of a word ς.
func lower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

// several looks for some or all texts of a list.
func several(spec evaluator.Assertion, answer string) (bool, string, error) {
	var wanted []string
	if err := json.Unmarshal(spec.Value, &wanted); err != nil || len(wanted) == 0 {
		return false, "", fmt.Errorf("the value of %s is not a list of texts", spec.Type)
	}
	kind, fold := strings.CutPrefix(spec.Type, "i")
	if fold {
		answer = lower(answer)
	}
	var missing []string
	for _, want := range wanted {
		if sought := want; fold && !strings.Contains(answer, lower(sought)) || !fold && !strings.Contains(answer, sought) {
			missing = append(missing, want)
		}
	}
	if kind == "contains-any" {
		return len(missing) < len(wanted), "the answer contains none of " + quoteAll(wanted), nil
	}
	return len(missing) == 0, "the answer does not contain " + quoteAll(missing), nil
}

// equal compares texts letter by letter and other values as JSON.
func equal(want json.RawMessage, answer string) (bool, string, error) {
	var s string
	if err := json.Unmarshal(want, &s); err == nil {
		if strings.TrimSpace(answer) == strings.TrimSpace(s) {
			return answer == s, "the answer has other white space around it than " + quote(s), nil
		}
		return false, "the answer is " + quote(answer) + ", not " + quote(s) + apart(answer, s), nil
	}
	canonical, err := schema.Canonical(want)
	if err != nil {
		return false, "", fmt.Errorf("the value of equals: %w", err)
	}
	got, err := schema.Canonical([]byte(answer))
	if err != nil {
		return false, "the answer is not JSON: " + quote(answer), nil
	}
	return string(got) == string(canonical), "the answer is " + clip(string(got)) + ", not " + clip(string(canonical)), nil
}

// isJSON requires the whole answer to be JSON that fits the schema, if there is one.
func isJSON(form json.RawMessage, answer string) (bool, string, error) {
	if _, err := schema.Canonical([]byte(answer)); err != nil {
		return false, "the answer is not JSON: " + quote(answer), nil
	}
	return fits(form, []byte(answer))
}

// containsJSON requires a JSON object anywhere in the answer.
func containsJSON(form json.RawMessage, answer string) (bool, string, error) {
	wrong := "the answer contains no JSON object"
	tried := 0
	for i, r := range answer {
		if r != '{' {
			continue
		}
		if tried++; tried > maxStarts {
			return false, "", fmt.Errorf("the answer has more than %d places at which JSON may begin, and none of the first holds what is wanted; ask for JSON alone, and use is-json", maxStarts)
		}
		var found json.RawMessage
		if json.NewDecoder(strings.NewReader(answer[i:])).Decode(&found) != nil {
			continue
		}
		holds, why, err := fits(form, found)
		if holds || err != nil {
			return holds, "", err
		}
		wrong = why
	}
	return false, wrong, nil
}

// maxStarts bounds the places of an answer where JSON is looked for, since each may
// take a pass over the rest.
const maxStarts = 100

// words requires the number of words, separated by white space, to be within bounds.
func words(bounds json.RawMessage, answer string) (bool, string, error) {
	var b struct{ Min, Max *float64 }
	if err := json.Unmarshal(bounds, &b); err != nil || b.Min == nil && b.Max == nil {
		return false, "", errors.New("the value of word-count has neither min nor max")
	}
	n := len(strings.Fields(answer))
	switch {
	case b.Min != nil && float64(n) < *b.Min:
		return false, fmt.Sprintf("the answer has %s, and at least %v are wanted", counted(n, "word"), *b.Min), nil
	case b.Max != nil && float64(n) > *b.Max:
		return false, fmt.Sprintf("the answer has %s, and at most %v are wanted", counted(n, "word"), *b.Max), nil
	}
	return true, "", nil
}

// isMarkup looks for XML, of which the value lists elements, or for HTML.
func isMarkup(spec evaluator.Assertion, answer string) (bool, string, error) {
	var elements []string
	if len(spec.Value) > 0 {
		if err := json.Unmarshal(spec.Value, &elements); err != nil {
			return false, "", fmt.Errorf("the value of %s is not a list of elements", spec.Type)
		}
	}
	var wrong error
	switch spec.Type {
	case "is-xml":
		wrong = markup.IsXML(answer, elements)
	case "contains-xml":
		wrong = markup.ContainsXML(answer, elements)
	case "contains-html":
		return markup.ContainsHTML(answer), "the answer contains no HTML", nil
	default:
		why, err := markup.IsHTML(answer)
		return why == "", "the answer is not HTML: " + why, err
	}
	if wrong != nil {
		return false, fmt.Sprintf("the answer does not hold %s: %s", spec.Type, clip(wrong.Error())), nil
	}
	return true, "", nil
}

// counted formats a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func fits(form json.RawMessage, data []byte) (bool, string, error) {
	if len(form) == 0 {
		return true, "", nil
	}
	wanted, err := jsonschema.Compile(form)
	if err != nil {
		return false, "", err
	}
	err = wanted.Check(data)
	if mismatch, ok := errors.AsType[*jsonschema.Mismatch](err); ok {
		return false, "the JSON of the answer does not fit: " + clip(mismatch.Error()), nil
	}
	return err == nil, "", err
}

// maxDistance bounds the texts whose distance is computed, in characters.
const maxDistance = 10_000

// distance counts the characters to insert, delete or replace to turn a into b
// (Levenshtein 1966). ok is false for texts that are too long.
func distance(a, b string) (d int, ok bool) {
	if utf8.RuneCountInString(a) > maxDistance || utf8.RuneCountInString(b) > maxDistance {
		return 0, false
	}
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		before := row[0]
		row[0] = i + 1
		for j, s := range to {
			replaced := before
			if r != s {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, before+1)
		}
	}
	return row[len(to)], true
}
