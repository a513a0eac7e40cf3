package evaluate

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// overlap compares the words of the answer with reference texts.
func overlap(spec evaluator.Overlap, in Input) (finding, error) {
	answer := in.Transcript.Final()
	var score float64
	switch spec.By {
	case evaluator.ByROUGE:
		score = rouge(lower(answer), lower(spec.Texts[0]))
	case evaluator.ByBLEU:
		score = bleu(answer, spec.Texts)
	default:
		return finding{}, fmt.Errorf("the measure %q is not known", spec.By)
	}
	reaches := score >= spec.Least
	if !reaches && spec.Not && isCut(in.Transcript) {
		return finding{}, errLacks("not-" + spec.By + " holds of the whole")
	}
	f := passAndScore(share(reaches), score, spec.Not, fmt.Sprintf("the score of %s is %.4g, and the threshold %v", spec.By, score, spec.Least))
	if !spec.Not {
		contrast(&f.criteria[0], strings.Join(spec.Texts, "\n"), answer)
	}
	return f, nil
}

// rouge returns the F-score of the words of a text and a reference (ROUGE-1; Lin 2004),
// both in lower case.
func rouge(text, reference string) float64 {
	got, want := treebank(text), treebank(reference)
	if len(got) == 0 || len(want) == 0 {
		return 0
	}
	common := float64(clipped(grams(got, 1), grams(want, 1)))
	return harmonic(common/float64(len(got)), common/float64(len(want)))
}

// harmonic returns the harmonic mean of two shares, rounded as in promptfoo's library.
func harmonic(a, b float64) float64 {
	less, more := min(a, b), max(a, b)
	if less == 0 {
		return 0
	}
	return min(more, less*(2/(1+less/more)))
}

// grams counts the runs of n words.
func grams(words []string, n int) map[string]int {
	counts := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		counts[strings.Join(words[i:i+n], " ")]++
	}
	return counts
}

// clipped counts the runs of a text that a reference has, each as often as in both.
func clipped(got, want map[string]int) int {
	common := 0
	for gram, n := range got {
		common += min(n, want[gram])
	}
	return common
}

// bleu returns the score of a text against references, of runs of one to four words with
// equal weights (Papineni et al. 2002). As in promptfoo, runs that are longer than the
// text do not count, and no common run counts as a precision of 1e-7.
func bleu(text string, references []string) float64 {
	if trimSpaces(text) == "" {
		return 0
	}
	got := lowerWords(text)
	var wanted [][]string
	closest := 0
	for i, reference := range references {
		want := lowerWords(reference)
		wanted = append(wanted, want)
		here, there := abs(len(want)-len(got)), abs(closest-len(got))
		if i == 0 || here < there || here == there && len(want) < closest {
			closest = len(want)
		}
	}
	orders := min(4, len(got))
	total := 0.0
	for n := 1; n <= orders; n++ {
		counts, best := grams(got, n), 0
		for _, want := range wanted {
			best = max(best, clipped(counts, grams(want, n)))
		}
		precision := float64(best) / float64(len(got)-n+1)
		if best == 0 {
			precision = 1e-7
		}
		total += float64(0.25 / (0.25 * float64(orders)) * math.Log(precision)) // not fused on any machine
	}
	brevity := 1.0
	if len(got) <= closest {
		brevity = math.Exp(1 - float64(closest)/float64(len(got)))
	}
	return brevity * math.Exp(total)
}

func abs(n int) int { return max(n, -n) }

// lowerWords returns the words of a text in lower case. A text without any has one empty word.
func lowerWords(text string) []string {
	if text = trimSpaces(lower(text)); text == "" {
		return []string{""}
	}
	return strings.FieldsFunc(text, isSpace)
}

// isSpace reports whether JavaScript's \s is a character.
func isSpace(r rune) bool { return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r) }

// trimSpaces removes the white space around a text, as JavaScript does.
func trimSpaces(s string) string { return strings.TrimFunc(s, isSpace) }

