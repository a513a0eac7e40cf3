package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshootingQuotesMessages holds that each message of the page is one that
// the product prints: its parts between … are in the source.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	var source strings.Builder
	for _, room := range []string{"cmd", "controller", "reporters", "schema"} {
		err := filepath.WalkDir(filepath.Join("../../..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			source.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := strings.NewReplacer(`\"`, `"`, "` + \"`\" + `", "`", "\"`\"", "`").Replace(source.String())
	data, err := os.ReadFile("../../../examples/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`|]+)` \\|").FindAllStringSubmatch(string(data), -1)
	if len(rows) < 12 {
		t.Errorf("the page has %d messages, want 12 or more", len(rows))
	}
	for _, row := range rows {
		for part := range strings.SplitSeq(row[1], "…") {
			if part = strings.TrimSpace(part); len(part) > 3 && !strings.Contains(all, part) {
				t.Errorf("the page has the message %q, and the source has no %q", row[1], part)
			}
		}
	}
}
