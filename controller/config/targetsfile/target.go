package targetsfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/config/targetsfile/vendorname"
	"github.com/gavel-evals/gavel/schema"
)

// A target is one entry of a file.
type target struct {
	schema.Complaints
	at []any
	environment
}

// An environment has the variables that settings may take values of.
type environment struct {
	listed []string
	lookup func(string) (string, bool)
}

// path is the place of a field: that of the target itself, else below settings,
// where older files have it.
func (t *target) path(name string) []any {
	own := append(slices.Clone(t.at), name)
	for _, inner := range []string{"settings", "config"} {
		if below := append(slices.Clone(t.at), inner, name); !t.Doc.Has(own...) && t.Doc.Has(below...) {
			return below
		}
	}
	return own
}

func (t *target) has(name string) bool    { return t.Doc.Has(t.path(name)...) }
func (t *target) text(name string) string { return t.Doc.Text(t.path(name)...) }

// variable is a value that is taken from the environment.
var variable = regexp.MustCompile(`^(?:\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}|\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\})$`)

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
	if id := t.text("id"); provider == "" && id != "" { // as AgentV 5 has it
		var model string
		if provider, model, _ = strings.Cut(id, ":"); model != "" {
			return t.vendor(id)
		}
	}
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

// vendor is a target whose id names a model of a vendor.
func (t *target) vendor(id string) map[string]any {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(t.Doc.JSON(append(slices.Clone(t.at), "config")...), &fields) // none where it is not an object
	out, err := vendorname.Form(id, t.Doc.File, fields)
	if err != nil {
		t.Fail("unknown-provider", err.Error(), "write the target in gavel.yaml", t.path("id")...)
	}
	return out
}

// value is what a field says, as JSON: the value of a variable where it names one.
func (t *target) value(name string) json.RawMessage {
	at := t.path(name)
	said := strings.TrimSpace(t.Doc.Text(at...))
	found := variable.FindStringSubmatch(said)
	if found == nil {
		if strings.Contains(said, "${{") {
			t.Fail("not-supported", fmt.Sprintf("`%s` has a variable within other text", name), "write the whole value, or one variable alone, such as ${{ NAME }}", at...)
		}
		return t.Doc.JSON(at...)
	}
	text := t.taken(name, found[1]+found[2])
	if slices.Contains(numbers, name) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // it never fails
	return quoted
}

// numbers are the fields that are numbers.
var numbers = []string{"temperature", "max_output_tokens", "maxOutputTokens", "workers", "timeout_seconds"}

// taken is the value that a field takes of a variable of the environment.
func (t *target) taken(field, name string) string {
	at := t.path(field)
	if !slices.Contains(t.listed, name) {
		t.Fail("not-supported", fmt.Sprintf("`%s` is taken from the environment variable %s, which gavel.yaml does not allow", field, name),
			"write the value, or add environment: ["+name+"] to gavel.yaml", at...)
		return ""
	}
	value := ""
	if t.lookup != nil {
		value, _ = t.lookup(name)
	}
	if value == "" {
		t.Fail("unset-variable", fmt.Sprintf("`%s` is taken from the environment variable %s, which is not set", field, name), "set it, or write the value", at...)
	}
	return value
}

// key is the name of the variable with a key. The value is never in the file.
func (t *target) key(name string) string {
	at := t.path(name)
	found := variable.FindStringSubmatch(strings.TrimSpace(t.Doc.Text(at...)))
	if found == nil {
		t.Fail("literal-secret", fmt.Sprintf("`%s` would put a secret into the repository", name), "write ${{ NAME }} with the name of the environment variable that holds it", at...)
		return ""
	}
	return found[1] + found[2]
}

// azure makes the address of a resource that of its API.
func (t *target) azure(out map[string]any) {
	for _, name := range []string{"endpoint", "resource", "resourceName"} {
		if !t.has(name) {
			continue
		}
		var address string
		_ = json.Unmarshal(t.value(name), &address) // another form is a problem of base_url
		address = strings.TrimRight(address, "/")
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
		if strings.Contains(line, "${{") {
			t.Fail("not-supported", "the command has a variable", "have the program read its environment, and name the variable under `env` of a target in gavel.yaml", t.path(name)...)
			return
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
