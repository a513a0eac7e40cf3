package evaluate

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// keyword looks for words in the final reply: one criterion per keyword, 1 if it
// occurs, and one veto per forbidden word, 0 if it occurs. The rule's score is matched
// keywords / keywords, or min(1, matched / need) (the keyword section of the domain
// dialect).
//
// Words and reply are compared as substrings after fold. With whole_words the
// characters on both sides of a match may not continue the word.
func keyword(spec evaluator.Keyword, reply string) (finding, error) {
	if len(spec.Keywords)+len(spec.Forbidden) == 0 {
		return finding{}, errors.New("neither keywords nor forbidden words are given")
	}
	text := Fold(reply)
	var f finding
	var missing, present []string
	ids := newIDs()
	for _, w := range spec.Keywords {
		found, err := occurs(text, w, spec.WholeWords)
		if err != nil {
			return finding{}, fmt.Errorf("keywords: %w", err)
		}
		if !found {
			missing = append(missing, w)
		}
		c := verdict.Criterion{ID: ids.next("keyword " + w), Score: share(found)}
		contrast(&c, w, reply)
		f.criteria = append(f.criteria, c)
	}
	for _, w := range spec.Forbidden {
		found, err := occurs(text, w, spec.WholeWords)
		if err != nil {
			return finding{}, fmt.Errorf("forbidden: %w", err)
		}
		if found {
			present = append(present, w)
		}
		f.criteria = append(f.criteria, verdict.Criterion{ID: ids.next("forbidden " + w), Score: share(!found), Veto: true})
	}
	f.reason = keywordReason(spec, reply, missing, present)
	return f, nil
}

func occurs(text, word string, whole bool) (bool, error) {
	word = Fold(word)
	if strings.TrimSpace(word) == "" {
		return false, errors.New("an empty word would always be found")
	}
	if !whole {
		return strings.Contains(text, word), nil
	}
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false, nil
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		// If the word itself ends in a symbol, as C++ does, anything may follow. Beyond
		// the text's ends the decoded rune is not a word rune.
		if !(isWordRune(first) && isWordRune(before)) && !(isWordRune(last) && isWordRune(after)) {
			return true, nil
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

func keywordReason(spec evaluator.Keyword, reply string, missing, present []string) string {
	var parts []string
	if len(present) > 0 {
		parts = append(parts, "the reply contains the forbidden "+quoteAll(present))
	}
	total := len(spec.Keywords)
	switch {
	case strings.TrimSpace(reply) == "":
		parts = append(parts, "the reply is empty")
	case total > 0 && len(missing) == 0:
		parts = append(parts, foundAll(total))
	case total > 0:
		parts = append(parts, fmt.Sprintf("%d of %d keywords were found; missing: %s",
			total-len(missing), total, quoteAll(missing)))
	case len(present) == 0:
		parts = append(parts, "no forbidden word was found")
	}
	return strings.Join(parts, "; ")
}

// ids makes criterion ids unique: a list may name a word twice, and it then counts
// twice.
type ids map[string]int

func newIDs() ids { return ids{} }

func (seen ids) next(id string) string {
	seen[id]++
	if n := seen[id]; n > 1 {
		return fmt.Sprintf("%s #%d", id, n)
	}
	return id
}

// foundAll reports that all keywords were found.
func foundAll(total int) string {
	if total == 1 {
		return "the keyword was found"
	}
	return fmt.Sprintf("all %d keywords were found", total)
}
