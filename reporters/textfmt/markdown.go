package textfmt

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// gap is a zero-width space. GitHub looks for mentions, references and bare
// addresses in the rendered text, so an entity alone does not disarm them.
const gap = "&#8203;"

// Markdown renders at most limit characters of foreign text on one line, so that it
// stays text everywhere: it opens no Markdown or HTML, ends no table cell, mentions
// nobody, refers to no issue and, at the start of a line, is not a command of a bot.
// Long words may wrap.
func Markdown(s string, limit int) string {
	var b strings.Builder
	e := escaper{b: &b, s: Clip(Line(s), limit)}
	e.run()
	return b.String()
}

// markdownLines renders foreign text of several lines inside one paragraph, with its
// indentation, at most limit characters and 24 lines of it.
func markdownLines(s string, limit int) string {
	const most = 24
	all := strings.Split(strings.Trim(Clip(Clean(s), limit), "\n \t"), "\n")
	if len(all) > most {
		all = append(all[:most], "…")
	}
	out := make([]string, len(all))
	for i, line := range all {
		line = strings.ReplaceAll(line, "\t", "  ")
		body := strings.TrimLeft(line, " ")
		indent := min(len(line)-len(body), 16)
		out[i] = strings.Repeat("&nbsp;", indent) + Markdown(body, limit)
	}
	return strings.Join(out, "<br>")
}

// An escaper writes one line of cleaned text.
type escaper struct {
	b *strings.Builder
	s string
	// word counts the characters since the last place where a line may break.
	word int
}

// Words longer than maxWord may wrap anywhere; words longer than softWord may wrap
// after punctuation.
const (
	softWord = 24
	maxWord  = 40
)

func (e *escaper) run() {
	for i, r := range e.s {
		e.b.WriteString(e.escape(i, r))
		e.word++
		switch {
		case r == ' ':
			e.word = 0
		case e.word >= maxWord, e.word >= softWord && strings.ContainsRune("/_.-#:", r):
			e.b.WriteString("<wbr>")
			e.word = 0
		}
	}
}

func (e *escaper) escape(i int, r rune) string {
	switch r {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '*', '`', '[', ']', '|', '~', '\\', '$':
		return entity(r)
	case '_':
		// Between letters it opens no emphasis, and most keys have it there.
		if i > 0 && alnum(e.s[i-1]) && alnum(e.byteAt(i+1)) {
			return "_"
		}
		return entity(r)
	case '@':
		return "@" + gap
	case '#':
		if i == 0 || digit(e.byteAt(i+1)) {
			return entity(r) + gap
		}
	case ':':
		if strings.HasPrefix(e.s[i:], "://") {
			return ":" + gap
		}
	case 'w', 'W':
		if len(e.s) >= i+4 && strings.EqualFold(e.s[i:i+4], "www.") {
			return string(r) + gap
		}
	}
	return e.escapeStart(i, r)
}

// escapeStart escapes characters that have a meaning only at the start of a line, and
// GH-1, which is a reference.
func (e *escaper) escapeStart(i int, r rune) string {
	switch r {
	case '/', '=', '+', '!':
		if i == 0 {
			return entity(r)
		}
	case '-':
		if i == 0 || digit(e.byteAt(i+1)) && i >= 2 && strings.EqualFold(e.s[i-2:i], "gh") {
			return entity(r) + gap
		}
	case '.', ')':
		if i > 0 && strings.Trim(e.s[:i], "0123456789") == "" {
			return entity(r)
		}
	}
	return string(r)
}

// byteAt returns the byte at i, or 0 past the end.
func (e *escaper) byteAt(i int) byte {
	if i < len(e.s) {
		return e.s[i]
	}
	return 0
}

func entity(r rune) string { return fmt.Sprintf("&#%d;", r) }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func alnum(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// MarkdownLink renders a link, or only its text without an address.
func MarkdownLink(escaped, address string) string {
	if address == "" {
		return escaped
	}
	return "[" + escaped + "](" + address + ")"
}

// WebAddress cleans a trusted address for use in parentheses: empty unless it is http
// or https.
func WebAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return ""
	}
	u.User = nil
	return strings.TrimRight(PercentEncode(u.String(), "-._~/:?#=%&+,"), "/")
}

// PercentEncode escapes every byte that is not a letter, digit or among keep.
func PercentEncode(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < utf8.RuneSelf && (alnum(c) || strings.IndexByte(keep, c) >= 0) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// MarkerName cleans a name, so that it cannot end the HTML comment around it; without a
// usable character it is default.
func MarkerName(s string) string {
	clean := func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}
	s = strings.Trim(strings.Map(clean, Clip(s, 64)), "-")
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	if s == "" {
		return "default"
	}
	return s
}

// Icon returns the emoji next to the label of a row.
func Icon(label string) string {
	switch label {
	case "accepted", "quarantined":
		return "☑️"
	case "improved", "passed":
		return "✅"
	case "re-decided":
		return "⚖️"
	case "unclear":
		return "❔"
	case "flaky":
		return "🎲"
	case "new":
		return "🆕"
	case "removed":
		return "🗑️"
	case "moved":
		return "↪️"
	case "error":
		return "⚠️"
	case "not run":
		return "⏸️"
	case "ignored":
		return "🙈"
	case "skipped", "disabled", "drafted", "archived":
		return "⏭️"
	case "lower":
		return "↘️"
	}
	return "↗️"
}

// MarkdownSpeaker names the speaker of a turn.
func MarkdownSpeaker(role string) string {
	switch role {
	case schema.RoleAssistant:
		return "agent"
	case schema.RoleUser, schema.RoleTool, schema.RoleSystem:
		return role
	}
	return Markdown(role, 20)
}

// MarkdownTurn renders the text of a turn and its tool calls.
func MarkdownTurn(m schema.Message) string {
	var parts []string
	thinking, said := verdict.Thought(m)
	if thinking != "" {
		parts = append(parts, "<details><summary>thinking</summary>"+markdownLines(thinking, 800)+"</details>")
	}
	if strings.TrimSpace(said) != "" {
		parts = append(parts, markdownLines(said, 800))
	}
	for _, call := range m.ToolCalls {
		parts = append(parts, "called <code>"+Markdown(call.Function.Name+" "+call.Function.Arguments, 300)+"</code>")
	}
	if len(parts) == 0 {
		return "<i>empty</i>"
	}
	return strings.Join(parts, "<br>")
}
