package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
)

// A selection selects cases for a command. An empty one selects all.
type selection struct {
	controller.Selection
	// Base is the ref to compare with.
	Base string
	// Since is a ref: only cases that the change since then can have affected count. It
	// excludes Base.
	Since string
	// Unasked is the field of the [controller.Request].
	Unasked string
	// AffectedOnly means that the other cases need no row.
	AffectedOnly bool
	// DueOnly means that only the cases to be judged need loading.
	DueOnly bool
	// Brief means that the plan is not executed.
	Brief bool
}

// BindLift adds the flag of commands that judge, or plan it.
func (s *selection) BindLift(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.Lift, "lift", false, "also run the cases of agent skills without their skill, and report what it adds (default: skills.lift of gavel.yaml); it decides nothing")
}

// Bind adds the selection's flags to a command whose arguments are globs of keys.
func (s *selection) Bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*refValue)(&s.Base), "base", "compare with the merge base of this ref and HEAD, such as main (default: no comparison)")
	f.Var((*refValue)(&s.Since), "since", "only cases that the change since the merge base of this ref and HEAD can have affected, such as main; unlike --base, nothing is compared or run there")
	f.BoolVar(&s.All, "all", false, "with --base, take every selected case instead of only the affected ones; stored verdicts are reused (without --base this is the default)")
	f.BoolVar(&s.Fresh, "fresh", false, "judge cases again although their verdicts are stored; an interrupted run continues")
	f.Var((*repeatValue)(&s.Repeat), "repeat", "judge every selected case with this many fresh samples instead of its iterations, at base too, such as 10; at most 1000 (default: its iterations, counting stored samples)")
	f.StringSliceVar(&s.Only, "only", nil, "only cases that failed, ended in an error or were flaky in the last run of the working tree's branch, such as failed,errors")
	f.StringSliceVar(&s.Tags, "tag", nil, "only cases with one of these tags, such as red-team,slow")
	f.StringSliceVar(&s.Difficulties, "difficulty", nil, "only cases of these difficulties, such as hard")
	f.StringSliceVar(&s.Statuses, "status", nil, "only cases with these statuses, including inactive ones, such as draft (default: all statuses, judging only active cases)")
	f.StringSliceVar(&s.Domains, "domain", nil, "only cases of these domains, such as math")
	f.StringSliceVar(&s.Levels, "level", nil, "only cases of these levels, such as 2")
	f.StringSliceVar(&s.Targets, "target", nil, "run every selected case against each of these targets, such as small,large (default: each case's own)")
}

// A refValue is a branch, a tag or a commit, which may be left out and may not be empty: a
// variable of a script without a value would change what a run decides.
type refValue string

// Set takes a name.
func (v *refValue) Set(text string) error {
	if text == "" {
		return errors.New("it is empty; write a branch, a tag or a commit, or leave the flag out")
	}
	*v = refValue(text)
	return nil
}

// String returns the name.
func (v *refValue) String() string { return string(*v) }

// Type returns the name shown in help.
func (v *refValue) Type() string { return "string" }

// A repeatValue is a number of samples, which may be left out and may not be 0.
type repeatValue int

// Set parses a number.
func (v *repeatValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		return errors.New("write a number from 1 to 1000")
	}
	*v = repeatValue(n)
	return nil
}

// String returns an empty text for none, so that help shows no default.
func (v *repeatValue) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.Itoa(int(*v))
}

// Type returns the name shown in help.
func (v *repeatValue) Type() string { return "int" }

// noCases returns the advice for a run in which nothing is judged.
func (s *selection) noCases() string {
	if len(s.Only) > 0 {
		return "no selected case ended so in the last run: --only " + strings.Join(s.Only, ",")
	}
	return noCases
}
