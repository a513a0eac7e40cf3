// Package number reads numbers as people write them, by the conventions of more than
// one country.
package number

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Readings are the values that one written number may have: 1.234 is read both
// as a decimal and as a grouped number, 50% both as 50 and as 0.5.
type Readings []float64

// Near reports whether a reading of one is within the tolerance of a reading
// of the other. The bound is inclusive after allowing 1e-9 for rounding.
func (r Readings) Near(other Readings, tolerance float64) bool {
	for _, a := range r {
		for _, b := range other {
			if math.Abs(a-b) <= tolerance+1e-9 {
				return true
			}
		}
	}
	return false
}

// A Custom decides the meaning of a single point or comma before exactly three digits,
// as in 1.234 and 1,234.
type Custom int

const (
	// Either allows both readings.
	Either Custom = iota
	// Thousands reads 1.234 as 1234.
	Thousands
	// Decimal reads 1.234 as a number below 2.
	Decimal
)

// CustomOf returns the custom for a reply to a question with this answer: thousands if
// the answer is a whole number, else decimal. An answer that is itself ambiguous allows
// either.
func CustomOf(answer string) Custom {
	decimal, grouped := ParseIn(answer, Decimal), ParseIn(answer, Thousands)
	switch {
	case len(decimal) == 0 || len(grouped) == 0 || decimal[0] != grouped[0]:
		return Either
	case decimal[0] == math.Trunc(decimal[0]):
		return Thousands
	}
	return Decimal
}

// bare matches a number with only a sign, a currency symbol and a percent sign around
// it.
var bare = lazyregexp.New(`^[-+−–]?\p{Sc}?\s?[-+−–]?[0-9.][0-9.,'’_ ]*([eE][-+]?[0-9]+)?(\s?%|\s?\p{Sc})?$`)

// IsBare reports whether a text is a number and nothing else.
func IsBare(text string) bool { return bare.MatchString(norm.NFKC.String(strings.TrimSpace(text))) }

// Parse is [ParseIn] with either reading of an ambiguous separator.
func Parse(text string) Readings { return ParseIn(text, Either) }

