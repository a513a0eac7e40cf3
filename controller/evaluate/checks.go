package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/jsonschema"
)

// checks compares the target's last answer with assertions (the checks files next to
// definitions of every dialect). A criterion is 1 if it holds, else 0. Texts are
// compared letter by letter; equals ignores the white space around them; a pattern is
// RE2 and matches anywhere. The cost or duration of a sample is a criterion with a
// value, which the Rule bounds; an unknown one is an error.
func checks(spec evaluator.Checks, in suiteInput) (finding, error) {
	if len(spec.Checks) == 0 {
		return finding{}, errors.New("there are no checks")
	}
	answer := in.Answer()
	var f finding
	var broken, values []string
	for _, c := range spec.Checks {
		criterion, err := checkOne(c, answer, in)
		if err != nil && len(spec.Checks) > 1 { // a single check is named by its evaluator
			err = fmt.Errorf("%s: %w", c.ID, err)
		}
		if err != nil {
			return finding{}, err
		}
		switch {
		case criterion.Value != nil: // its bound is compared later
			values = append(values, fmt.Sprintf("%s %v", criterion.ID, *criterion.Value))
		case criterion.Note != "":
			broken = append(broken, criterion.Note)
		}
		f.criteria = append(f.criteria, criterion)
	}
	switch {
	case len(broken) > 0:
		f.reason = strings.Join(append(broken, values...), "; ")
	case len(values) == len(spec.Checks):
		f.reason = strings.Join(values, "; ")
	case len(values) > 0:
		f.reason = strings.Join(values, "; ") + "; all other checks hold"
	case len(spec.Checks) == 1:
		f.reason = "the check holds"
	default:
		f.reason = fmt.Sprintf("all %d checks hold", len(spec.Checks))
	}
	return f, nil
}

func checkOne(c evaluator.Check, answer string, in suiteInput) (verdict.Criterion, error) {
	out := verdict.Criterion{ID: c.ID}
	note := func(holds bool, format string, args ...any) {
		if out.Score = share(holds); !holds {
			out.Note = fmt.Sprintf(format, args...)
		}
	}
	wanted, got := c.Text, answer
	switch c.Kind {
	case evaluator.CheckContains:
		note(strings.Contains(answer, c.Text), "the answer does not contain %s", quote(c.Text))
	case evaluator.CheckNotContains:
		holds := !strings.Contains(answer, c.Text)
		wanted = ""
		if note(holds, "the answer contains %s", quote(c.Text)); holds && isCut(in.Transcript) {
			return out, errLacks("the rest contains " + quote(c.Text))
		}
	case evaluator.CheckIContains:
		note(strings.Contains(strings.ToLower(answer), strings.ToLower(c.Text)), "the answer does not contain %s in any case", quote(c.Text))
	case evaluator.CheckAny:
		wanted = quoteAll(c.Texts)
		note(slices.ContainsFunc(c.Texts, func(text string) bool { return strings.Contains(answer, text) }), "the answer contains none of %s", quoteAll(c.Texts))
	case evaluator.CheckAll:
		missing := slices.DeleteFunc(slices.Clone(c.Texts), func(text string) bool { return strings.Contains(answer, text) })
		wanted = quoteAll(c.Texts)
		note(len(missing) == 0, "the answer does not contain %s", quoteAll(missing))
	case evaluator.CheckEquals:
		note(strings.TrimSpace(answer) == strings.TrimSpace(c.Text), "the answer is %s, not %s%s", quote(answer), quote(c.Text), apart(strings.TrimSpace(answer), strings.TrimSpace(c.Text)))
	case evaluator.CheckRegex:
		re, err := regexp.Compile(c.Text)
		if err != nil {
			return out, err
		}
		note(re.MatchString(answer), "the answer does not match %s", quote(c.Text))
	case evaluator.CheckJSON:
		wrong, err := checkJSON(c, answer)
		note(wrong == "", "%s", wrong)
		return out, err
	case evaluator.CheckPath:
		found, wrong := checkPath(c, answer)
		wanted, got = string(c.Value), found
		note(wrong == "", "%s", wrong)
	case evaluator.CheckLatency:
		return in.Quantity(c.ID, evaluator.DurationMS)
	case evaluator.CheckCost:
		return in.Quantity(c.ID, evaluator.CostUSD)
	default:
		return out, fmt.Errorf("there is no check %q", c.Kind)
	}
	contrast(&out, wanted, got)
	return out, nil
}

// checkJSON returns the reason why an answer is not the wanted JSON. The whole answer
// must be JSON: a program that reads it cannot use a block of code.
func checkJSON(c evaluator.Check, answer string) (wrong string, err error) {
	form := c.Form
	if form == nil {
		form = json.RawMessage("true")
	}
	wanted, err := jsonschema.Compile(form)
	if err != nil {
		return "", err
	}
	if _, notJSON := schema.Canonical([]byte(answer)); notJSON != nil {
		return "the answer is not JSON: " + quote(answer), nil
	}
	err = wanted.Check([]byte(answer))
	if mismatch, ok := errors.AsType[*jsonschema.Mismatch](err); ok {
		return "the answer is not the JSON that is wanted: " + clip(mismatch.Error()), nil
	}
	return "", err
}

// checkPath returns the value at a path of an answer, and the reason why it is not the
// wanted one. The value is the whole answer if that is not JSON.
func checkPath(c evaluator.Check, answer string) (value, wrong string) {
	whole, err := schema.Canonical([]byte(answer))
	if err != nil {
		return answer, "the answer is not JSON: " + quote(answer)
	}
	path, _ := evaluator.ParsePath(strings.TrimPrefix(c.Text, "$"))
	found := path.Find(whole)
	if found == nil {
		return "", fmt.Sprintf("the answer has nothing at %s", c.Text)
	}
	want, err := schema.Canonical(c.Value)
	if err != nil || string(found) != string(want) {
		return string(found), fmt.Sprintf("the answer has %s at %s, not %s", clip(string(found)), c.Text, clip(string(c.Value)))
	}
	return string(found), ""
}
