package template

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

var escapes = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", `\`, "&#92;")

// encodeComponent writes a text as a part of an address.
func encodeComponent(s string) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	for _, c := range "!'()*" {
		s = strings.ReplaceAll(s, "%"+strings.ToUpper(strconv.FormatInt(int64(c), 16)), string(c))
	}
	return s
}

var (
	htmlTag    = lazyregexp.New(`(?i)</?([a-z][a-z0-9]*)\b[^>]*>|<!--[\s\S]*?-->`)
	edges      = lazyregexp.New(`(?m)^ +| +$`)
	spaces     = lazyregexp.New(` +`)
	emptyLines = lazyregexp.New(`\n\n\n+`)
	lineBreak  = lazyregexp.New(`\r\n|\n`)
)

// stripTags leaves out tags and comments. White space becomes one space, or lines are
// kept.
func stripTags(s string, lines bool) string {
	s = strings.TrimFunc(htmlTag.ReplaceAllString(s, ""), isSpace)
	if !lines {
		return strings.Join(strings.FieldsFunc(s, isSpace), " ")
	}
	s = spaces.ReplaceAllString(edges.ReplaceAllString(s, ""), " ")
	return emptyLines.ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "\n\n")
}

// upperCase and lowerCase change letters as JavaScript does, such as ß to SS.
func upperCase(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lowerCase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// capitalize makes the first letter upper case and the others lower case.
func capitalize(s string) string {
	u := units(lowerCase(s))
	if len(u) == 0 {
		return ""
	}
	return upperCase(ofUnits(u[:1])) + ofUnits(u[1:])
}

// titleCase capitalizes each word.
func titleCase(s string) string {
	words := strings.Split(s, " ")
	for i := range words {
		words[i] = capitalize(words[i])
	}
	return strings.Join(words, " ")
}

var (
	punctuation = lazyregexp.New(`^(?:\(|<|&lt;)?(.*?)(?:\.|,|\)|\n|&gt;)?$`)
	webAddress  = lazyregexp.New(`^https?://`)
	mailAddress = lazyregexp.New("(?i)^[\\w.!#$%&'*+\\-/=?^`{|}~]+@[a-z\\d-]+(\\.[a-z\\d-]+)+$")
	domainName  = lazyregexp.New(`\.(?:org|net|com)(?::|/|$)`)
	wordOrSpace = lazyregexp.New(`\s+|\S+`)
)

// linked writes the addresses in a text as links. Their texts have at most a number of
// characters, or all without one.
func linked(s string, most int, relation string) string {
	return wordOrSpace.ReplaceAllStringFunc(s, func(word string) string {
		address := punctuation.FindStringSubmatch(word)
		if address == nil {
			return word
		}
		target, shown := address[1], address[1]
		if u := units(shown); most >= 0 && len(u) > most {
			shown = ofUnits(u[:most])
		}
		switch {
		case webAddress.MatchString(target):
		case strings.HasPrefix(target, "www."):
			target = "http://" + target
		case mailAddress.MatchString(target):
			return `<a href="mailto:` + target + `">` + target + "</a>"
		case domainName.MatchString(target):
			target = "http://" + target
		default:
			return word
		}
		return `<a href="` + target + `"` + relation + ">" + shown + "</a>"
	})
}
