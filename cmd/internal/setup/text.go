package setup

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// observed describes the findings in lines for people; empty for none.
func observed(found *Survey) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if found.Config != "" {
		add("%s is there and stays as it is", found.Config)
	}
	byDialect := map[string]int{}
	var order []string
	for _, d := range found.Definitions {
		if byDialect[d.Dialect] == 0 {
			order = append(order, d.Dialect)
		}
		byDialect[d.Dialect]++
	}
	for _, dialect := range order {
		add("%s of the %s format, read as %s", counted(byDialect[dialect], "definition"), dialect, map[bool]string{true: "it is", false: "they are"}[byDialect[dialect] == 1])
	}
	for _, f := range found.Foreign {
		add("%s", f.Summary())
	}
	for _, p := range found.Unreadable {
		add("%s: this definition cannot be read: %s; correct it, and gavel validate reads its tests", p.Position, p.Message)
	}
	for _, p := range found.Packages {
		switch {
		case p.Provider != "" && p.Name != "":
			add("%s: %s uses the SDK of %s", p.File, p.Name, p.Provider)
		case p.Provider != "":
			add("%s lists the SDK of %s", p.File, p.Provider)
		}
	}
	for _, api := range found.APIs {
		if api.URL != "" {
			add("%s describes POST %s", api.Source, api.URL)
		} else {
			add("%s describes OpenAI's protocol at %s", api.Source, api.BaseURL)
		}
	}
	for _, s := range found.Servers {
		switch {
		case len(s.Models) > 0:
			add("127.0.0.1:%d offers %s, such as %s", s.Port, counted(len(s.Models), "model"), s.Models[0])
		case len(s.APIs) > 0:
			add("127.0.0.1:%d describes POST %s", s.Port, cmp.Or(s.APIs[0].URL, s.APIs[0].BaseURL+"/chat/completions"))
		default:
			add("127.0.0.1:%d answers HTTP, and does not say what it is", s.Port)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Found:\n")
	for _, line := range lines {
		b.WriteString(folded("  ", line))
	}
	return b.String() + "\n"
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// column is the width at which lines for people are folded.
const column = 80

// folded writes a line. Text that does not fit follows below, indented further.
func folded(indent, line string) string {
	parts := textfmt.Wrap(line, column-len(indent)-4)
	return indent + strings.Join(parts, "\n    "+indent) + "\n"
}

// Text returns the result for people.
func (r *Result) Text() string {
	var b strings.Builder
	width := 0
	for _, f := range r.Written.Written {
		if !inSchemas(f.Path) {
			width = max(width, len(f.Path))
		}
	}
	schemas := 0
	if len(r.Written.Written) > 0 {
		b.WriteString("Wrote:\n")
	}
	for _, f := range r.Written.Written {
		if inSchemas(f.Path) {
			schemas++
			continue
		}
		about := textfmt.Wrap(f.About, max(column-width-5, 20))
		fmt.Fprintf(&b, "  %-*s  %s\n", width, f.Path, strings.Join(about, "\n"+strings.Repeat(" ", width+4)))
	}
	if schemas > 0 {
		fmt.Fprintf(&b, "  %-*s  %s that the settings and modelines name\n", width, ".vscode/gavel/", counted(schemas, "schema"))
	}
	for _, f := range r.Kept {
		if !inSchemas(f.Path) {
			fmt.Fprintf(&b, "Kept %s, which existed\n", f.Path)
		}
	}
	for _, note := range r.Notes {
		b.WriteString("\n" + folded("", "Note: "+note))
	}
	width = 0
	for _, step := range r.Next {
		width = max(width, len([]rune(step.Command)))
	}
	b.WriteString("\nNext:\n")
	for _, step := range r.Next {
		fmt.Fprintf(&b, "  %s%s  %s\n", step.Command, strings.Repeat(" ", width-len([]rune(step.Command))), step.About)
	}
	return b.String()
}

func inSchemas(file string) bool { return strings.HasPrefix(file, ".vscode/gavel/") }
