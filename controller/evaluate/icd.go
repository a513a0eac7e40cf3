package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// category is the length of a code's category: K29 of K29.8.
	category = 3
	// enough is the share of right codes in the answer that is not penalised.
	enough = 0.8
	// tooShort is the penalty of a code in the right category that is less specific
	// than the expected one.
	tooShort = 0.5
)

// icdCodes compares the codes in an answer with the expected ones. It returns four
// criteria from 0 to 1, and the missing and extra codes in words. Two codes match if
// they are equal or if one begins with the other.
//
//   - accuracy is the share of the expected codes that the answer has.
//   - completeness is the share of the categories of the expected codes that it has.
//   - specificity is 1, less the mean over the expected codes of 1 where their category is
//     missing and of 0.5 where the longest code of the category is shorter and not its beginning.
//   - precision is the share of the answer's codes that are expected, and 1 from 0.8 on.
func icdCodes(spec evaluator.ICDCodes, answer string) ([]verdict.Criterion, string) {
	found := evaluator.ICDCodesIn(answer)
	expected := unique(spec.Expected)
	if len(found) == 0 {
		list := icdCriteria(0, 0, 0, 0)
		for i := range list {
			contrast(&list[i], strings.Join(expected, ", "), answer)
		}
		return list, "the answer lists no codes as JSON"
	}
	missing := without(expected, found)
	extra := without(unique(found), expected)
	right := len(unique(found)) - len(extra) // a code that is listed twice is right once
	categories, there := unique(categoriesOf(expected)), categoriesOf(found)
	has := 0
	for _, c := range categories {
		if slices.Contains(there, c) {
			has++
		}
	}
	list := icdCriteria(
		icdShare(len(expected)-len(missing), len(expected)), icdShare(has, len(categories)),
		specificity(spec.Expected, found), min(1, icdShare(right, len(found))/enough),
	)
	for i := range list {
		want, got := expected, slices.Sorted(slices.Values(found))
		if list[i].ID == evaluator.ICDCompleteness {
			want, got = categories, unique(there)
		}
		contrast(&list[i], strings.Join(want, ", "), strings.Join(got, ", "))
	}
	return list, reason(expected, missing, extra)
}

func icdCriteria(accuracy, completeness, specificity, precision float64) []verdict.Criterion {
	return []verdict.Criterion{
		{ID: evaluator.ICDAccuracy, Score: accuracy}, {ID: evaluator.ICDCompleteness, Score: completeness},
		{ID: evaluator.ICDSpecificity, Score: specificity}, {ID: evaluator.ICDPrecision, Score: precision},
	}
}

func icdShare(n, of int) float64 { return float64(n) / float64(of) }

// matches reports whether two codes are equal or one begins with the other.
func matches(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// without returns the codes that match none of the others.
func without(codes, others []string) []string {
	var out []string
	for _, code := range codes {
		if !slices.ContainsFunc(others, func(other string) bool { return matches(code, other) }) {
			out = append(out, code)
		}
	}
	return out
}

func unique(codes []string) []string {
	out := slices.Clone(codes)
	slices.Sort(out)
	return slices.Compact(out)
}

func categoryOf(code string) string { return code[:min(category, len(code))] }

func categoriesOf(codes []string) []string {
	out := make([]string, len(codes))
	for i, code := range codes {
		out[i] = categoryOf(code)
	}
	return out
}

// specificity is 1 if the answer is as specific as expected.
func specificity(expected, found []string) float64 {
	lost := 0.0
	for _, code := range expected {
		longest := ""
		for _, other := range found {
			if categoryOf(other) == categoryOf(code) && len(other) > len(longest) {
				longest = other
			}
		}
		switch {
		case longest == "":
			lost++
		case len(longest) < len(code) && !strings.HasPrefix(code, longest):
			lost += tooShort
		}
	}
	return max(0, 1-lost/float64(len(expected)))
}

func reason(expected, missing, extra []string) string {
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(missing, ", "))
	}
	if len(extra) > 0 {
		parts = append(parts, "not expected: "+strings.Join(extra, ", "))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("the answer has the expected codes (%d)", len(expected))
	}
	return strings.Join(parts, "; ")
}
