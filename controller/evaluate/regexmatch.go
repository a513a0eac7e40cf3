package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/number"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// maxPattern bounds a pattern in bytes. RE2 matches in linear time, but its
// program grows with the pattern.
const maxPattern = 4 << 10

// regex compares a pattern's match in the final reply with the expected value: one
// criterion, 1 or 0 (extraction_regex of the domain dialect's configured evaluators).
// The pattern is RE2 with (?is). Without a group or an expected value it only has to
// match; otherwise group 1 is compared as folded text, or as a number with comparison
// exact_number. The error names the unusable part of the spec.
func regex(spec evaluator.Regex, reply string) (verdict.Criterion, error) {
	re, err := compile(spec.Pattern)
	if err != nil {
		return verdict.Criterion{}, err
	}
	match := re.FindStringSubmatch(reply)
	c := verdict.Criterion{ID: "match"}
	expected := ofJSON(spec.Expected)
	presence := re.NumSubexp() == 0 || len(spec.Expected) == 0 || string(spec.Expected) == "null"
	switch {
	case match == nil:
		c.Note = "the pattern does not match the reply"
		contrast(&c, cmp.Or(expected, spec.Pattern), reply)
	case presence:
		c.Score, c.Note = 1, "the pattern matches "+quote(match[0])
	default:
		equal, err := sameText(spec.Comparison, match[1], expected)
		if err != nil {
			return verdict.Criterion{}, err
		}
		if equal {
			c.Score = 1
		}
		c.Note = fmt.Sprintf("found %s, expected %s", quote(match[1]), quote(expected))
		contrast(&c, expected, match[1])
	}
	return c, nil
}

// compile compiles a pattern with (?is) in front. The error describes its mistake.
func compile(pattern string) (*regexp.Regexp, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty")
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	re, err := regexp.Compile("(?is)" + pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

func sameText(comparison, got, expected string) (bool, error) {
	switch comparison {
	case "":
		return strings.TrimSpace(Fold(got)) == strings.TrimSpace(Fold(expected)), nil
	case "exact_number":
		want := number.Parse(expected)
		if len(want) == 0 {
			return false, fmt.Errorf("exact_number: the expected value %s is not a number", quote(expected))
		}
		return number.Parse(got).Near(want, 0), nil
	}
	return false, fmt.Errorf("comparison %q is not known; use exact_number or leave it out", comparison)
}
