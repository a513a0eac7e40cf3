package textfmt

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

// TestAbuseMarkupCommandsAndMentions has text that would be markup, a command or a mention.
func TestAbuseMarkupCommandsAndMentions(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "Promises 60 days; the policy says 30.", "Promises 60 days; the policy says 30."},
		{"key", "tool_calling/level_2/send", "tool_calling/level_2/send"},
		{"html", `<b onclick="x">&amp;`, `&lt;b onclick="x"&gt;&amp;amp;`},
		{"closing tag", "</details>", "&lt;/details&gt;"},
		{"comment", "<!-- x -->", "&lt;!-- x --&gt;"},
		{"pipe and line break", "a | b\n| c", "a &#124; b &#124; c"},
		{"fence", "```", "&#96;&#96;&#96;"},
		{"emphasis", "*a* __b__ ~~c~~", "&#42;a&#42; &#95;&#95;b&#95;&#95; &#126;&#126;c&#126;&#126;"},
		{"image", "![x](y)", "&#33;&#91;x&#93;(y)"},
		{"mention", "hi @octocat", "hi @&#8203;octocat"},
		{"address", "a@b.example", "a@&#8203;b.example"},
		{"issue", "fixes #1", "fixes &#35;&#8203;1"},
		{"old issue", "see GH-12 and gh-1", "see GH&#45;&#8203;12 and gh&#45;&#8203;1"},
		{"hyphen", "sub-12", "sub-12"},
		{"case id", "returns/refunds#double", "returns/refunds#double"},
		{"bare link", "https://a.example", "https:&#8203;//a.example"},
		{"www", "WWW.a.example", "W&#8203;WW.a.example"},
		{"math", "$x$", "&#36;x&#36;"},
		{"command", "/retest", "&#47;retest"},
		{"list", "- a", "&#45;&#8203; a"},
		{"numbered list", "12. a", "12&#46; a"},
		{"heading", "# a", "&#35;&#8203; a"},
		{"setext heading", "===", "&#61;=="},
		{"backslash", `\*`, "&#92;&#42;"},
		{"colour", "\x1b[31mred", "␛&#91;31mred"},
		{"long word", strings.Repeat("x", 45), strings.Repeat("x", 40) + "<wbr>xxxxx"},
		{"long path", "test_definitions/support/domain.json", "test_definitions/support/<wbr>domain.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Markdown(tc.in, 200); got != tc.want {
				t.Errorf("Text(%q)\n got %s\nwant %s", tc.in, got, tc.want)
			}
		})
	}
}

func TestTextLimit(t *testing.T) {
	if got, want := Markdown("abcdefghij", 5), "abcd…"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLines(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"indent", "if x:\n\ty\n    z", "if x:<br>&nbsp;&nbsp;y<br>&nbsp;&nbsp;&nbsp;&nbsp;z"},
		{"command", "hello\n/approve", "hello<br>&#47;approve"},
		{"ends", "\n\n  a\n\n", "a"},
		{"too many", strings.Repeat("x\n", 30), strings.Repeat("x<br>", 24) + "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := markdownLines(tc.in, 400); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"https://github.com/octo/demo/", "https://github.com/octo/demo"},
		{"http://localhost:3000/o/d", "http://localhost:3000/o/d"},
		{"https://u:secret@github.com/octo/x", "https://github.com/octo/x"},
		{"javascript:alert(1)", ""},
		{"//github.com/octo", ""},
		{"https://a.example/x)](y", "https://a.example/x%29%5D%28y"},
		{"https://a.example/<b>", "https://a.example/%3Cb%3E"},
		{"", ""},
	} {
		if got := WebAddress(tt.in); got != tt.want {
			t.Errorf("Address(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

var (
	live     = regexp.MustCompile("[<>*`\\[\\]|~\\\\$\n]|@[^\x00]|@$|://|(?i:www\\.|gh-[0-9])|#[0-9]")
	starts   = regexp.MustCompile(`^(?:[-+=/!#]|[0-9]+[.)])`)
	numbered = regexp.MustCompile(`&(?:amp|lt|gt|#[0-9]+);`)
)

// FuzzText checks that whatever comes in is shown as it is and does nothing.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"</details>", "a|b", "@x fixes #1 GH-2", "www.x.y https://x", "1. x", "- x", "/x", "_a_ a_b", "&amp;&#60;",
		"\x1b[0m", "\u202Ex", "\xff", strings.Repeat("ab/", 30), "wWw.", "GH-GH-1", "##1", "@@", "1.2.3)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const limit = 300
		got := Markdown(s, limit)
		bare := strings.ReplaceAll(got, "<wbr>", "")
		checked := numbered.ReplaceAllString(bare, "\x00")
		if m := live.FindString(checked); m != "" {
			t.Errorf("live %q in %q", m, got)
		}
		if m := starts.FindString(checked); m != "" {
			t.Errorf("starts with %q: %q", m, got)
		}
		if strings.Contains(checked, "&") || !utf8.ValidString(got) {
			t.Errorf("broken text %q", got)
		}
		shown := strings.ReplaceAll(html.UnescapeString(bare), "\u200B", "")
		if want := Clip(Line(s), limit); shown != want {
			t.Errorf("shows %q, want %q", shown, want)
		}
	})
}

// TestThinkingIsFolded shows what a model thought in a fold next to its answer.
func TestThinkingIsFolded(t *testing.T) {
	got := MarkdownTurn(schema.Message{Role: schema.RoleAssistant, Content: "<think>15 <b>7</think>105"})
	want := "<details><summary>thinking</summary>15 &lt;b&gt;7</details><br>105"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
