package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// providers lists the fields that a provider must have and may have in addition to the
// fields of every target.
var providers = map[string]struct{ must, may []string }{
	OpenAI:    {must: []string{"model"}, may: []string{"base_url", "api", "api_key_env", "temperature", "top_p", "seed", "max_tokens", "parameters", "system_prompt"}},
	Anthropic: {must: []string{"model"}, may: []string{"base_url", "api_key_env", "temperature", "top_p", "max_tokens", "parameters", "system_prompt"}},
	Gemini:    {must: []string{"model"}, may: []string{"base_url", "api_key_env", "temperature", "top_p", "seed", "max_tokens", "parameters", "system_prompt"}},
	HTTP:      {must: []string{"url"}, may: []string{"api_key_env", "revision", "url_template", "wait_for", "method", "headers", "body", "query", "reply", "start", "env"}},
	Command:   {must: []string{"argv"}, may: []string{"env", "prompt", "row"}},
	Replay:    {must: []string{"path"}, may: []string{"system_prompt"}},
	Mock:      {must: []string{"replies"}, may: []string{"system_prompt"}},

	"claude-code": {may: []string{"model", "base_url", "api_key_env", "env", "bounds"}},
	"codex":       {may: []string{"model", "base_url", "api_key_env", "env"}},
	"copilot":     {may: []string{"model", "api_key_env", "env", "bounds"}},
	"opencode":    {must: []string{"model", "api_key_env"}, may: []string{"base_url", "env"}},
}

// target checks the rules for one target that the schema leaves open.
func (k *checker) target(t Target) {
	at := func(path ...any) []any { return append([]any{"targets", t.Name}, path...) }
	k.fields(t)
	k.wait(at("timeout")...)
	k.wait(at("wait_for")...)
	k.duration(at("reuse", "max_age")...)
	k.url(strings.ReplaceAll(t.URL, Port, "1"), at("url")...)
	k.url(t.BaseURL, at("base_url")...)
	k.url(strings.NewReplacer("{sha}", "sha", "{pr}", "1").Replace(t.URLTemplate), at("url_template")...)
	if t.APIKeyEnv != "" {
		k.variable(t.APIKeyEnv, at("api_key_env")...)
	}
	for i, name := range t.Env {
		k.variable(name, at("env", i)...)
	}
	k.start(t)
	k.revision(t)
	k.format(t)
	k.codingAgent(t)
	for i, r := range t.Replies {
		if _, err := regexp.Compile(r.Match); err != nil {
			k.Fail("bad-regex", fmt.Sprintf("`match` of reply %d is not a regular expression: %s", i+1, reason(err)),
				"write it in RE2, which has no look-around and no back-references", at("replies", i, "match")...)
		}
	}
	if t.Path != "" {
		k.inside(t.Path, at("path")...)
	}
	if file := t.SystemPrompt.File; file != "" {
		k.inside(file, at("system_prompt", "file")...)
	}
	if t.Implied {
		k.Note("implied-inputs", fmt.Sprintf("target %q has no `inputs`: it sees the folder of its program and below, all of which counts, and nothing else", t.Name),
			"name what else it reads, such as inputs: [\"prompts/**\"], and what it does not need in .gavelignore", at()...)
	}
	for i, glob := range t.Inputs {
		k.inside(glob, at("inputs", i)...)
		k.glob(glob, at("inputs", i)...)
	}
	for name, used := range map[string]bool{"mocks": len(t.Mocks) > 0, "tools": len(t.Tools) > 0} {
		if used && !t.RunsTools() {
			k.Warn(name+"-unused", fmt.Sprintf("target %q runs its own tools, so its %s are never used", t.Name, name),
				"remove them, or write kind: model", at(name)...)
		}
	}
	for name := range t.Parameters {
		if k.Doc.Has(at(name)...) && k.Doc.Has(at("parameters", name)...) {
			k.Fail("duplicate-key", fmt.Sprintf("`%s` is set twice", name), "remove one of them", at("parameters", name)...)
		}
	}
}

// codingAgent refuses what a coding agent does not have.
func (k *checker) codingAgent(t Target) {
	agent, ok := codingagent.Lookup(t.CodingAgent)
	if !ok {
		return
	}
	if t.Bounds.USD > 0 && !agent.Bounds.USD && agent.Bounds.Turns {
		k.Fail("foreign-field", fmt.Sprintf("%s has no bound on money", agent.Name), "remove usd; the budget of gavel.yaml is kept all the same", "targets", t.Name, "bounds", "usd")
	}
	if t.BaseURL != "" && agent.API(t.Model) == nil {
		k.Fail("foreign-field", fmt.Sprintf("%s is given an address for models of anthropic/ and openai/ alone, and this is %s", agent.Name, cmp.Or(t.Model, "none")), "remove base_url", "targets", t.Name, "base_url")
	}
	if t.Price != nil && !agent.Priced {
		k.Fail("foreign-field", fmt.Sprintf("%s does not report the tokens of its input, so that a price says nothing about its costs", agent.Name), "remove price", "targets", t.Name, "price")
	}
}

