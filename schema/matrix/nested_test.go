package matrix_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAbuseVariablesWithinOthers: a text in which another one repeats what is around it
// takes no more memory than its bound. Each sign of the other would repeat 100 KB.
func TestAbuseVariablesWithinOthers(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, vars := range []map[string]string{
		{"a": long + "{{b}}", "b": strings.Repeat("$`", 20_000)},
		{"a": "{{b}}" + long, "b": strings.Repeat("$'", 20_000)},
	} {
		raw, err := json.Marshal(vars)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cases, problems := load(t, fmt.Sprintf("prompts: ['{{a}}']\ntests: [{description: x, vars: %s}]\n", raw), nil)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 200<<20 {
			t.Errorf("%d MiB are allocated for %d cases with %d problems", taken>>20, len(cases), len(problems))
		}
	}
}

// TestNestedInChats: a chat and other JSON have variables in which only names are replaced;
// what is JSON only once it is filled in, and a chat in YAML in a text, are filled in as
// texts. The wants are what promptfoo 0.123.1 sends.
func TestNestedInChats(t *testing.T) {
	const vars = `tests: [{vars: {x: '{{ y | upper }} {{y}}', y: 'aa {{z}}', z: zz}}]` + "\n"
	const once, whole = "{{ y | upper }} aa zz", "AA ZZ aa zz"
	for _, tt := range []struct{ prompt, file, want string }{
		{"file://p.json", `[{"role":"user","content":"{{x}}"}]`, once},
		{"file://p.yaml", "- role: user\n  content: '{{x}}'\n", once},
		{"file://p.jsonl", `[{"role":"user","content":"{{x}}"}]` + "\n", once},
		{"file://p.txt", `[{"role":"user","content":"{{x}}"}]`, once},
		{"file://p.txt", `[{"role":"user","content":"{{x}}"}{% if y %}]{% endif %}`, whole},
		{"file://p.txt", "- role: user\n  content: '{{x}}'\n", whole},
		{"file://p.txt", "{{x}}", whole},
		{`[{"role": "user", "content": "{{x}}"}]`, "", once},
		{"file://p.js", `module.exports = () => [{role: 'user', content: '{{x}}'}];`, once},
	} {
		name := strings.TrimPrefix(tt.prompt, "file://")
		got := cases(t, "prompts: ["+tt.prompt+"]\n"+vars, map[string]string{name: tt.file})
		if len(got) != 1 || len(got[0].Drive.Messages) != 1 || got[0].Drive.Messages[0].Content != tt.want {
			t.Errorf("%s %s: cases %q, want %q", tt.prompt, tt.file, lines(got), tt.want)
		}
	}
	got := cases(t, "prompts: ['file://p.txt']\n"+vars, map[string]string{"p.txt": `{"ask": "{{x}}"}`})
	if want := "{\n  \"ask\": \"{{ y | upper }} aa zz\"\n}"; got[0].Drive.Messages[0].Content != want {
		t.Errorf("sent %q, want %q", got[0].Drive.Messages[0].Content, want)
	}
}
