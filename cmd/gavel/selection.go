package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/choice"
	"github.com/gavel-evals/gavel/schema"
)

// A selection says which cases a command is about. An empty one means all.
type selection struct {
	base         string
	all          bool
	keys         []string
	tags         []string
	difficulties []string
	statuses     []string
	domains      []string
	levels       []string
	// targets are no filter: the cases are run against each of these.
	targets []string
	// affectedOnly says that the other cases need no row of their own.
	affectedOnly bool
}

// bind adds the flags of a selection to a command whose arguments are globs of
// keys.
func (s *selection) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.base, "base", "", "compare with the merge base of this ref and HEAD, such as main (default: compare with nothing)")
	f.BoolVar(&s.all, "all", false, "judge every selected case, not only those that the change can have affected")
	f.StringSliceVar(&s.tags, "tag", nil, "only cases with one of these tags, such as red-team,slow")
	f.StringSliceVar(&s.difficulties, "difficulty", nil, "only cases of these difficulties, such as hard")
	f.StringSliceVar(&s.statuses, "status", nil, "only cases of these statuses, judged also where they are not active, such as draft (default: all, of which active ones are judged)")
	f.StringSliceVar(&s.domains, "domain", nil, "only cases of these domains, such as math")
	f.StringSliceVar(&s.levels, "level", nil, "only cases of these levels, such as 2")
	f.StringSliceVar(&s.targets, "target", nil, "run every selected case against these targets, side by side, such as small,large (default: each case's own)")
}

// against gives the targets that are to stand in for the cases' own.
func (s *selection) against(settings schema.Settings) ([]string, error) {
	var names []string
	for _, name := range s.targets {
		found, checked, problem := settings.FindTarget(name)
		switch {
		case problem != nil:
			return nil, usageError("--target: %s; %s", problem.Message, problem.Hint)
		case !checked:
			return nil, usageError("--target %s: gavel.yaml has no targets; add it under targets", name)
		case !slices.Contains(names, found):
			names = append(names, found)
		}
	}
	return names, nil
}

// checkStatuses refuses what is no status: unlike tags, there are three.
func (s *selection) checkStatuses() error {
	known := schema.Shapes()["#Testcase"].Fields["status"].Enum
	for _, status := range s.statuses {
		if !slices.Contains(known, status) {
			hint := cmp.Or(schema.DidYouMean(status, known), "write one of "+strings.Join(known, ", "))
			return usageError("--status %q is not known; %s", status, hint)
		}
	}
	return nil
}

// filter is the part of the selection that leaves cases out.
func (s *selection) filter() choice.Filter {
	return choice.Filter{Keys: s.keys, Tags: s.tags, Difficulties: s.difficulties, Domains: s.domains, Levels: s.levels}
}