// start demands that the settings of an agent that Gavel starts fit together.
func (k *checker) start(t Target) {
	at := func(path ...any) []any { return append([]any{"targets", t.Name}, path...) }
	has := func(path ...any) bool { return k.Doc.Has(at(path...)...) }
	switch {
	case t.Provider != HTTP:
		return
	case !has("start"):
		if has("env") {
			k.Fail("foreign-field", "`env` is for an agent that Gavel starts, and this one runs elsewhere", "remove it, or add start: {argv: [...]}", at("env")...)
		}
		return
	case !k.filled(at("start", "argv")...):
		k.Fail("missing-field", "`start` needs `argv`", `add argv: ["python3", "server.py", "--port", "{port}"], say`, at("start")...)
		return
	}
	k.wait(at("start", "timeout")...)
	for _, field := range []string{"url_template", "revision", "wait_for"} {
		if has(field) {
			k.Fail("ambiguous-field", fmt.Sprintf("`%s` is for an agent that is deployed, and Gavel starts this one from the files of the judged commit", field), "remove it, or `start`", at(field)...)
		}
	}
	k.ownAddress(t.URL, at("url")...)
	k.url(strings.ReplaceAll(t.Ready, Port, "1"), at("start", "ready")...)
	k.ownAddress(t.Ready, at("start", "ready")...)
}

// ownAddress demands an address at which an agent listens that Gavel starts.
func (k *checker) ownAddress(text string, where ...any) {
	field := where[len(where)-1]
	u, err := url.Parse(strings.ReplaceAll(text, Port, "1"))
	if text == "" || err != nil {
		return
	}
	if u.Scheme != "http" || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" || !strings.Contains(text, ":"+Port) {
		k.Fail("bad-url", fmt.Sprintf("`%s` is not an address of the agent that Gavel starts, which listens on this machine", field),
			"write it as http://127.0.0.1:{port}/path", where...)
	}
}

// revision demands that the settings for the agent's revision fit together.
func (k *checker) revision(t Target) {
	at := func(field string) []any { return []any{"targets", t.Name, field} }
	has := func(field string) bool { return k.Doc.Has(at(field)...) }
	switch {
	case has("url") && has("url_template"):
		k.Fail("ambiguous-field", "`url` and `url_template` both say where the agent is", "remove one of them", at("url")...)
	case has("url_template") && !strings.Contains(t.URLTemplate, "{sha}") && !strings.Contains(t.URLTemplate, "{pr}"):
		k.Fail("bad-template", "`url_template` is the same for every revision", "put {sha} or {pr} into it, or write it as url", at("url_template")...)
	case t.Revision == RevisionTemplate && !has("url_template"):
		k.Fail("missing-field", "`revision: url_template` needs a `url_template`", "add url_template: https://…{sha}…", at("revision")...)
	case has("url_template") && t.Revision == RevisionNone:
		k.Fail("ambiguous-field", "`revision: none` says that the revision is not known, but `url_template` names it", "remove `revision`", at("revision")...)
	case has("wait_for") && t.Revision == RevisionNone:
		k.Fail("missing-field", "`wait_for` waits for a revision, and none is known", "add revision: reply, or url_template", at("wait_for")...)
	}
}

// fields demands the fields of the target's provider and refuses the fields of others.
func (k *checker) fields(t Target) {
	written := cmp.Or(t.Preset, t.CodingAgent, t.Provider)
	own := providers[cmp.Or(t.CodingAgent, t.Provider)]
	if server, ok := LookupPreset(t.Preset); ok && t.BaseURL == "" {
		k.Fail("missing-field", fmt.Sprintf("a target of provider %s needs `base_url`, which differs from account to account", written),
			"add base_url: "+server.Form, "targets", t.Name)
	}
	for _, name := range own.must {
		replaced := name == "url" && k.Doc.Has("targets", t.Name, "url_template")
		if !replaced && !k.filled("targets", t.Name, name) {
			k.Fail("missing-field", fmt.Sprintf("a target of provider %s needs `%s`", written, name),
				fmt.Sprintf("add %s: …", name), "targets", t.Name)
		}
	}
	for _, name := range k.Doc.Keys("targets", t.Name) {
		if slices.Contains(own.must, name) || slices.Contains(own.may, name) {
			continue
		}
		if of := providersWith(name); len(of) > 0 {
			k.Fail("foreign-field", fmt.Sprintf("`%s` means nothing to provider %s; it is a field of %s", name, written, enumerate(of)),
				"remove it, or correct the provider", "targets", t.Name, name)
		}
	}
}

// enumerate joins names as a sentence does.
func enumerate(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// filled reports whether a field holds something.
func (k *checker) filled(where ...any) bool {
	switch string(k.Doc.JSON(where...)) {
	case "", "null", `""`, "[]", `[""]`:
		return false
	}
	return true
}

// providersWith lists the providers that have this field of their own.
func providersWith(field string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p := providers[name]
		if slices.Contains(p.must, field) || slices.Contains(p.may, field) {
			names = append(names, name)
		}
	}
	return names
}

// url demands an address that is spoken to over HTTP and holds no credential.
func (k *checker) url(text string, where ...any) {
	if text == "" {
		return
	}
	field := where[len(where)-1]
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		// The text is not shown: it may hold a credential.
		k.Fail("bad-url", fmt.Sprintf("`%s` is not an http or https URL", field), "write it as https://host/path", where...)
	case u.User != nil:
		k.Fail("literal-secret", fmt.Sprintf("`%s` holds a credential", field), "take it out and name its variable as api_key_env", where...)
	}
}

// variableName matches the name of an environment variable, which has at most
// maxVariableName bytes.
var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

const maxVariableName = 128

// variable demands the name of an environment variable. Any other value may be
// the secret itself, so the message does not show it.
func (k *checker) variable(name string, where ...any) {
	if len(name) > maxVariableName || !variableName.MatchString(name) {
		k.Fail("bad-variable", "this is not the name of an environment variable", "write a name such as OPENAI_API_KEY; the value stays out of the file", where...)
	}
}

// reason returns a regular expression's error without the expression.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}
