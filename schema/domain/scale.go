package domain

import (
	"fmt"
	"strconv"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Phrases of a prompt about the scores that it asks for, in English and Indonesian.
var (
	asksScore = lazyregexp.New(`(?i)\b(score|skor|nilai|rate|rating|grade|scale|skala|points?|poin)`)
	ranges    = lazyregexp.New(`(?i)\b[01]\s*(?:-|–|—|\.\.|to|and|sampai|hingga|s\.?/?d\.?)\s*(\d{1,4})\b`)
	bests     = lazyregexp.New(`(?i)(?:\bout of|\bdari|\bmaks(?:imal|imum)?|\bmax(?:imum)?(?: of)?|/)\s*(\d{1,4})\b`)
)

// bestScore returns the highest score that a prompt seems to ask for, or 0 if it names
// none.
func bestScore(prompt string) int {
	if !asksScore.MatchString(prompt) {
		return 0
	}
	best := 0
	for _, form := range []*lazyregexp.Regexp{ranges, bests} {
		for _, m := range form.FindAllStringSubmatch(prompt, -1) {
			if n, err := strconv.Atoi(m[1]); err == nil {
				best = max(best, n)
			}
		}
	}
	return best
}

// noteScale notes an evaluator whose judge seems to be asked for a score above 1
// without a stated maximum.
func (t *tree) noteScale(doc *document.Document, e *evaluatorFile) {
	best := bestScore(e.Prompt)
	if e.broken || best <= 1 || e.Config.MaxScore > 0 {
		return
	}
	p := doc.Problem("max-score", fmt.Sprintf("eval_prompt seems to ask for a score up to %d, and 1 is the best without config.max_score", best),
		fmt.Sprintf(`add "config": {"max_score": %d}; a score above 1 is an error otherwise`, best), "eval_prompt")
	p.Severity = schema.Note
	t.problems = append(t.problems, p)
}
