package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestNoWordOfTheReadmeComesTooEarly holds that the README explains the words that
// Gavel gives a meaning of its own where it uses them first, and does without others.
func TestNoWordOfTheReadmeComesTooEarly(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile("(?ms)^```.*?^```$|\\]\\([^)]*\\)").ReplaceAllString(page(t, "README.md"), "")
	for _, tt := range []struct{ word, explained string }{
		{"regression", "A regression is a test that a change made worse."},
		{"target", "What Gavel tests is called a target."},
		{"case", "Gavel calls such a test a case"},
		{"inputs", "`inputs` are the files that your agent is built from"},
	} {
		first, explains := regexp.MustCompile(`\b`+tt.word+`s?\b`).FindStringIndex(text), strings.Index(text, tt.explained)
		if explains < 0 || first == nil {
			t.Errorf("the README does not say %q", tt.explained)
			continue
		}
		// The same line may have the word before, such as a name in bold.
		if early := text[min(first[0], explains):explains]; strings.Contains(early, "\n") {
			t.Errorf("the README has %q before it says %q: %q", tt.word, tt.explained, early)
		}
	}
	for _, word := range []string{"ledger", "gate", "verdict", "digest", "dialect", "evaluator", "merge base", "rubric", "judgement", "re-judged", "affected-only", "quarantine", "outcome"} {
		if found := regexp.MustCompile(`(?i)\b` + word + `s?\b.*`).FindString(text); found != "" {
			t.Errorf("the README uses %q without saying what it is: %q", word, found)
		}
	}
}
