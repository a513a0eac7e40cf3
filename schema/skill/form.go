package skill

import (
	"path"
	"slices"

	"github.com/gavel-evals/gavel/schema/document"
)

// listNames are the names of the list of evals. The first is the format's own.
var listNames = []string{"evals", "evaluations", "cases", "test_cases"}

// IsNamed reports whether a file has the name by which the evals of a skill are found:
// evals.json in a folder evals.
func IsNamed(file string) bool {
	return path.Base(file) == "evals.json" && path.Base(path.Dir(file)) == "evals"
}

// IsFound reports whether a file has a name by which evals or trigger lists are found.
func IsFound(file string) bool { return IsNamed(file) || IsTriggerList(file) }

// Fits reports whether a document has evals with prompts. Names of the list that other
// formats have too count only next to a skill_name, or in a file that [IsNamed].
func Fits(doc *document.Document) bool {
	if FitsTriggers(doc) {
		return true
	}
	key := listName(doc)
	if key == "" || slices.Contains(listNames[2:], key) && !doc.Has("skill_name") && !IsNamed(doc.File) {
		return false
	}
	for i := range doc.Items(key) {
		if doc.Has(key, i, "prompt") || doc.Has(key, i, "input") && doc.Has(key, i, "id") {
			return true
		}
	}
	return false
}

// listName returns the name that the list of evals has in a document; empty for none.
func listName(doc *document.Document) string {
	for _, name := range listNames {
		if doc.IsList(name) {
			return name
		}
	}
	return ""
}
