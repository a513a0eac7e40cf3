package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/document"
)

// promptsOf reads a file with prompts: one, or several in a text, in lines of JSON and in
// a table. The problems are errors.
func promptsOf(file schema.File, label string) ([]prompt, []schema.Problem) {
	if found := document.CheckEncoding(file); len(found) > 0 {
		return nil, found
	}
	file.Data = bytes.TrimPrefix(file.Data, []byte("\ufeff"))
	whole := prompt{label: label, file: file.Path, at: schema.Position{File: file.Path, Line: 1, Column: 1}, text: string(file.Data)}
	switch path.Ext(file.Path) {
	case ".txt": // divided by lines of three hyphens
		return whole.each(strings.Split("\n"+strings.ReplaceAll(whole.text, "\r\n", "\n")+"\n", "\n---\n"), nil), nil
	case ".jsonl":
		all := whole.each(strings.Split(whole.text, "\n"), nil)
		for i, p := range all {
			var list []chat.Message
			if json.Unmarshal([]byte(p.text), &list) == nil && len(list) > 0 {
				all[i].text, all[i].chat = "", list
			}
		}
		return all, nil
	case ".csv":
		return whole.table(file)
	case ".json", ".yaml", ".yml":
		doc, problems := document.Parse(file.Path, file.Data)
		var list []chat.Message
		if doc != nil && !schema.HasErrors(problems) && json.Unmarshal(doc.JSON(), &list) == nil && len(list) > 0 {
			whole.text, whole.chat = "", list
		}
	}
	return []prompt{whole}, nil
}

// each returns a prompt for each non-empty part of a file. Their labels are the given
// ones, else the file's with the number of the part if there are several.
func (p prompt) each(parts, labels []string) []prompt {
	var all []prompt
	for i, part := range parts {
		one := p
		if one.text = strings.TrimSpace(part); one.text == "" {
			continue
		}
		if len(parts) > 1 {
			one.label = fmt.Sprintf("%s %d", p.label, i+1)
		}
		if i < len(labels) {
			one.label = cmp.Or(strings.TrimSpace(labels[i]), one.label)
		}
		all = append(all, one)
	}
	return all
}

// table reads a prompt from each line of a table, with the columns prompt and label. A
// table without commas that does not begin with the word prompt has one prompt per
// line.
func (p prompt) table(file schema.File) ([]prompt, []schema.Problem) {
	lines := strings.Split(p.text, "\n")
	first := strings.TrimSpace(lines[0])
	otherwise := strings.ContainsAny(first, ";\t") && slices.ContainsFunc(strings.FieldsFunc(first, func(r rune) bool { return r == ';' || r == '\t' }), func(name string) bool { return strings.TrimSpace(name) == "prompt" })
	if !strings.Contains(p.text, ",") && first != "prompt" && !otherwise {
		if strings.EqualFold(first, "prompt") {
			lines = lines[1:]
		}
		return p.each(lines, nil), nil
	}
	rows, problems := document.ReadTable(file)
	if rows == nil {
		return nil, problems
	}
	problems = rows.Problems()
	fail := func(at schema.Position, message, hint string) {
		problems = append(problems, schema.Problem{Position: at, Severity: schema.Error, Rule: "csv", Message: message, Hint: hint})
	}
	column, label := rows.Column("prompt"), rows.Column("label")
	if column < 0 {
		fail(rows.Head[0].At, "the table of prompts has no column named prompt", "name the column with the prompts prompt, and the one with their names label")
	}
	if len(problems) > 0 {
		return nil, problems
	}
	var texts, labels []string
	for _, row := range rows.Rows {
		if strings.TrimSpace(row.Cells[column].Text) == "" {
			fail(row.Cells[column].At, "the row has no prompt", "write the prompt, or remove the row")
		}
		texts = append(texts, row.Cells[column].Text)
		if label >= 0 {
			labels = append(labels, row.Cells[label].Text)
		}
	}
	return p.each(texts, labels), problems
}
