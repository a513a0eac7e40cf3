package configfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsOfProviders: an answer that is not a text is JSON, and null and nothing stay null,
// since it does not answer.
func TestProgramsOfProviders(t *testing.T) {
	for _, tt := range []struct{ ending, text, want string }{
		{"py", "def call_api(prompt, options, context):\n    return {'output': None}\n", `"content": null`},
		{"py", "def call_api(prompt, options, context):\n    return {'output': {'a': None}}\n", `"content": "{\"a\": null}"`},
		{"py", "def call_api(prompt, options, context):\n    return {'output': ''}\n", `"content": ""`},
		{"js", "module.exports = async () => ({ output: null });\n", `"content":null`},
		{"js", "module.exports = async () => undefined;\n", `"content":null`},
		{"js", "module.exports = async () => ({ output: { a: null } });\n", `"content":"{\"a\":null}"`},
	} {
		file := filepath.Join(t.TempDir(), "p."+tt.ending)
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		argv := []string{"python3", "-c", pythonProvider, file, "call_api", "{}"}
		if tt.ending == "js" {
			argv = []string{"node", "-e", nodeProvider, file, "{}"}
		}
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Logf("%s is not installed", argv[0])
			continue
		}
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Stdin = strings.NewReader(`{"messages": [{"role": "user", "content": "hi"}], "context": {"vars": {}}}`)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s prints %s (%v), want %s", tt.text, out, err, tt.want)
		}
	}
}
