package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathsInDocuments(t *testing.T) {
	exists := func(file string) bool {
		return file == "controller/plan" || file == "LICENSE" || file == "schema/*.cue" || file == ".github/SECURITY.md"
	}
	for _, tt := range []struct {
		name, text string
		want       []finding
	}{
		{"a link next to the page", "[s](SECURITY.md#reporting)", nil},
		{"a link above the page", "see [l](../LICENSE)", nil},
		{"a dead link", "\n[s](CONDUCT.md)", []finding{{".github/P.md", 2, "links to .github/CONDUCT.md, which does not exist"}}},
		{"a link elsewhere", "[x](https://example.com/a)", nil},
		{"a path", "`controller/plan` and `schema/*.cue`", nil},
		{"a dead path", "`controller/plam`", []finding{{".github/P.md", 1, "names controller/plam, which does not exist"}}},
		{"code that is not a path", "`support/level_1/refund` and `go test ./controller/none`", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, pathsIn(".github/P.md", tt.text, exists), cmp.AllowUnexported(finding{})); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTreeNamesEveryPackage(t *testing.T) {
	page := "# Page\n```\nschema        what a case is\n  load chat   from files\ncontroller    the pipeline\n  plan        digests\ncmd/internal  tools\n```\n"
	dirs := []string{"schema", "schema/load", "schema/load/deeper", "controller", "controller/plan", "cmd/internal/check"}
	if found := missingPackages(page, dirs); len(found) > 0 {
		t.Errorf("a page that names every package has the findings %v, want none", found)
	}
	without := strings.ReplaceAll(page, "  plan        digests\n", "")
	if found := missingPackages(without, dirs); len(found) != 1 || !strings.Contains(found[0].message, "controller/plan ") {
		t.Errorf("a page without controller/plan has the findings %v, want one that names it", found)
	}
}
