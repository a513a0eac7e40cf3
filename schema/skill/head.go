package skill

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// longestHead bounds the lines before the body of a SKILL.md.
const longestHead = 16 << 10

// choosing are the fields of a SKILL.md by which agents choose a skill.
var choosing = []string{"description", "when_to_use", "disable-model-invocation", "paths"}

// HeadOf returns the skill in a folder as agents list it. It returns false for a SKILL.md
// that cannot be read, or whose head is too long.
func HeadOf(text, dir string, names ...string) (schema.SkillHead, bool) {
	name := firstPlain(append([]string{nameIn(text), path.Base(dir)}, names...))
	if len(headLines(text)) > longestHead {
		return schema.SkillHead{Name: name, Dir: dir}, false
	}
	fields := frontmatter(text)
	var b strings.Builder
	b.WriteString("---\nname: " + name + "\n")
	for _, field := range choosing {
		b.WriteString(written(field, fields[field]))
	}
	b.WriteString("---\n")
	return schema.SkillHead{Name: name, Text: b.String(), Dir: dir}, b.Len() <= longestHead
}

// firstPlain returns the first name that a folder of a skill may have.
func firstPlain(names []string) string {
	if i := slices.IndexFunc(names, plainName.MatchString); i >= 0 {
		return names[i]
	}
	return "skill"
}

// frontmatter returns the lines of each field in the head of a SKILL.md.
func frontmatter(text string) map[string]string {
	fields := map[string]string{}
	last := ""
	for line := range strings.Lines(headLines(text)) {
		key, _, isField := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case isField && key == strings.TrimSpace(key) && !strings.HasPrefix(line, "-"):
			last = key
		}
		fields[last] += strings.TrimRight(line, " \t\r\n") + "\n"
	}
	return fields
}

// headProblem returns a warning of a SKILL.md that agents do not find, since they list skills
// by the fields of its head. It is a problem of the evals, which are loaded again with it.
func (f *file) headProblem(name, text string) []schema.Problem {
	var message, hint string
	switch text = strings.ReplaceAll(text, "\r\n", "\n"); {
	case text == "":
		return nil // it says elsewhere why it cannot be read
	case !strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "---\n"):
		message, hint = "does not begin with the fields by which agents find a skill", "begin it with the lines ---, name: …, description: … and ---"
	case headLines(text) == "":
		message, hint = "has no end of the fields by which agents find a skill", "write --- below the last one"
	case len(headLines(text)) > longestHead:
		return nil // it says elsewhere that it is left out
	case strings.TrimSpace(strings.TrimPrefix(frontmatter(text)["description"], "description:")) == "":
		message, hint = "has no description, by which agents choose a skill", "add description: … below its name"
	default:
		return nil
	}
	p := f.doc.Problem("skill-frontmatter", name+" "+message, hint)
	p.Severity = schema.Warning
	return []schema.Problem{p}
}

// headLines returns the text between the two lines of dashes; empty without them.
func headLines(text string) string {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return ""
	}
	head, _, ok := strings.Cut("\n"+rest, "\n---")
	if !ok {
		return ""
	}
	return head
}

// written returns a field in one form, however it is laid out: as it is where it is not
// YAML, which agents read all the same.
func written(field, lines string) string {
	value := parsed(field, lines)
	if value == nil {
		return strings.TrimRight(lines, "\n") + strings.Repeat("\n", min(1, len(lines)))
	}
	var text string
	if json.Unmarshal(value, &text) == nil && strings.Contains(text, " ") { // one word may be a truth value
		if plain := field + ": " + text + "\n"; bytes.Equal(parsed(field, plain), value) {
			return plain
		}
	}
	return field + ": " + string(value) + "\n"
}

// parsed returns the value of a field as JSON; nil for one that cannot be read.
func parsed(field, lines string) json.RawMessage {
	if lines == "" || len(lines) > longestHead {
		return nil
	}
	doc, problems := document.Parse("SKILL.yaml", []byte(lines))
	if doc == nil || len(problems) > 0 || !doc.Has(field) {
		return nil
	}
	var text string
	if raw := doc.JSON(field); json.Unmarshal(raw, &text) != nil {
		return raw
	}
	raw, err := json.Marshal(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	return raw
}
