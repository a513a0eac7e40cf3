package report

import (
	"fmt"
	"slices"
	"testing"
)

// TestReadPromptfoo reads an output that promptfoo wrote: a provider that is a name or an
// object, a test that is repeated, and one that nobody judged. Cases are known by what
// they say, whatever their order.
func TestReadPromptfoo(t *testing.T) {
	items := []string{
		`{"testCase":{"description":"Greets"},"vars":{"q":"a"},"provider":"openai:x","prompt":{"label":"p"},"success":true,"score":1,"failureReason":0}`,
		`{"testCase":{"description":"Greets"},"vars":{"q":"b"},"provider":{"id":"openai:x","label":"mini"},"prompt":{"label":"p"},"success":false,"score":0.5,"failureReason":1}`,
		`{"testCase":{},"vars":{},"provider":{"id":"openai:x"},"prompt":{"label":"p"},"success":false,"score":0,"failureReason":2,"error":"no key"}`,
	}
	read := func(items ...string) []string {
		text := `{"evalId":"eval-1","results":{"version":3,"results":[`
		for i, item := range items {
			if i > 0 {
				text += ","
			}
			text += item
		}
		r, err := ReadResults([]byte(text + "]}}"))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, c := range r.Cases {
			row := c.Key + " @ " + c.Target
			if c.Verdict != nil {
				row += fmt.Sprintf(" %s %v", *c.Verdict, *c.Score)
			}
			if c.Error != nil {
				row += " error: " + *c.Error
			}
			rows = append(rows, row)
		}
		return rows
	}
	got := read(append(items, items[0])...)
	want := []string{
		"Greets-29a9829b/148de9c5 @ openai:x pass 1", "Greets-d235bf2e/148de9c5 @ mini fail 0.5",
		"test-44136fa3/148de9c5 @ openai:x error: no key", "Greets-29a9829b/148de9c5-2 @ openai:x pass 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if turned := read(items[2], items[1], items[0]); !slices.Equal(turned, []string{got[2], got[1], got[0]}) {
		t.Errorf("in another order the rows are %q", turned)
	}
}
