package oracle

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Rule is about rows that Gavel judges otherwise on purpose.
type Rule struct {
	Name string
	// Page is what the page of the format says of it.
	Page string
	// fits reports whether a row that differs is one of the rule's.
	fits func(row Row, theirs, ours string) bool
}

// Rules are all rules.
var Rules = []Rule{
	{
		Name: "a number as text", Page: "a number, true or false where an assertion looks for one text is taken as its text",
		fits: func(row Row, theirs, _ string) bool {
			kind := strings.TrimPrefix(row.Asserts[0].Type, "not-")
			_, isText := row.Asserts[0].Value.(string)
			return theirs == "error" && !isText && slices.Contains([]string{"contains", "icontains", "starts-with"}, kind)
		},
	},
	{
		Name: "characters", Page: "`levenshtein` counts characters, not units of UTF-16",
		fits: func(row Row, _, _ string) bool {
			return strings.HasSuffix(row.Asserts[0].Type, "levenshtein") && len(utf16.Encode([]rune(row.Output))) > utf8.RuneCountInString(row.Output)
		},
	},
}

// RuleOf returns the name of the first rule of a row that differs; empty for a row that
// does not, and for one without a rule.
func RuleOf(row Row, theirs, ours string) string {
	if theirs == ours {
		return ""
	}
	for _, rule := range Rules {
		if rule.fits(row, theirs, ours) {
			return rule.Name
		}
	}
	return ""
}
