package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/document"
)

// TestMoreFlawsThanAreNamed: a file with more values that cannot be used than are named is not
// read at all, since one that is not named would be taken for right; warnings are all named.
func TestMoreFlawsThanAreNamed(t *testing.T) {
	var twice, octal strings.Builder
	for i := range 101 {
		fmt.Fprintf(&twice, "- {id: t%d, input: x, input: y}\n", i)
		fmt.Fprintf(&octal, "- {id: t%d, input: 0o12}\n", i)
	}
	doc, problems := document.Parse("a.yaml", []byte(twice.String()))
	if said := fmt.Sprint(problems); doc != nil || !strings.Contains(said, "the file has more than 100 values that cannot be used") {
		t.Errorf("101 duplicate keys: a document %v and the problems %.300s; want none, and how many", doc != nil, said)
	}
	doc, problems = document.Parse("a.yaml", []byte(strings.Replace(twice.String(), "- {id: t0, input: x, input: y}\n", "", 1)))
	if doc == nil || len(problems) != 100 {
		t.Errorf("100 duplicate keys: a document %v and %d problems; want one, and 100", doc != nil, len(problems))
	}
	if doc, _ = document.Parse("a.yaml", []byte(octal.String())); doc == nil {
		t.Error("101 warnings leave no document")
	}
}
