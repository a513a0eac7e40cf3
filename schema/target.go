package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// FindTarget resolves the name of a target in a definition, aliases first. Without a
// configuration nothing can be checked: it returns the unchanged name, and ok is false.
// A problem has a place if the target is configured and cannot be used, and none if it
// is unknown.
func (s Settings) FindTarget(name string) (target string, ok bool, problem *Problem) {
	if s.Targets == nil && len(s.Unusable) == 0 {
		return name, false, nil
	}
	if alias, found := s.Aliases[name]; found {
		name = alias
	}
	if _, found := s.Targets[name]; found {
		return name, true, nil
	}
	if unusable, found := s.Unusable[name]; found {
		return "", false, &unusable
	}
	if variable := VariableIn(name); variable != "" {
		return "", false, &Problem{
			Severity: Error, Rule: "unknown-target",
			Message: fmt.Sprintf("the target is named by the variable %s, which is not filled in: a definition means the same on each machine", variable),
			Hint:    fmt.Sprintf("write the name of a target, or in gavel.yaml aliases: {%q: …} with it", clipName(name)),
		}
	}
	known := slices.Concat(slices.Collect(maps.Keys(s.Targets)), slices.Collect(maps.Keys(s.Aliases)))
	hint := cmp.Or(suggest.DidYouMean(name, known), "add it to targets: or aliases: in gavel.yaml")
	return "", false, &Problem{Severity: Error, Rule: "unknown-target", Message: fmt.Sprintf("unknown target %q", clipName(name)), Hint: hint}
}

var variableName = lazyregexp.New(`^(?:\$\{\{\s*(?:env\.)?|\{\{\s*env\.|\$\{?)(\w+)\s*\}{0,2}$`)

// VariableIn returns the environment variable that a text consists of, as in ${{ NAME }} or
// {{ env.NAME }}; empty for another text.
func VariableIn(text string) string {
	if found := variableName.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// clipName shortens an overlong name.
func clipName(name string) string {
	if runes := []rune(name); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return name
}

// NthTarget returns the name of the n-th of several targets that a file lists under one name.
func NthTarget(name string, n int) string {
	if n < 2 {
		return name
	}
	return fmt.Sprintf("%s #%d", name, n)
}

// QualifiedTarget returns the name of a file's target if another file has a different
// target with that name.
func QualifiedTarget(name, file string) string { return name + " (" + file + ")" }
