package markup

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// maxHTML bounds the texts that may be HTML.
const maxHTML = 10 << 20

// elements are the elements of HTML that promptfoo knows, besides html, head, body, and
// those with a hyphen.
var elements = strings.Fields(`title base link meta style article section nav aside h1 h2 h3 h4 h5 h6 header footer address
	p hr pre blockquote ol ul li dl dt dd figure figcaption main div a em strong small s cite q dfn abbr ruby rt rp data time code
	var samp kbd sub sup i b u mark bdi bdo span br wbr img iframe embed object param picture source video audio track map area
	svg math script noscript canvas ins del table caption colgroup col tbody thead tfoot tr td th form label input button select
	datalist optgroup option textarea output progress meter fieldset legend details summary dialog menu slot template`)

// IsHTML returns why a text is not HTML and nothing else; empty if it is. The error means
// that it is nested too deeply to be read.
func IsHTML(text string) (why string, err error) {
	text = trim(text)
	switch {
	case text == "":
		return "it is empty", nil
	case len(text) > maxHTML:
		return "it has more than 10 MiB", nil
	case declaresXML.MatchString(text):
		return "it is XML", nil
	}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", fmt.Errorf("read the answer as HTML: %w", err)
	}
	wrote := written(text)
	body := first(root, func(n *html.Node) bool { return n.Data == "body" })
	if body != nil && !wrote["body"] && hasText(body) {
		return "it has text outside of its elements", nil
	}
	if first(root, func(n *html.Node) bool { return wrote[n.Data] || isElement(n.Data) }) == nil {
		return "it has no element of HTML", nil
	}
	return "", nil
}

// declaresXML matches the declaration of XML.
var declaresXML = lazyregexp.New(`^<\?[xX][mM][lL]`)

// isElement reports whether an element is not one that a parser adds by itself.
func isElement(name string) bool {
	return slices.Contains(elements, name) || strings.Contains(name, "-")
}

// first returns the first element of a tree for which f holds.
func first(n *html.Node, f func(*html.Node) bool) *html.Node {
	for n := range n.Descendants() {
		if n.Type == html.ElementNode && f(n) {
			return n
		}
	}
	return nil
}

// hasText reports whether a node has text of its own.
func hasText(n *html.Node) bool {
	for child := range n.ChildNodes() {
		if child.Type == html.TextNode && trim(child.Data) != "" {
			return true
		}
	}
	return false
}

// written returns which of html, head and body a text has a tag for, from which the
// parser makes the element. It adds them where they are missing.
func written(text string) map[string]bool {
	found := map[string]bool{}
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		kind := z.Next()
		token := z.Token()
		switch {
		case kind == html.ErrorToken:
			return found
		case kind == html.CommentToken, kind == html.DoctypeToken, kind == html.TextToken && strings.Trim(token.Data, " \t\r\n\f") == "":
		case kind == html.EndTagToken && !slices.Contains([]string{"html", "head", "body", "br"}, token.Data):
		case isStart(kind) && token.Data == "html":
			found["html"] = true
		default:
			found["head"] = isStart(kind) && token.Data == "head"
			found["body"] = writesBody(text)
			return found
		}
	}
}

func isStart(kind html.TokenType) bool {
	return kind == html.StartTagToken || kind == html.SelfClosingTagToken
}

// writesBody reports whether the parser makes the body from a tag: whether it is still in
// the head where one of the tags is.
func writesBody(text string) bool {
	const tries = 10
	for _, at := range bodyTag.FindAllStringIndex(text, tries) {
		root, err := html.Parse(strings.NewReader(text[:at[0]] + `<base data-gavel-probe="">`))
		if err != nil {
			return false
		}
		probe := first(root, func(n *html.Node) bool {
			return n.Data == "base" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "data-gavel-probe" })
		})
		if probe != nil && probe.Parent.Data == "head" {
			return true
		}
	}
	return false
}

var bodyTag = lazyregexp.New(`<[bB][oO][dD][yY][\t\n\f\r >/]`)

// signs are what promptfoo counts in a text that may have HTML, in lower case. Two of
// them are enough.
var signs = []struct {
	pattern *lazyregexp.Regexp
	counts  int
}{
	{lazyregexp.New(`<[a-z][a-z0-9-]*(?:[` + spaces + `][^>]*)?/>`), 1},
	{lazyregexp.New(`<!doctype[` + spaces + `]+html`), 2},
	{lazyregexp.New(`<!--[^-]*(?:-[^-]+)*-->`), 1},
	{lazyregexp.New(`[` + spaces + `][a-z-]+=[` + spaces + `]*["'][^"']*["']`), 1},
	{lazyregexp.New(`<(?:html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style|link|meta|br|hr)\b`), 2},
}

var (
	entity     = lazyregexp.New(`&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);`)
	openingTag = lazyregexp.New(`<[a-z][a-z0-9-]*(?:[` + spaces + `][^>]*)?>`)
	closingTag = lazyregexp.New(`</[a-z][a-z0-9-]*[` + spaces + `]*>`)
)

// ContainsHTML reports whether a text has HTML in it, by the signs that it has: a pair of
// tags, or two others.
func ContainsHTML(text string) bool {
	if len(text) > maxHTML {
		return false
	}
	count := 0
	if entity.MatchString(text) {
		count++
	}
	text = lowerASCII(text)
	for _, tag := range []*lazyregexp.Regexp{openingTag, closingTag} {
		if tag.MatchString(text) {
			count++
		}
	}
	for _, sign := range signs {
		if count < 2 && sign.pattern.MatchString(text) {
			count += sign.counts
		}
	}
	return count >= 2
}

// lowerASCII returns a text with the letters of ASCII in lower case.
func lowerASCII(s string) string {
	return capitals.ReplaceAllStringFunc(s, strings.ToLower)
}

var capitals = lazyregexp.New(`[A-Z]+`)
