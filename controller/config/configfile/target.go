package configfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A target is one entry of a file.
type target struct {
	document.Complaints
	at []any
	environment
	label string // if its name is its key
	// scoped marks a target of a suite. It is for the tests of that file alone if
	// another file has another target with its name.
	scoped bool
	// isProgram marks a target of the provider cli.
	isProgram bool
}

// An environment has the variables from which settings may take values.
type environment struct {
	listed []string
	lookup func(string) (string, bool)
}

// path returns the place of a field: in the target itself, or else below settings,
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

// name is the name of the target.
func (t *target) name() string {
	return cmp.Or(t.label, t.text("name"), t.text("label"), t.text("id"))
}

func (t *target) has(name string) bool    { return t.Doc.Has(t.path(name)...) }
func (t *target) text(name string) string { return t.Doc.Text(t.path(name)...) }

// variable is a value that is taken from the environment.
var variable = lazyregexp.New(`^(?:\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}|\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\})$`)

// ofModel returns the fields of a model that gavel.yaml has, by gavel.yaml's names for
// them.
func ofModel(more map[string]string) map[string]string {
	out := map[string]string{
		"model": "model", "temperature": "temperature", "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens", "system_prompt": "system_prompt",
	}
	maps.Copy(out, more)
	return out
}

// addressed are the fields with the address of a model.
var addressed = map[string]string{"endpoint": "base_url", "base_url": "base_url", "baseUrl": "base_url", "baseURL": "base_url"}

// plain are the fields that gavel.yaml also has, by provider, with gavel.yaml's names
// for them.
var plain = map[string]map[string]string{
	"openai":     ofModel(addressed),
	"openrouter": ofModel(addressed),
	"gemini":     ofModel(addressed),
	"anthropic":  ofModel(addressed),
	"azure":      ofModel(map[string]string{"deployment": "model", "deploymentName": "model"}),
	"cli":        {},
	"mock":       {},
}

