package template

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

var escapes = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", "`", "&#96;")

// escapeHTML escapes tags in a text.
func escapeHTML(s string) string { return escapes.Replace(s) }

// htmlBreaks writes ends of lines as tags.
func htmlBreaks(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "<br />\n")
}

// encodeComponent writes a text as a part of an address.
func encodeComponent(s string) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	for _, c := range "!'()*" {
		s = strings.ReplaceAll(s, "%"+strings.ToUpper(strconv.FormatInt(int64(c), 16)), string(c))
	}
	return s
}

var (
	tag        = lazyregexp.New(`(?i)</?([a-z][a-z0-9]*)\b[^>]*>|<!--[\s\S]*?-->`)
	whiteSpace = lazyregexp.New(`\s+`)
)

// stripTags leaves out tags and comments.
func stripTags(s string) string { return strings.TrimSpace(tag.ReplaceAllString(s, "")) }

// oneSpace writes one space in the place of white space.
func oneSpace(s string) string { return whiteSpace.ReplaceAllString(s, " ") }

// capitalize makes the first letter upper case and the others lower case.
func capitalize(s string) string {
	s = strings.ToLower(s)
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:size]) + s[size:]
}

// titleCase capitalizes each word.
func titleCase(s string) string {
	words := strings.Split(s, " ")
	for i := range words {
		words[i] = capitalize(words[i])
	}
	return strings.Join(words, " ")
}

// truncateText cuts a text beyond a number of characters, at a space if there is one.
func truncateText(s string, most int, end string) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	for at := most; at > 0; at-- {
		if runes[at] == ' ' {
			return string(runes[:at]) + end
		}
	}
	return string(runes[:most]) + end
}
