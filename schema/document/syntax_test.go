package document

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadTellsAllAtOnce holds that a mistake in several lines is
// reported once for each, and that correct lines are not reported.
func TestReadTellsAllAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name       string
		file, text string
		want       []string
	}{
		{"tabs", "a.yaml", "a:\n\tb: 1\nc:\n  \td: 2\n", []string{"2:1 yaml-tab", "4:3 yaml-tab"}},
		{"tabs in a text", "a.yaml", "code: |\n  func f() {\n  \treturn\n  }\nlist:\n  - a\t# said so\n", nil},
		{"tabs in JSON", "a.json", "{\n\t\"a\": 1\n}\n", nil},
		{"bytes", "a.yaml", "a: \xff\nb: ok\nc: caf\xe9\n", []string{"1:4 invalid-utf8", "3:7 invalid-utf8"}},
		{"NUL", "a.json", "{\n\"a\": \"\x00\",\n\"b\": \"\x00\"}", []string{"2:7 nul", "3:7 nul"}},
		{"nothing in white", "a.yaml", " \n\n", []string{"1:1 empty-file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expr, mistakes := readTree(tt.file, []byte(tt.text), nil)
			var got []string
			for _, m := range mistakes {
				got = append(got, fmt.Sprintf("%d:%d %s", m.Line, m.Column, m.Rule))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (expr == nil) != (len(got) > 0) {
				t.Errorf("%v (-want +got):\n%s", expr, diff)
			}
		})
	}
}
