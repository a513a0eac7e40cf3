// Package targetname finds the target that a definition names.
package targetname

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// Find resolves the name of a target as a definition writes it: aliases first.
// Without a configuration it returns the name as it is and ok is false, since
// nothing can be checked. The problem is nil, or has a place only where the target
// is written and cannot be used.
func Find(s schema.Settings, name string) (target string, ok bool, problem *schema.Problem) {
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
	known := slices.Concat(slices.Collect(maps.Keys(s.Targets)), slices.Collect(maps.Keys(s.Aliases)))
	hint := cmp.Or(suggest.DidYouMean(name, known), "add it to targets: or aliases: in gavel.yaml")
	return "", false, &schema.Problem{Severity: schema.Error, Rule: "unknown-target", Message: fmt.Sprintf("unknown target %q", clip(name)), Hint: hint}
}

// clip shortens a name that nobody wrote on purpose.
func clip(name string) string {
	if runes := []rune(name); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return name
}

// Nth is the name of the n-th of several targets that a file lists under one name.
func Nth(name string, n int) string {
	if n < 2 {
		return name
	}
	return fmt.Sprintf("%s #%d", name, n)
}

// Qualified is the name of a target of a file, where another file has another target of the
// same name.
func Qualified(name, file string) string { return name + " (" + file + ")" }
