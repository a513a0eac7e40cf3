package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/document"
)

// TestLargeList reads a list of JSON that is larger than a definition item by item, with
// the places of a small one, and names mistakes at theirs.
func TestLargeList(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf("{\"n\": %d,\n  \"q\": \"%s\"}", i, long))
	}
	for _, between := range []string{",\n", ", "} {
		text := "[" + strings.Join(items, between) + "]\n"
		doc, problems := document.ParseTests("t.json", []byte(text))
		if len(problems) > 0 || doc.Items() != 300 || string(doc.JSON(299, "n")) != "299" || doc.Text(0, "q") != long {
			t.Fatalf("problems %v, want 300 items", problems)
		}
		small, _ := document.ParseTests("t.json", []byte("["+strings.Join(items[:20], between)+"]"))
		for i := range 20 {
			for _, key := range []string{"n", "q"} {
				if got, want := doc.At(i, key), small.At(i, key); got != want {
					t.Errorf("item %d has %s at %s, want %s", i, key, got, want)
				}
			}
		}
	}
	whole := "[" + strings.Join(items, ",\n") + "]"
	for _, tt := range []struct{ text, want string }{
		{strings.Replace(whole, `{"n": 7,`, `{"n": ,`, 1), "t.json:15:7: error: not valid JSON: invalid character ',' looking for beginning of value; correct it at this place, or write each test into a line of its own and name the file .jsonl"},
		{strings.TrimSuffix(whole, "]"), "t.json:600:1011: error: not valid JSON: EOF; correct it at this place, or write each test into a line of its own and name the file .jsonl"},
		{whole + " x", "t.json:600:1012: error: not valid JSON: text behind the end of the list; correct it at this place, or write each test into a line of its own and name the file .jsonl"},
		{strings.Replace(whole, `{"n": 7,`, `{"n": 7, "n": 8,`, 1), "t.json:15:10: error"},
		{strings.Replace(whole, long, strings.Repeat("x", 300_000), 1), "t.json:1:2: error: the item has 300019 bytes; a definition may have 262144; split it"},
		{`{"a": "` + strings.Repeat("x", 300_000) + `"}`, "t.json:1:1: error: the file has 300009 bytes; a definition may have 262144; split it"},
		{"[" + strings.Repeat("1,", 4_200_000) + "1]", "t.json:1:1: error: the file has 8400003 bytes; a definition may have 262144; split it"},
	} {
		_, problems := document.ParseTests("t.json", []byte(tt.text))
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
			t.Errorf("%.30q: problems %v, want %q", tt.text, problems, tt.want)
		}
	}
}
