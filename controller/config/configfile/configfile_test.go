package configfile_test

import (
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/schema"
)

// TestRolesOfProviders: a role, an alias and the default target may be a provider that a
// promptfooconfig.yaml names itself. A name that no file has is an error.
func TestRolesOfProviders(t *testing.T) {
	for _, tt := range []struct{ text, wrong string }{
		{"version: 1\nroles: {judge: 'openai:a'}\n", ""},
		{"version: 1\nroles: {embedder: 'openai:embedding:e'}\n", ""},
		{"version: 1\ndefault_target: 'openai:a'\n", ""},
		{"version: 1\naliases: {small: 'openai:a'}\n", ""},
		{"version: 1\nroles: {judge: 'openai:b'}\n", `gavel.yaml:2:9: error: unknown target "openai:b"; add it under targets`},
	} {
		fsys := fstest.MapFS{
			"gavel.yaml":           {Data: []byte(tt.text)},
			"promptfooconfig.yaml": {Data: []byte("prompts: [x]\nproviders: ['openai:a', 'openai:embedding:e']\ntests: []\n")},
		}
		_, problems, found, err := configfile.Read(fsys, "gavel.yaml", nil)
		got := ""
		if len(problems) > 0 {
			got = problems[0].String()
		}
		if err != nil || !found || len(problems) > 1 || schema.HasErrors(problems) != (tt.wrong != "") || got != tt.wrong {
			t.Errorf("%s: problems %v (found %v, %v), want %q", tt.text, problems, found, err, tt.wrong)
		}
	}
}
