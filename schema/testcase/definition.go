package testcase

import (
	"encoding/json"
	"io/fs"

	"github.com/gavel-evals/gavel/schema"
)

// Definition returns the fields of a case of this format as its file has them, by
// name. It is empty where the file does not have the case any more.
func Definition(files fs.FS, c *schema.CaseInfo) map[string]json.RawMessage {
	doc, _ := schema.Open(files, c.Origin.File)
	if doc == nil {
		return map[string]json.RawMessage{}
	}
	var list []map[string]json.RawMessage
	if doc.IsList() {
		_ = json.Unmarshal(doc.JSON(), &list) // what does not fit is not the case
		return itemOf(list, c)
	}
	var one map[string]json.RawMessage
	_ = json.Unmarshal(doc.JSON(), &one)
	for _, envelope := range []string{"test_cases", "testcases"} {
		if json.Unmarshal(one[envelope], &list) == nil && len(list) > 0 {
			return itemOf(list, c)
		}
	}
	return one
}

// itemOf is the item of a list that a case is made from.
func itemOf(list []map[string]json.RawMessage, c *schema.CaseInfo) map[string]json.RawMessage {
	for _, fields := range list {
		field, want := "name", c.Labels.Name
		if c.Labels.ID != "" {
			field, want = "id", c.Labels.ID
		}
		var text string
		if json.Unmarshal(fields[field], &text) == nil && text == want {
			return fields
		}
	}
	return map[string]json.RawMessage{}
}
