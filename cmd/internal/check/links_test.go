package main

import (
	"strings"
	"testing"
)

// TestLinks has links that lead somewhere and others that do not.
func TestLinks(t *testing.T) {
	const other = "package other\n\ntype Kept[T any] struct{ Size int }\n\nfunc (k *Kept[T]) Close() {}\n"
	for _, tt := range []struct{ comment, want string }{
		{"see [Find]", ""},
		{"see [Find] and [Gone]", "links to [Gone]"},
		{"see [Gone].", "a/a.go:5: links to [Gone], which does not exist"},
		{"see [Kind.Size] and [Kind.Close], ([*Kind])", ""},
		{"see [Kind.Gone]", "links to [Kind.Gone]"},
		{"see [other.Kept.Close] and [other.Kept.Size]", ""},
		{"see [other.Gone]", "links to [other.Gone]"},
		{"see [other.Kept.Gone]", "links to [other.Kept.Gone]"},
		{"see [http.Gone] and [io.EOF]", ""},
		{"a[Gone], []Gone{}, [1] and [gone] are not links", ""},
	} {
		code := "package a\n\nimport \"" + module + "/other\"\n\n// Find is there, " + tt.comment + "\nfunc Find(other.Kept[int]) {}\n\ntype Kind interface{ Close(); Size() }\n"
		got := messages(checkLinks([]source{parse(t, "a/a.go", code), parse(t, "other/other.go", other)}))
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: the findings are %q, want %q", tt.comment, got, tt.want)
		}
	}
}
