package assertion_test

import (
	"testing"

	"github.com/gavel-evals/gavel/schema/assertion"
)

// TestForeign finds the words that only programs have, and not words of texts, comments
// and members.
func TestForeign(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{"output.length > 3", ""},
		{"require('fs').existsSync(output)", "require"},
		{"const r = await fetch('https://example.com'); return r.ok", "fetch"},
		{"(async () => output.length > 3)()", ""},
		{"(async () => await output)()", ""},
		{"await output", "await"},
		{"process.env.HOME", "process.env.HOME"},
		{"process\n.env ['A']", "process.env"},
		{"process.cwd()", "process.cwd"},
		{"typeof process", "process"},
		{"output.includes('import') || output.includes(\"don't process\")", ""},
		{"// export it\nreturn output === 'a'", ""},
		{"/* async\n fetch */ output", ""},
		{"JSON.parse(output).process === 1", ""},
		{"output === `import`", ""},
		{"`${process.pid}` === output", "process.pid"},
		{"'it\\'s' + require('x')", "require"},
		{"output.includes('//') && require('x')", "require"},
	} {
		if got := assertion.Foreign(tt.source); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.source, got, tt.want)
		}
	}
}
