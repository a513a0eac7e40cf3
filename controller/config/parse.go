package config

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// Parse checks the bytes of a gavel.yaml and returns its values with all defaults
// filled in. file is the name that problems carry. The Config is never nil; if a
// problem has severity Error, the Config is fit for showing further mistakes and not
// for running.
func Parse(file string, data []byte) (*Config, []schema.Problem) {
	doc, problems := document.Parse(file, data)
	if doc == nil {
		return Default(), problems
	}
	k := checker{Complaints: document.Complaints{Doc: doc}}
	k.literalSecrets()
	for _, p := range doc.Check("#Config", schema.Error) {
		if !k.hasProblem(p.Position) {
			k.Problems = append(k.Problems, inPercent(withUnit(p)))
		}
	}
	if schema.HasErrors(k.Problems) {
		return Default(), schema.SortProblems(k.Problems)
	}
	var f form
	if err := doc.Decode(&f); err != nil {
		k.Fail("wrong-type", err.Error(), "")
		return Default(), k.Problems
	}
	k.config = f.config()
	for name, t := range k.config.Targets {
		if len(t.Tools) > 0 {
			t.ToolsAt = doc.At("targets", name, "tools")
		}
		for _, field := range []string{"url", "url_template", "base_url"} {
			if doc.Has("targets", name, field) {
				t.AddressAt = doc.At("targets", name, field)
			}
		}
		if t.SystemPrompt != (schema.TargetPrompt{}) {
			t.SystemPrompt.At = doc.At("targets", name, "system_prompt")
		}
		k.config.Targets[name] = t
	}
	k.check()
	return k.config, schema.SortProblems(k.Problems)
}

// A checker finds the mistakes that the schema cannot find: fields that have to agree
// with each other.
type checker struct {
	document.Complaints
	config *Config
}

// hasProblem reports whether the position already has a problem.
func (k *checker) hasProblem(at schema.Position) bool {
	return slices.ContainsFunc(k.Problems, func(p schema.Problem) bool { return p.Position == at })
}

// secretNames are keys, without regard to case and separators, whose values
// would be credentials.
var secretNames = []string{"accesstoken", "apikey", "apitoken", "authorization", "bearer", "key", "password", "secret", "token"}

// literalSecrets refuses credentials in the file before the schema calls them
// mere unknown fields. It never shows a value.
func (k *checker) literalSecrets() {
	fold := strings.NewReplacer("-", "", "_", "")
	for _, name := range k.Doc.Keys("targets") {
		for _, key := range k.Doc.Keys("targets", name) {
			if slices.Contains(secretNames, fold.Replace(strings.ToLower(key))) {
				k.Fail("literal-secret", "`"+key+"` would put a secret into the repository",
					"name the environment variable that holds it: api_key_env: OPENAI_API_KEY", "targets", name, key)
			}
		}
	}
}
