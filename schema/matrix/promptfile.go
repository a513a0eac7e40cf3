package matrix

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
)

// promptsOf reads a file with prompts: one, or several in a text, in lines of JSON and in
// a table.
func promptsOf(file schema.File, label string) []prompt {
	whole := prompt{label: label, file: file.Path, at: schema.Position{File: file.Path, Line: 1, Column: 1}, text: string(file.Data)}
	switch path.Ext(file.Path) {
	case ".txt": // divided by lines of three hyphens
		return whole.each(strings.Split("\n"+strings.ReplaceAll(whole.text, "\r\n", "\n")+"\n", "\n---\n"), nil)
	case ".jsonl":
		all := whole.each(strings.Split(whole.text, "\n"), nil)
		for i, p := range all {
			var list []chat.Message
			if json.Unmarshal([]byte(p.text), &list) == nil && len(list) > 0 {
				all[i].text, all[i].chat = "", list
			}
		}
		return all
	case ".csv":
		return whole.table(file.Data)
	case ".json", ".yaml", ".yml":
		doc, problems := schema.Parse(file.Path, file.Data)
		var list []chat.Message
		if doc != nil && !schema.HasErrors(problems) && json.Unmarshal(doc.JSON(), &list) == nil && len(list) > 0 {
			whole.text, whole.chat = "", list
		}
	}
	return []prompt{whole}
}

// each makes a prompt of each part of a file that is not empty. Their labels are those
// given, else that of the file with the number of the part where there are several.
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

// table reads a prompt from each line of a table, with the columns prompt and label. The
// cases of a table that has no such column are not run.
func (p prompt) table(data []byte) []prompt {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	column := func(name string) int { return slices.Index(records[0], name) }
	if err != nil || len(records) < 2 || column("prompt") < 0 {
		p.need = "a table of prompts with a column named prompt"
		return []prompt{p}
	}
	cells := func(n int) []string {
		var out []string
		for _, record := range records[1:] {
			cell := ""
			if n >= 0 && n < len(record) {
				cell = record[n]
			}
			out = append(out, cell)
		}
		return out
	}
	return p.each(cells(column("prompt")), cells(column("label")))
}
