// Package textfmt formats numbers, counts and foreign text consistently in comments, on
// the terminal and in XML.
//
// The results of [Clean] and [Line] contain no character that moves a cursor, switches
// a colour or reverses the reading direction. In GitHub's Markdown all foreign text
// passes through [Markdown] or [MarkdownTurn], and stays text. Nothing else escapes.
package textfmt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Count formats n with its noun: "1 case", "1,204 cases". Reports use no nouns that end
// in s, x, z, ch or sh, so an s is enough.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Int(int64(n)) + " " + noun + "s"
}

// Verb returns one for a single thing and many for all other numbers.
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Int formats n with a comma between the thousands.
func Int(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Score formats a score of [0,1] with a number of decimals; a dash without one.
// Rounding never turns another score into 0 or 1: 0.9996 is 0.999, and 0.0004 is 0.001.
func Score(x *float64, decimals int) string { return points(x, 1, decimals) }

// Points formats a score of [0,1] on another scale with two decimals, without the
// scale: 8.87. It rounds as [Score] does.
func Points(x *float64, scale float64) string { return points(x, scale, 2) }

// OutOf formats a score of [0,1] on another scale, with the scale: "8.87/10". On the
// scale of 1 it formats as [Score] does.
func OutOf(x *float64, scale float64) string {
	if x == nil || scale == 1 {
		return Score(x, 2)
	}
	return fmt.Sprintf("%s/%v", Points(x, scale), scale)
}

// Native formats a score of [0,1] on another scale with as few decimals as needed, for
// tables whose header has the scale.
func Native(x *float64, scale float64) string {
	if x == nil {
		return Points(x, scale)
	}
	return strings.TrimRight(strings.TrimRight(Points(x, scale), "0"), ".")
}

// points is the only function that rounds a score.
func points(x *float64, scale float64, decimals int) string {
	if x == nil {
		return "–"
	}
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	// Rounding errors in the last digits are not part of a score.
	v := math.Round(*x*1e9) / 1e9
	step := math.Pow10(-decimals)
	switch got := text(v * scale); {
	case v < 1 && got == text(scale):
		return text(scale - step)
	case v > 0 && got == text(0):
		return text(step)
	default:
		return got
	}
}

// Short drops the zero before the point and the zeros of a whole number: a table of ten
// columns must fit a phone.
func Short(s string) string {
	s = strings.TrimSuffix(s, ".00")
	sign := ""
	for _, prefix := range []string{"+", "−"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			sign, s = prefix, rest
		}
	}
	if rest, ok := strings.CutPrefix(s, "0."); ok {
		s = "." + rest
	}
	return sign + s
}

// Signed formats a difference with its sign, and 0 for a number that rounds to zero.
func Signed(x float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64)
	switch {
	case strings.Trim(s, "0.") == "":
		return "0"
	case x < 0:
		return "−" + s
	}
	return "+" + s
}

// USD formats an amount of money; two decimals, more below a cent.
func USD(x float64) string {
	switch {
	case x == 0:
		return "$0"
	case x < 0.0001:
		return "< $0.0001"
	case x < 0.01:
		return fmt.Sprintf("$%.4f", x)
	}
	return fmt.Sprintf("$%.2f", x)
}

// Spent formats an amount of which some prices are unknown: "$0.02", "at least $0.02",
// or "price unknown".
func Spent(usd float64, unpriced int) string {
	switch {
	case unpriced == 0:
		return USD(usd)
	case usd == 0:
		return "price unknown"
	}
	return "at least " + USD(usd)
}

// Cost formats an amount of money after a count: ", $0.02", and ", price unknown" for
// nil.
func Cost(usd *float64) string {
	if usd == nil {
		return ", price unknown"
	}
	return ", " + USD(*usd)
}

// Duration formats d in the one or two largest units: "850 ms", "2.3 s", "2 min 14 s",
// "1 h 5 min".
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Age formats an age in its largest unit: "less than a minute", "1 hour", "12 days".
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return Count(int(d.Minutes()), "minute")
	case d < day:
		return Count(int(d.Hours()), "hour")
	}
	return Count(int(d/day), "day")
}

// Clean makes foreign text safe to print: invalid UTF-8 and control characters become
// visible signs. Zero-width characters that can hide or reorder text are removed, and
// so are combining marks without a letter, which would change the text before. Line
// breaks and tabs stay.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	marks, letter := 0, false
	for _, r := range s {
		if extends(r) && !letter {
			continue
		}
		if unicode.In(r, unicode.Mn, unicode.Me) && !unicode.Is(unicode.Variation_Selector, r) {
			// More than three marks on a letter cover the lines around it.
			if marks++; marks > 3 {
				continue
			}
		} else {
			marks = 0
		}
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
			b.WriteByte('\n')
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the picture of the control character
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.IsControl(r):
			b.WriteRune('\uFFFD')
		case invisible(r):
		default:
			b.WriteRune(r)
		}
		letter = !unicode.IsSpace(r) && (letter || !invisible(r))
	}
	return b.String()
}

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	return r == '\u200C' || r == '\u200D' || unicode.In(r, unicode.Mn, unicode.Me)
}

// plain reports whether Clean has nothing to do, which is nearly always the case.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// invisible reports whether r has no width and can mislead. The joiners that scripts
// and emoji need stay.
func invisible(r rune) bool {
	switch r {
	case '\u200C', '\u200D':
		return false
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u034F', '\u17B4', '\u17B5':
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// Line cleans text and puts it on one line: white space of any kind becomes one space.
func Line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Clip shortens s to at most n characters, the last of them an ellipsis.
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := 0
	for i := range s {
		if runes == n-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
		runes++
	}
	return s
}

// plainWord matches a word of a language, which a path and the name of a field are not.
var plainWord = lazyregexp.New(`^[a-z]+( |$|[.;,]( |$))`)

// Sentence returns a text with a capital letter, unless it begins with a path or a name.
func Sentence(text string) string {
	if !plainWord.MatchString(text) || strings.HasPrefix(text, "id ") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
