package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	got, err := tables("x.cue", []byte(`package schema

// Not a part of the next one.

// A thing.
#Thing: {
	// How many.
	count!: int & >=1 & <=9
	names?: [_, ...] & [...string]
	other?: "a" | #Thing | null
	// An object with fields.
	inner?: {
		// Deep.
		deep?: number & >0
	}
	[string]: strings.MinRunes(1)
}

#Plain: string
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `## Thing

A thing.

| field | value | meaning |
|:--|:--|:--|
| ` + "`count`" + ` | whole number from 1 to 9 | Required. How many. |
| ` + "`names`" + ` | non-empty list of text |  |
| ` + "`other`" + ` | ` + "`a`" + ` or [Thing](#thing) or null |  |
| ` + "`inner`" + ` | object | An object with fields. |
| ` + "`inner.deep`" + ` | number more than 0 | Deep. |
| ` + "`*`" + ` | text that is not empty |  |

## Plain

Value: text.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

// TestLinksLeadToSections holds that every section that a page links to is
// there, under a heading of any level.
func TestLinksLeadToSections(t *testing.T) {
	link := regexp.MustCompile(`\]\(([a-z./]*)#([a-z0-9_]+)\)`)
	for _, p := range pages {
		data, err := os.ReadFile(filepath.Join("../../..", p.file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			there := text
			if found[1] != "" {
				data, err := os.ReadFile(filepath.Join("../../..", filepath.Dir(p.file), found[1]))
				if err != nil {
					t.Error(err)
				}
				there = string(data)
			}
			if !regexp.MustCompile(`(?mi)^##+ ` + found[2] + `$`).MatchString(there) {
				t.Errorf("%s links to %s, which is not a section of that page", p.file, found[0])
			}
		}
	}
}
