package targetsfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A target is one entry of a file.
type target struct {
	schema.Complaints
	at []any
}

// path is the place of a field: that of the target itself, else below settings,
// where older files have it.
func (t *target) path(name string) []any {
	own := append(slices.Clone(t.at), name)
	if below := append(slices.Clone(t.at), "settings", name); !t.Doc.Has(own...) && t.Doc.Has(below...) {
		return below
	}
	return own
}

func (t *target) has(name string) bool    { return t.Doc.Has(t.path(name)...) }
func (t *target) text(name string) string { return t.Doc.Text(t.path(name)...) }

// variable is a value that is taken from the environment.
var variable = regexp.MustCompile(`^\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}$`)

// plain are fields that gavel.yaml has, under its name for them.
var plain = map[string]map[string]string{
	"openai":    {"model": "model", "endpoint": "base_url", "base_url": "base_url", "baseUrl": "base_url", "temperature": "temperature", "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens"},
	"azure":     {"model": "model", "deployment": "model", "deploymentName": "model", "temperature": "temperature", "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens"},
	"anthropic": {"model": "model", "endpoint": "base_url", "base_url": "base_url", "temperature": "temperature", "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens"},
	"cli":       {},
	"mock":      {},
}

// form is the target as gavel.yaml would have it.
func (t *target) form() map[string]any {
	provider := strings.ToLower(t.text("provider"))
	out := map[string]any{"provider": provider}
	fields, known := plain[provider]
	if !known {
		t.Fail("unknown-provider", fmt.Sprintf("the provider %q of the target %q is not known here", t.text("provider"), t.text("name")),
			"write the target in gavel.yaml; of this file the providers anthropic, azure, cli, mock and openai are read", t.path("provider")...)
		return out
	}
	for name, as := range fields {
		if t.has(name) {
			out[as] = t.value(name)
		}
	}
	for _, name := range []string{"api_key", "apiKey"} {
		if t.has(name) {
			out["api_key_env"] = t.key(name)
		}
	}
	if t.has("workers") {
		out["concurrency"] = t.value("workers")
	}
	switch provider {
	case "azure":
		t.azure(out)
	case "cli":
		t.command(out)
	case "mock":
		out["replies"] = []any{map[string]any{"match": "", "reply": t.text("response")}}
	}
	return out
}

// value is what a field says. What is in the environment is not known here, and
// must not change what is asked without a word.
func (t *target) value(name string) json.RawMessage {
	if at := t.path(name); variable.MatchString(t.Doc.Text(at...)) {
		t.Fail("not-supported", fmt.Sprintf("`%s` is taken from the environment, which only a key may be", name),
			"write the value, or the target in gavel.yaml", at...)
	}
	return t.Doc.JSON(t.path(name)...)
}

// key is the name of the variable with a key. The value is never in the file.
func (t *target) key(name string) string {
	at := t.path(name)
	found := variable.FindStringSubmatch(strings.TrimSpace(t.Doc.Text(at...)))
	if found == nil {
		t.Fail("literal-secret", fmt.Sprintf("`%s` would put a secret into the repository", name), "write ${{ NAME }} with the name of the environment variable that holds it", at...)
		return ""
	}
	return found[1]
}

// azure makes the address of a resource that of its API.
func (t *target) azure(out map[string]any) {
	for _, name := range []string{"endpoint", "resource", "resourceName"} {
		if !t.has(name) {
			continue
		}
		t.value(name)
		address := strings.TrimRight(t.text(name), "/")
		if !strings.Contains(address, "://") {
			address = "https://" + address + ".openai.azure.com"
		}
		out["base_url"] = strings.TrimSuffix(address, "/openai/v1") + "/openai/v1"
		return
	}
}

// command makes a command line an argv. The program reads the conversation from
// stdin, so that nothing of it is put into the line.
func (t *target) command(out map[string]any) {
	out["provider"] = "command"
	for _, name := range []string{"command", "command_template", "commandTemplate"} {
		line := t.text(name)
		if line == "" {
			continue
		}
		for _, hole := range []string{"{PROMPT}", "{PROMPT_FILE}", "{GUIDELINES}", "{EVAL_ID}", "{ATTEMPT}", "{FILES}", "{OUTPUT_FILE}"} {
			if strings.Contains(line, hole) {
				t.Fail("not-supported", fmt.Sprintf("%s of the command is not filled in: the program gets the conversation as JSON on stdin", hole),
					"have it read stdin, and take "+hole+" out of the command", t.path(name)...)
				return
			}
		}
		out["argv"] = []string{"sh", "-c", line}
		break
	}
	if t.has("timeout_seconds") {
		var seconds float64
		if err := json.Unmarshal(t.value("timeout_seconds"), &seconds); err != nil {
			t.Fail("wrong-type", "`timeout_seconds` must be a number", "write a number", t.path("timeout_seconds")...)
		}
		out["timeout"] = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	}
}