// treebank splits a text in lower case into words as the Penn Treebank does, by the rules of promptfoo's
// library: punctuation and the parts of contractions are words.
func treebank(text string) []string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return isSpace(r) || r == '\u0085' }), " ")
	if text == "" {
		return nil
	}
	text = strings.ReplaceAll(splitQuotes(text), "...", " ... ")
	text = splitSeparators(text)
	text = marks.ReplaceAllString(text, " $0 ")
	text = splitStop(text)
	text = strings.ReplaceAll(brackets.ReplaceAllString(text, " $0 "), "--", " -- ")
	text = possessive.ReplaceAllString(" "+text+" ", "$1 ' ")
	text = shortened.ReplaceAllString(text, " '$1 ")
	text = verbs.ReplaceAllString(text, " $1 ")
	return strings.FieldsFunc(splitContractions(text), func(r rune) bool { return r == ' ' })
}

var (
	quoteMarks = lazyregexp.New("``|''|\"")
	separators = lazyregexp.New(`[:,]\p{Nd}?`)
	marks      = lazyregexp.New(`[;@#$%&]`)
	brackets   = lazyregexp.New(`[?!\][(){}<>]`)
	possessive = lazyregexp.New(`([^'])' `)
	shortened  = lazyregexp.New(`'([smd]) `)
	verbs      = lazyregexp.New(`('ll|'re|'ve|n't) `)
	lastStop   = lazyregexp.New(`\.[\])}>' ]*$`)
	initials   = lazyregexp.New(`(?:^|[^a-z0-9_])[a-z]\.[a-z]$`)
)

// contractions are written as one word and are two, of which the first has so many letters.
var contractions = map[string]int{"cannot": 3, "d'ye": 1, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "more'n": 4, "wanna": 3, "'tis": 2, "'twas": 2}

var contracted = lazyregexp.New(`cannot|d'ye|gimme|gonna|gotta|lemme|more'n|wanna|'tis|'twas`)

// splitContractions puts a space into each contraction that is a word.
func splitContractions(text string) string {
	var b strings.Builder
	from := 0
	for _, at := range contracted.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		after, _ := utf8.DecodeRuneInString(text[at[1]:])
		if continues(before) || continues(after) || found == "wanna" && after != ' ' {
			continue
		}
		n := contractions[found]
		b.WriteString(text[from:at[0]] + " " + found[:n] + " " + found[n:] + " ")
		from = at[1]
	}
	return b.String() + text[from:]
}

// continues reports whether a character continues a word (ID_Continue of Unicode, and
// joiners).
func continues(r rune) bool {
	return r == '\u200c' || r == '\u200d' ||
		unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Start, unicode.Other_ID_Continue) && !unicode.Is(unicode.Pattern_Syntax, r)
}

// splitQuotes writes quotes that open as two backticks, and others as two apostrophes,
// with spaces around.
func splitQuotes(text string) string {
	var b strings.Builder
	from, inside := 0, false
	for _, at := range quoteMarks.FindAllStringIndex(text, -1) {
		mark := text[at[0]:at[1]]
		inside = mark == "``" || !inside && opens(text, mark, at[0], at[1])
		b.WriteString(text[from:at[0]])
		if inside {
			b.WriteString(" `` ")
		} else {
			b.WriteString(" '' ")
		}
		from = at[1]
	}
	return b.String() + text[from:]
}

// opens reports whether a quote that is not within others opens.
func opens(text, mark string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	isFirst, isLast := start == 0, end == len(text)
	if before > 0xFFFF { // which JavaScript looks at by halves
		before = 'x'
	}
	bracket := before == ' ' || before == '<' || unicode.Is(unicode.Ps, before)
	switch {
	case isLast && !isFirst && !bracket, !isFirst && strings.ContainsRune(".!?", before):
		return false
	case !isFirst && !bracket && !unicode.IsPunct(before) && !strings.HasSuffix(text[:start], "``"):
		return false
	case mark == `"`:
		return true
	}
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !isFirst && unicode.In(after, unicode.L, unicode.N, unicode.Sc, unicode.Ps) && quoteMarks.FindString(text[end:]) == "''"
}

// splitSeparators puts spaces around colons and commas that no digit follows.
func splitSeparators(text string) string {
	return separators.ReplaceAllStringFunc(text, func(found string) string {
		if len(found) > 1 {
			return found
		}
		return " " + found + " "
	})
}

// splitStop puts a space before the stop at the end of a text, unless it ends initials.
func splitStop(text string) string {
	at := lastStop.FindStringIndex(text)
	if at == nil || at[0] == 0 || text[at[0]-1] == '.' || initials.MatchString(text[:at[0]]) {
		return text
	}
	return text[:at[0]] + " " + text[at[0]:] + " "
}