// ParseIn reads the only number of a text. It returns nil if there is none, more than
// one, or a malformed one. Words, units and currencies around the number are ignored.
// The rules, after Unicode compatibility folding (NFKC):
//
//	1,234.5  1.234,5   the last separator is the decimal one
//	1.234.567          a separator that repeats groups by three (1,23,456 too)
//	1.234  1,234       ambiguous: what the custom says (0,234 is not ambiguous)
//	1 234  1'234       a space, apostrophe or _ groups by three
//	-5  −5  -$5  $-5   a sign counts unless a letter or digit is before it
//	50%                50 and 0.5
//	1.5e3  2 juta      exponents, and the words of magnitudes
//	x2  GPT4           digits inside a word are not a number; Rp105 is one
//	1.2.3  10:30  1/2  malformed or several: no answer
func ParseIn(text string, custom Custom) Readings {
	s := []rune(strings.ToLower(norm.NFKC.String(text)))
	var found Readings
	for i := 0; i < len(s); {
		if !startsNumber(s, i) {
			i++
			continue
		}
		if found != nil {
			return nil
		}
		end := numberEnd(s, i)
		if insideWord(s, i) {
			i = end
			continue
		}
		found = read(string(s[i:end]), custom)
		if found == nil {
			return nil
		}
		end = found.scaled(s, end)
		if negative(s, i) {
			for k := range found {
				found[k] = -found[k]
			}
		}
		i = end
	}
	return found
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func digitAt(s []rune, i int) bool { return i >= 0 && i < len(s) && isDigit(s[i]) }

// startsNumber reports whether a digit, or a point before one, is at i.
func startsNumber(s []rune, i int) bool {
	return digitAt(s, i) || s[i] == '.' && digitAt(s, i+1)
}

// numberEnd returns the end of the digits and separators that begin at i. A separator
// belongs to the number only before a digit, a space only before a group of exactly
// three.
func numberEnd(s []rune, i int) int {
	for i < len(s) {
		switch {
		case isDigit(s[i]):
		case strings.ContainsRune(".,'’_", s[i]) && digitAt(s, i+1):
		case s[i] == ' ' && groupOfThree(s, i+1) && shortGroup(s, i):
		case s[i] == 'e' && exponentAt(s, i+1):
			i++ // the sign or the first digit
		default:
			return i
		}
		i++
	}
	return i
}

func groupOfThree(s []rune, i int) bool {
	return digitAt(s, i) && digitAt(s, i+1) && digitAt(s, i+2) && !digitAt(s, i+3)
}

// shortGroup reports whether one to three digits precede i.
func shortGroup(s []rune, i int) bool {
	n := 0
	for digitAt(s, i-1-n) {
		n++
	}
	return n >= 1 && n <= 3
}

func exponentAt(s []rune, i int) bool {
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	return digitAt(s, i)
}

// insideWord reports whether letters directly precede i, other than a currency.
func insideWord(s []rune, i int) bool {
	start := i
	for start > 0 && (unicode.IsLetter(s[start-1]) || s[start-1] == '_' || start < i && isDigit(s[start-1])) {
		start--
	}
	switch string(s[start:i]) {
	case "", "rp", "idr", "usd", "eur", "gbp", "jpy", "sgd", "myr", "rm", "us", "s", "rs", "inr":
		return false
	}
	return true
}

// negative reports whether a minus sign, perhaps with a currency symbol
// between, precedes i and joins no two words or numbers.
func negative(s []rune, i int) bool {
	for i > 0 && (unicode.Is(unicode.Sc, s[i-1])) {
		i--
	}
	if i == 0 || s[i-1] != '-' && s[i-1] != '−' && s[i-1] != '–' {
		return false
	}
	return i == 1 || !unicode.IsLetter(s[i-2]) && !unicode.IsDigit(s[i-2])
}

// read returns the values of one token of digits and separators.
func read(token string, custom Custom) Readings {
	exponent := ""
	if i := strings.IndexByte(token, 'e'); i >= 0 {
		token, exponent = token[:i], token[i:]
	}
	if strings.ContainsAny(token, " '’_") {
		return values(spaced(token) + exponent)
	}
	points, commas := strings.Count(token, "."), strings.Count(token, ",")
	switch {
	case points+commas == 0:
		return values(token + exponent)
	case points > 0 && commas > 0:
		return values(readMixed(token) + exponent)
	case points+commas > 1:
		return values(grouped(token) + exponent)
	}
	whole, fraction, _ := strings.Cut(strings.ReplaceAll(token, ",", "."), ".")
	decimal := whole + "." + fraction + exponent
	ambiguous := exponent == "" && len(fraction) == 3 && len(whole) >= 1 && len(whole) <= 3 && whole[0] != '0'
	switch {
	case !ambiguous || custom == Decimal:
		return values(decimal)
	case custom == Thousands:
		return values(whole + fraction)
	}
	return values(decimal, whole+fraction)
}

// values parses finite, well-formed numbers, or returns nil if one is not.
func values(texts ...string) Readings {
	var r Readings
	for _, t := range texts {
		v, err := strconv.ParseFloat(t, 64)
		if err != nil || math.IsInf(v, 0) {
			return nil
		}
		r = append(r, v)
	}
	return r
}

// spaced reads a token whose digits are grouped by something other than points and
// commas, so that a point or comma can only be the decimal separator.
func spaced(token string) string {
	whole, fraction := token, ""
	if i := strings.IndexAny(token, ".,"); i >= 0 {
		whole, fraction = token[:i], "."+token[i+1:]
	}
	parts := strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(" '’_", r) })
	for i, p := range parts {
		if len(p) > 3 || i > 0 && len(p) != 3 {
			return ""
		}
	}
	return strings.Join(parts, "") + fraction
}

// readMixed reads a token with both separators: the last is the decimal one.
func readMixed(token string) string {
	i := strings.LastIndexAny(token, ".,")
	if strings.Count(token, token[i:i+1]) > 1 {
		return ""
	}
	whole := grouped(token[:i])
	if whole == "" {
		return ""
	}
	return whole + "." + token[i+1:]
}

// grouped removes a token's only kind of separator if it groups the digits: the last
// group has three, the groups between two or three.
func grouped(token string) string {
	separator := "."
	if strings.Contains(token, ",") {
		separator = ","
	}
	parts := strings.Split(token, separator)
	for i, p := range parts {
		first, last := i == 0, i == len(parts)-1
		good := first && len(p) >= 1 && len(p) <= 3 || last && len(p) == 3 || !first && !last && (len(p) == 2 || len(p) == 3)
		if !good {
			return ""
		}
	}
	return strings.Join(parts, "")
}

// magnitude knows words in English and Indonesian.
func magnitude(word string) float64 {
	switch word {
	case "thousand", "ribu", "rb":
		return 1e3
	case "million", "juta", "jt":
		return 1e6
	case "billion", "miliar", "milyar":
		return 1e9
	case "trillion", "triliun":
		return 1e12
	}
	return 1
}

// scaled applies a percent sign or a magnitude word at end, perhaps after a space, and
// returns the new end.
func (r *Readings) scaled(s []rune, end int) int {
	i := end
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if i < len(s) && s[i] == '%' {
		for _, v := range *r {
			*r = append(*r, v/100)
		}
		return i + 1
	}
	start := i
	for i < len(s) && unicode.IsLetter(s[i]) {
		i++
	}
	m := magnitude(string(s[start:i]))
	if m == 1 {
		return end
	}
	for k := range *r {
		(*r)[k] *= m
	}
	return i
}