// form returns the target in the form of gavel.yaml.
func (t *target) form() map[string]any {
	provider := strings.ToLower(t.text("provider"))
	model := ""
	if id := t.text("id"); provider == "" && id != "" { // the form of AgentV 5
		provider, model, _ = strings.Cut(id, ":")
		if _, known := plain[provider]; model != "" && (!known || strings.Contains(model, ":")) {
			return t.vendor(id)
		}
	}
	out := map[string]any{"provider": provider}
	fields, known := plain[provider]
	if !known {
		t.Fail("unknown-provider", fmt.Sprintf("the provider %q of the target %q is not known here", cmp.Or(t.text("provider"), provider), t.name()),
			"write the target in gavel.yaml; of this file the providers anthropic, azure, cli, gemini, mock, openai and openrouter are read", t.path(t.either("provider", "id"))...)
		return out
	}
	t.refuse()
	if model != "" {
		out["model"] = model
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
	if t.has("timeout_seconds") {
		t.timeout(out)
	}
	if format := t.text("api_format"); provider == "openai" && format != "" {
		out["api"] = format
	}
	switch provider {
	case "azure":
		t.azure(out)
	case "cli":
		t.isProgram = true
		t.command(out)
	case "mock":
		out["replies"] = []any{map[string]any{"match": "", "reply": t.text("response")}}
	}
	return out
}

// vendor returns a target whose id names a vendor's model.
func (t *target) vendor(id string) map[string]any {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(t.Doc.JSON(append(slices.Clone(t.at), "config")...), &fields) // none if it is not an object
	out, err := vendorForm(id, t.Doc.File, fields)
	if unread := unreadVendorFields(id, fields); err == nil && len(unread) > 0 {
		err = fmt.Errorf("`%s` of its config is not read", unread[0])
	}
	if err != nil {
		t.Fail("unknown-provider", err.Error(), "write the target in gavel.yaml", t.path("id")...)
	}
	return out
}

// value returns the value of a field as JSON: the value of a variable if the field
// names one.
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

// taken returns the value that a field takes from an environment variable.
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

// key returns the name of the variable with a key. The value is never in the file.
func (t *target) key(name string) string {
	at := t.path(name)
	found := variable.FindStringSubmatch(strings.TrimSpace(t.Doc.Text(at...)))
	if found == nil {
		t.Fail("literal-secret", fmt.Sprintf("`%s` would put a secret into the repository", name), "write ${{ NAME }} with the name of the environment variable that holds it", at...)
		return ""
	}
	return found[1] + found[2]
}

// azure completes the address of a resource to the address of its API.
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

// either returns the first of two fields that is written, else the first.
func (t *target) either(one, other string) string {
	if !t.has(one) && t.has(other) {
		return other
	}
	return one
}

// refused are the fields that would change what the target is, and are not read.
var refused = map[string]string{
	"hooks":   "its hooks are not run",
	"env":     "its environment is not set",
	"extends": "a target that extends another one is not read",

	"batch_requests":    "each case is a call of its own",
	"provider_batching": "each case is a call of its own",
}

// refuse reports the fields that a target needs and that cannot be left out.
func (t *target) refuse() {
	for _, field := range slices.Sorted(maps.Keys(refused)) {
		if t.has(field) && !slices.Contains([]string{"{}", "false"}, string(t.Doc.JSON(t.path(field)...))) {
			t.Fail("not-supported", fmt.Sprintf("`%s` of a provider is not read: %s", field, refused[field]), "write the whole target in gavel.yaml", t.path(field)...)
		}
	}
	if mode := cmp.Or(t.text("runtime"), t.Doc.Text(append(t.path("runtime"), "mode")...)); mode != "" && mode != "host" {
		t.Fail("not-supported", fmt.Sprintf("`runtime` is %s, and targets are run on this machine", mode), "write the target in gavel.yaml", t.path("runtime")...)
	}
}

// timeout sets how long a call may take.
func (t *target) timeout(out map[string]any) {
	var seconds float64
	if err := json.Unmarshal(t.value("timeout_seconds"), &seconds); err != nil {
		t.Fail("wrong-type", "`timeout_seconds` must be a number", "write a number", t.path("timeout_seconds")...)
	}
	out["timeout"] = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
}

// command turns a command line into an argv. The program reads the conversation from
// stdin, so that no part of it gets into the line.
func (t *target) command(out map[string]any) {
	out["provider"] = "command"
	for _, name := range []string{"command", "command_template", "commandTemplate"} {
		at := t.path(name)
		if argv := t.Doc.Items(at...); argv > 0 {
			t.words(out, name)
			return
		}
		line := t.text(name)
		if line == "" {
			continue
		}
		if variables.MatchString(line) {
			t.Fail("not-supported", "the command has a variable", "have the program read its environment, and name the variable under `env` of a target in gavel.yaml", at...)
			return
		}
		if hole := unfilled.FindString(line); hole != "" {
			t.Fail("not-supported", fmt.Sprintf("%s of the command is not filled in: the program gets the conversation as JSON on stdin", hole),
				"have it read stdin, and take "+hole+" out of the command", at...)
			return
		}
		if isSpliced(line) {
			t.Fail("not-supported", "{PROMPT} is next to other text in quotes, which another shell could run", "write {PROMPT} as a word of its own, or have the program read stdin", at...)
			return
		}
		script, takesPrompt := filledIn(line)
		if t.has("cwd") {
			script = "cd " + t.folder() + " || exit 1\n" + script
		}
		out["argv"] = []string{"sh", "-c", script}
		if takesPrompt {
			out["argv"], out["prompt"] = []string{"sh", "-c", script, "sh"}, "argument"
		}
		return
	}
}

// folder returns the folder where the command starts, quoted for the shell: relative to
// the folder that has .agentv, or to the suite's folder.
func (t *target) folder() string {
	var cwd string
	_ = json.Unmarshal(t.value("cwd"), &cwd) // another form is none
	if dir, inside := strings.CutSuffix(path.Dir(t.Doc.File), ".agentv"); !path.IsAbs(cwd) {
		if !inside {
			dir = path.Dir(t.Doc.File)
		}
		return `"${GAVEL_REPOSITORY:-.}"/` + inQuotes(path.Join(dir, cwd))
	}
	return inQuotes(cwd)
}

// inQuotes returns a text as one word of the shell.
func inQuotes(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// words sets a command that is a list: the program and its arguments.
func (t *target) words(out map[string]any, name string) {
	var argv []string
	if t.has("cwd") {
		t.Fail("not-supported", "`cwd` is not read next to a command that is a list", "write the command as one text", t.path("cwd")...)
	}
	for i := range t.Doc.Items(t.path(name)...) {
		word := t.Doc.Text(append(t.path(name), i)...)
		if variables.MatchString(word) || unfilled.MatchString(word) || hole.MatchString(word) {
			t.Fail("not-supported", fmt.Sprintf("%s of the command is not filled in: the program gets the conversation as JSON on stdin", word),
				"have it read stdin, or write the command as one text", append(t.path(name), i)...)
			return
		}
		argv = append(argv, word)
	}
	out["argv"] = argv
}

var (
	// variables matches a reference to an environment variable.
	variables = lazyregexp.New(`\$\{\{|\{\{\s*env\.`)
	// unfilled matches holes that a command may have and whose values only stdin has.
	unfilled = lazyregexp.New(`\{(GUIDELINES|EVAL_ID|FILES)\}`)
	// hole matches holes that are filled in a command.
	hole = lazyregexp.New(`\{(PROMPT|PROMPT_FILE|OUTPUT_FILE|ATTEMPT)\}`)
)

// isSpliced reports whether a word of a command line has the prompt next to text that is in
// quotes or escaped, as in sh -c 'echo {PROMPT}'. The word may be a script, in which a
// prompt would be run.
func isSpliced(line string) bool {
	const prompt = "{PROMPT}"
	quote := byte(0)
	hasPrompt, hasText := false, false // of the word: text in quotes, or escaped
	for rest := line; rest != ""; {
		c := rest[0]
		switch {
		case strings.HasPrefix(rest, prompt):
			hasPrompt = true
			rest = rest[len(prompt):]
			continue
		case quote == 0 && strings.IndexByte(" \t\n;|&()<>", c) >= 0:
			hasPrompt, hasText = false, false
		case c == '\\' && quote != '\'' && len(rest) > 1:
			hasText = true
			rest = rest[1:]
		case quote == 0 && strings.IndexByte("\"'`", c) >= 0:
			quote = c
			alone := strings.HasPrefix(rest[1:], prompt+string(c))
			hasText = hasText || !alone
		case c == quote:
			quote = 0
		}
		if hasPrompt && hasText {
			return true
		}
		rest = rest[1:]
	}
	return hasPrompt && hasText
}

// filledIn turns a command line with holes into a script, and reports whether the
// script takes the prompt as its first argument. No part of the prompt becomes part of
// the script: a hole is a quoted variable of the shell, whichever quotes are around it.
// The line must not be spliced.
func filledIn(line string) (string, bool) {
	if !hole.MatchString(line) {
		return line, false
	}
	var out strings.Builder
	quote := byte(0)
	for rest := line; rest != ""; {
		if at := hole.FindStringSubmatchIndex(rest); at != nil && at[0] == 0 {
			out.WriteString(quoted("gavel_"+strings.ToLower(rest[at[2]:at[3]]), quote))
			rest = rest[at[1]:]
			continue
		}
		switch c := rest[0]; {
		case c == '\\' && quote != '\'' && len(rest) > 1:
			out.WriteByte(c)
			rest = rest[1:]
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
		out.WriteByte(rest[0])
		rest = rest[1:]
	}
	script := "gavel_prompt=$1 gavel_attempt=0\n" +
		"gavel_prompt_file=$(mktemp) && gavel_output_file=$(mktemp) && printf %s \"$gavel_prompt\" >\"$gavel_prompt_file\" || exit 1\n" +
		"trap 'rm -f \"$gavel_prompt_file\" \"$gavel_output_file\"' EXIT\n"
	if !strings.Contains(line, "{OUTPUT_FILE}") {
		return script + out.String(), true
	}
	return script + "{ " + out.String() + "\n} >&2 || exit $?\ncat \"$gavel_output_file\"", true
}

// quoted returns a variable of the shell within these quotes, 0 for none.
func quoted(name string, quote byte) string {
	switch quote {
	case '"':
		return "${" + name + "}"
	case '\'':
		return `'"${` + name + `}"'`
	}
	return `"${` + name + `}"`
}
