package main

import (
	"strings"
	"testing"
)

func TestFailures(t *testing.T) {
	for _, test := range []struct{ imports, code, want string }{
		{"testing", `t.Errorf("%+v", got)`, "a_test.go:3: the failure prints values only"},
		{"testing", `t.Fatalf("%s: %v\n%q", name, err, got)`, "values only"},
		{"testing", `w.t.Fatalf("%[1]d %-5s", got)`, "values only"},
		{"testing", `t.Errorf("%d %%", got)`, "values only"},
		{"testing", `t.Errorf("got %d, want 1", got)`, ""},
		{"testing", `t.Errorf("größer: %d", got)`, ""},
		{"testing", `t.Errorf(format, got)`, ""},
		{"testing", `t.Error(err)`, ""},
		{"testing", `fmt.Errorf("%w: %s", err, name)`, ""},
		{"fmt", `t.Errorf("%+v", got)`, ""},
		{"testing", `for name, want := range map[string]int{"a": 1} {}`, "a_test.go:3: the table is a map"},
		{"testing", `for name, want := range []string{"a"} {}`, ""},
		{"testing", `for name, want := range table {}`, ""},
	} {
		code := "package a\nimport \"" + test.imports + "\"\nfunc f() { " + test.code + " }\n"
		got := messages(checkFailures([]source{parse(t, "a_test.go", code)}))
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: findings %q, want %q", test.code, got, test.want)
		}
	}
}
