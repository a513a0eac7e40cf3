package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A TargetChange is a change to one target, or to a role.
type TargetChange struct {
	// Target is the name of the target; empty for a role.
	Target string `json:"target,omitempty"`
	// Says is the setting with its old and its new value, such as model old → new.
	Says string `json:"says"`
	// File is the file that defines the target; empty if it is the TargetChanges' file.
	File string `json:"file,omitempty"`
	// Approvable means that head is judged with it once the commit is approved.
	Approvable bool `json:"approvable,omitempty"`
	// Digest identifies a refused change: its setting, and the values in full.
	Digest string `json:"digest,omitempty"`
}

// BeforeMerge ends the reason of a case that does not run because head changes its
// target in a way that needs an acceptance.
const BeforeMerge = "not judged before the merge"

// UntilApproved is in the reason of a case that does not run before somebody approves the
// head.
const UntilApproved = "until the head is approved"

// TargetChanges are the changes to the targets.
type TargetChanges struct {
	// File is the path of gavel.yaml.
	File string `json:"file"`
	// Judged are the changes used in judging.
	Judged []TargetChange `json:"judged,omitempty"`
	// Refused are the changes that take effect after the merge. The affected cases have
	// no verdict, unless the changes were accepted.
	Refused []TargetChange `json:"refused,omitempty"`
	// Accepted is present if a person with write permission accepted them.
	Accepted *Command `json:"accepted,omitempty"`
	// Notes are further facts, such as a price that only head names.
	Notes []string `json:"notes,omitempty"`
	// Broke and Better count the cases of the Judged targets that got worse and better.
	Broke  int `json:"broke"`
	Better int `json:"better"`
	// Errors counts the cases of those targets that have no verdict now, which nothing is
	// known about.
	Errors int `json:"errors,omitempty"`
	// Tokens is the ratio of the tokens that answers of those cases took at head to the
	// tokens at base; null if unknown.
	Tokens *float64 `json:"tokens,omitempty"`
}

// Line summarizes the judged changes: model old → new: 3 broke, 5 got better, tokens
// −41 %. It is empty without changes.
func (c *TargetChanges) Line() string {
	if c == nil || len(c.Judged) == 0 {
		return ""
	}
	var found []string
	if c.Broke > 0 {
		found = append(found, fmt.Sprintf("%d broke", c.Broke))
	}
	if c.Better > 0 {
		found = append(found, fmt.Sprintf("%d got better", c.Better))
	}
	if c.Errors > 0 {
		found = append(found, fmt.Sprintf("%d not judged", c.Errors))
	}
	if len(found) == 0 {
		found = append(found, "no verdict changed")
	}
	if c.Tokens != nil {
		if percent := math.Round(100 * (*c.Tokens - 1)); percent == 0 {
			found = append(found, "as many tokens")
		} else {
			found = append(found, "tokens "+textfmt.Signed(percent, 0)+" %")
		}
	}
	return c.says() + ": " + strings.Join(found, ", ")
}

// says names the judged changes.
func (c *TargetChanges) says() string {
	one := !slices.ContainsFunc(c.Judged, func(t TargetChange) bool { return t.Target != c.Judged[0].Target })
	var said []string
	for i, change := range c.Judged {
		text := change.Says
		if !one && (i == 0 || c.Judged[i-1].Target != change.Target) {
			text = change.Target + " " + text
		}
		said = append(said, text)
	}
	const most = 3
	if left := len(said) - most; left > 0 {
		said = append(said[:most], fmt.Sprintf("%d more", left))
	}
	return strings.Join(said, ", ")
}

// count counts the results of the judged changes.
func (c *TargetChanges) count(r *Report, pairs []pair) {
	if c == nil || len(c.Judged) == 0 {
		return
	}
	var was, is float64
	for i, p := range pairs {
		row := &r.Cases[i]
		if !slices.ContainsFunc(c.Judged, func(t TargetChange) bool { return t.Target == row.Target || t.Target == "" }) {
			continue
		}
		if row.Class != nil {
			switch *row.Class {
			case Regression:
				c.Broke++
			case Improvement:
				c.Better++
			}
		}
		if row.Error != nil {
			c.Errors++
		}
		if p.isAskedAgain() {
			was, is = was+p.base.took(quantities[quantityTokens]), is+p.head.took(quantities[quantityTokens])
		}
	}
	if was > 0 && is > 0 {
		share := is / was
		c.Tokens = &share
	}
}

// notices names the changes that were not used in judging.
func (c *TargetChanges) notices() []Notice {
	if c == nil {
		return nil
	}
	var out []Notice
	for _, change := range c.Refused {
		says := change.Says
		if change.Target != "" {
			says = change.Target + ": " + says
		}
		message := "is not judged: " + says + "; its cases have no verdict until somebody with write permission accepts that"
		switch {
		case c.Accepted != nil:
			message = "is not judged: " + says + "; accepted " + c.Accepted.String()
		case change.Approvable:
			message = "is not judged: " + says + "; its cases have no verdict until somebody with write permission approves this commit"
		}
		out = append(out, Notice{File: cmp.Or(change.File, c.File), Message: message})
	}
	for _, note := range c.Notes {
		out = append(out, Notice{File: c.File, Message: note})
	}
	return out
}

// Waits reports whether cases have no verdict until the commit is approved, and whether
// they have none until head's target changes are accepted.
func (c *TargetChanges) Waits(rows []Row) (approval, acceptance bool) {
	if c == nil || c.Accepted != nil || !slices.ContainsFunc(rows, func(row Row) bool { return row.Unrun() }) {
		return false, false
	}
	approval = slices.ContainsFunc(c.Refused, func(t TargetChange) bool { return t.Approvable })
	return approval, slices.ContainsFunc(rows, func(row Row) bool { return row.Unrun() && strings.HasSuffix(*row.Error, BeforeMerge) })
}

// waives reports whether a case may lack a verdict because the obstacle to judging it
// was accepted.
func (c *TargetChanges) waives(row *Row) bool {
	return c != nil && c.Accepted != nil && row.Unrun() && slices.ContainsFunc(c.Refused, func(t TargetChange) bool { return t.Target == row.Target })
}
