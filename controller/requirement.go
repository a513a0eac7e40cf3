package controller

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The rules of the problems.
const (
	RuleConfig   = "no-configuration"
	RuleTarget   = "unknown-target"
	RuleRole     = "missing-role"
	RuleVariable = "unset-variable"
	RulePrompt   = "missing-prompt"
)

// A Requirement checks that a configuration has everything that cases need.
type Requirement struct {
	files  fs.FS
	file   string
	config *config.Config
	roles  map[schema.Role]string
	lookup func(string) (string, bool)
	// prompts are the targets' prompts.
	prompts *document.PromptReader
}

// FindRequirement returns the requirement of cases under the configuration in a file,
// which is only read again to locate a missing part. lookup finds environment
// variables; with nil they all count as set.
func FindRequirement(files fs.FS, file string, cfg *config.Config, lookup func(string) (string, bool)) Requirement {
	return Requirement{files, file, cfg, cfg.Roles.Targets(), lookup, document.NewPromptReader(files, cfg.Settings())}
}

// Missing returns the missing part for judging a case against a target; "" without one.
// It names only the environment variable.
func (r Requirement) Missing(c *schema.Case, target string) string {
	if c == nil {
		return "" // not loaded, since it is not judged
	}
	if err := r.prompts.Prompt(target).Err; err != nil {
		return fmt.Sprintf("the system prompt of the target %s is missing: %v", cmp.Or(target, r.config.DefaultTarget), err)
	}
	for _, a := range load.Callees(c) {
		name, ok := r.target(a)
		if a == (load.Callee{Target: c.Target}) {
			name, ok = target, true
		}
		t, configured := r.config.Targets[name]
		switch {
		case !ok && isOptional(a.Role): // then a sample that needs it is an error
		case !ok:
			return fmt.Sprintf("%s does not name %s", r.file, described(a.Role))
		case len(r.config.Targets) == 0:
			return "no targets are configured in " + r.file
		case !configured:
			return fmt.Sprintf("%s does not have the target %q", r.file, name)
		case r.unset(t) != "":
			return fmt.Sprintf("the environment variable %s is not set (%s of the target %s)", r.unset(t), keyOf(t, r.unset(t)), name)
		}
	}
	return ""
}

// target returns the called target. ok is false for a role without a target.
func (r Requirement) target(a load.Callee) (name string, ok bool) {
	if a.Role == "" {
		return cmp.Or(a.Target, r.config.DefaultTarget), true
	}
	return r.roles[a.Role], r.roles[a.Role] != ""
}

// unset returns the first empty variable of a target, or "".
func (r Requirement) unset(t config.Target) string {
	for _, name := range t.Variables() {
		if !r.isSet(name) {
			return name
		}
	}
	for _, name := range t.Env {
		if !r.exists(name) {
			return name
		}
	}
	return ""
}

// keyOf returns the key of gavel.yaml that names a variable.
func keyOf(t config.Target, variable string) string {
	switch {
	case variable == t.APIKeyEnv:
		return "api_key_env"
	case slices.Contains(t.Env, variable):
		return "env"
	}
	return "headers"
}

// exists reports whether a variable is set, even to an empty text, with which a program may
// be content.
func (r Requirement) exists(variable string) bool {
	if r.lookup == nil {
		return true
	}
	_, ok := r.lookup(variable)
	return ok
}

func (r Requirement) isSet(variable string) bool {
	if variable == "" || r.lookup == nil {
		return true
	}
	value, _ := r.lookup(variable)
	return strings.TrimSpace(value) != ""
}

// Problems lists the missing parts for some needs, sorted by place. If no target is
// configured, [ConfigurationProblems] reports that.
func (r Requirement) Problems(needs []load.Need) []schema.Problem {
	if len(r.config.Targets) == 0 {
		return nil
	}
	var found []schema.Problem
	unset := map[string][]string{} // targets by variable
	prompts := map[string]bool{}   // targets whose prompt was checked
	for _, n := range needs {
		name, ok := r.target(n.Callee)
		t, configured := r.config.Targets[name]
		if n.Role == "" && !prompts[name] {
			prompts[name] = true
			found = append(found, r.promptProblems(name)...)
		}
		switch {
		case !ok:
			found = append(found, r.withoutRole(n))
		case !configured:
			found = append(found, schema.Problem{
				Position: n.At, Severity: schema.Error, Rule: RuleTarget,
				Message: fmt.Sprintf("unknown target %q%s", name, otherCases(n.Cases)),
				Hint:    cmp.Or(suggest.DidYouMean(name, slices.Collect(maps.Keys(r.config.Targets))), "add it to targets: in "+r.file),
			})
		case r.unset(t) != "":
			unset[r.unset(t)] = append(unset[r.unset(t)], name)
		}
	}
	for variable, names := range unset {
		found = append(found, r.withoutVariable(variable, names))
	}
	return schema.SortProblems(found)
}

func (r Requirement) withoutRole(n load.Need) schema.Problem {
	hint := fmt.Sprintf("add roles: {%s: …} to %s, with the name of a target", n.Role, r.file)
	if n.Role == schema.Judge && !r.hasModel() {
		hint = fmt.Sprintf("add targets: {judge: {provider: openai, model: …}} and roles: {judge: judge} to %s", r.file)
	}
	if name := r.provider(); name != "" {
		hint = fmt.Sprintf("write version: 1 and roles: {%s: %q} into %s, or name another target in it", n.Role, name, r.file)
	}
	switch model, editor := strings.CutSuffix(string(n.Role), " editor"); {
	case editor:
		hint = fmt.Sprintf("add roles: {editors: {%s: …}} to %s, with the name of a target; without it the judge edits", model, r.file)
	case n.Role == schema.Embedder:
		hint = fmt.Sprintf("add targets: {embeddings: {provider: openai, api: embeddings, model: …}} and roles: {%s: embeddings} to %s", n.Role, r.file)
	case n.Role == schema.Moderator:
		hint = fmt.Sprintf("add targets: {moderations: {provider: openai, api: moderations, model: omni-moderation-latest}} and roles: {%s: moderations} to %s", n.Role, r.file)
	case n.Role == schema.Classifier:
		hint = fmt.Sprintf("add targets: {labels: {provider: openai, api: classification, model: …}} and roles: {%s: labels} to %s, or name a `provider` in the assertion", n.Role, r.file)
	case n.Role != schema.Judge:
		hint += "; without it the judge has the role"
	}
	needs, severity := "needs", schema.Error
	if isOptional(n.Role) {
		needs, severity = "may need", schema.Warning
	}
	return schema.Problem{
		Position: n.At, Severity: severity, Rule: RuleRole,
		Message: fmt.Sprintf("the case %s %s, and %s does not name one%s", needs, described(n.Role), r.file, otherCases(n.Cases)),
		Hint:    hint,
	}
}

// hasModel reports whether there is a target that may judge: a model that can be asked
// anything.
func (r Requirement) hasModel() bool {
	for _, t := range r.config.Targets {
		if t.Kind == config.Model && t.Provider != config.Mock && t.Provider != config.Replay && (t.API == "" || t.API == "chat" || t.API == "responses") {
			return true
		}
	}
	return false
}

// provider returns the model that a definition names itself; empty if gavel.yaml has
// its own targets.
func (r Requirement) provider() string {
	for _, name := range slices.Sorted(maps.Keys(r.config.Targets)) {
		switch t := r.config.Targets[name]; {
		case t.File == "":
			return ""
		case t.RunsTools() && (t.API == "" || t.API == "chat" || t.API == "responses"):
			return name
		}
	}
	return ""
}

// isOptional reports whether only some samples need a role: an extractor if the reply
// is more than the answer, an editor if an attempt fails.
func isOptional(role schema.Role) bool {
	return role == schema.Extractor || strings.HasSuffix(string(role), " editor")
}

// described describes a role in a sentence.
func described(role schema.Role) string {
	if model, editor := strings.CutSuffix(string(role), " editor"); editor {
		return fmt.Sprintf("an editor for `editor_model: %s`", model)
	}
	if role == schema.Extractor || role == schema.Embedder {
		return "an " + string(role)
	}
	return "a " + string(role)
}

// otherCases counts the cases in addition to the one shown with a problem.
func otherCases(cases int) string {
	switch cases {
	case 1:
		return ""
	case 2:
		return " (1 other case needs it, too)"
	}
	return fmt.Sprintf(" (%d other cases need it, too)", cases-1)
}

// promptProblems returns what is wrong with the system prompt of a target.
func (r Requirement) promptProblems(name string) []schema.Problem {
	prompt, at := r.prompts.Prompt(name), r.config.Targets[name].SystemPrompt.At
	switch {
	case prompt.Err != nil:
		return []schema.Problem{{
			Position: at, Severity: schema.Error, Rule: RulePrompt,
			Message: fmt.Sprintf("the system prompt of the target %s is missing: %v", name, prompt.Err),
			Hint:    "write the path of a text file, from the root of the repository",
		}}
	case prompt.Conflict > 0:
		return []schema.Problem{document.InConflict(at, prompt.Layer.File, prompt.Conflict)}
	}
	return nil
}

// namedAt returns the path of a target's key that names a variable.
func namedAt(doc *document.Document, target, variable string) []any {
	for _, name := range doc.Keys("targets", target, "headers") {
		if doc.Text("targets", target, "headers", name, "value_env") == variable {
			return []any{"targets", target, "headers", name}
		}
	}
	for i := range doc.Items("targets", target, "env") {
		if at := []any{"targets", target, "env", i}; doc.Text(at...) == variable {
			return at
		}
	}
	return []any{"targets", target, "api_key_env"}
}

// providerAt returns the path of a provider in a definition; nil if the definition
// names it in another way.
func providerAt(doc *document.Document, name string) []any {
	for _, field := range []string{"providers", "targets"} {
		for i := range doc.Items(field) {
			at := []any{field, i}
			if doc.Text(at...) == name || doc.Text(field, i, "id") == name || doc.Text(field, i, "label") == name || doc.Has(field, i, name) {
				return at
			}
		}
		if doc.Text(field) == name {
			return []any{field}
		}
	}
	return nil
}

func (r Requirement) withoutVariable(variable string, names []string) schema.Problem {
	slices.Sort(names)
	names = slices.Compact(names)
	file := cmp.Or(r.config.Targets[names[0]].File, r.file)
	at := schema.Position{File: file, Line: 1, Column: 1}
	if doc, _ := document.Open(r.files, file); doc != nil && file != r.file {
		at = doc.At(providerAt(doc, names[0])...)
	} else if doc != nil {
		at = doc.At(namedAt(doc, names[0], variable)...)
	}
	who := "the target " + names[0] + " needs it"
	if last := len(names) - 1; last > 0 {
		who = "the targets " + strings.Join(names[:last], ", ") + " and " + names[last] + " need it"
	}
	return schema.Problem{
		Position: at, Severity: schema.Warning, Rule: RuleVariable,
		Message: fmt.Sprintf("the environment variable %s is not set, and %s", variable, who),
		Hint:    fmt.Sprintf("write export %s=… before gavel run, or hand it to the step of a CI job under env:", variable),
	}
}
