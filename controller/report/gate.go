package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// The rules of GateSettings.FailOn.
const (
	FailOnRegression = "regression"
	FailOnThreshold  = "threshold"
	FailOnAny        = "any_failure"
	FailOnNever      = "never"
)

// GateSettings decide whether a change may proceed. They are read from base, if there
// is one.
type GateSettings struct {
	// FailOn is regression, threshold, any_failure or never. Defaults to
	// regression with a base and any_failure without.
	FailOn string
	// MinScore is the minimum weighted mean over all active cases, in [0,1]; MaxDrop
	// bounds the loss of the mean over cases on both sides. nil disables the rule; a
	// MaxDrop of 0 allows no loss. Neither decides while a case has no verdict. Where
	// measuring again may give another result, both compare intervals: what is proved to
	// be beyond the limit fails, and what is proved to be within passes.
	MinScore, MaxDrop *float64
	// MaxCostRise, MaxTimeRise and MaxTokensRise bound by how much more the answers may take
	// from the agent than at base, as a share of base's, ≥ 0. nil disables the rule.
	MaxCostRise, MaxTimeRise, MaxTokensRise *float64
	// MinPower has the least chances that the comparison would have seen a change for the
	// worse.
	MinPower config.MinPower
	// PassUnsure means that a mean that may be on either side of its limit passes.
	PassUnsure bool
	// Required are globs of keys that must exist and pass. * matches within a segment,
	// ** across them.
	Required []string
	// Removed is allow or fail: the result for a change that drops a case which base
	// judges, by removing, ignoring or disabling it, or by another status. Defaults to
	// allow.
	Removed string
	// Partial means that there are more cases than these: then the score rules do not
	// apply to these alone.
	Partial bool
	// Unasked is the reason why some active cases need no verdict here. Then the scores
	// decide nothing, and any_failure only checks the affected cases. It is empty if
	// all cases need one.
	Unasked string
	// Selected means that people selected some cases: the others do not count. Unasked
	// says so.
	Selected bool
	// FailFlaky fails the gate if the change affects a flaky case.
	FailFlaky bool
	// Once means that nothing is measured again on purpose: single cases stay unclear, and
	// all together decide.
	Once bool
	// FailScores makes the gate fail where the scores fell for certain.
	FailScores bool
}

// requires reports whether a key is among the required ones.
func (s *GateSettings) requires(key string) bool {
	return slices.ContainsFunc(s.Required, func(glob string) bool { return wildcard.Match(glob, key) })
}

// findings collect the objections to the change.
type findings struct {
	fail, undetermined []string
	// unsure are scores that pass although they may be beyond their limits, and held the
	// ones that further measurements proved to be within.
	unsure, held []string
	// unselected are the required globs without a selected case.
	unselected []string
}

func (f *findings) failed(format string, args ...any) {
	f.fail = append(f.fail, fmt.Sprintf(format, args...))
}

func (f *findings) unknown(format string, args ...any) {
	f.undetermined = append(f.undetermined, fmt.Sprintf(format, args...))
}

// gate applies the settings. A failure outweighs an undetermined result, and the reason
// names all of the same kind. rest are the cases without a row. An accepted or
// quarantined case breaks no rule; the reason mentions it. If cases had to be judged
// and nothing was run, no rule passes the gate.
func gate(r *Report, pairs []pair, rest plan.Rest, s GateSettings) Gate {
	rule := s.FailOn
	if rule == "" {
		rule = FailOnRegression
		if r.Base == nil {
			rule = FailOnAny
		}
	}
	var f findings
	if r.NotRunReason != "" && due(pairs) > 0 {
		f.unknown("nothing was run: %s", r.NotRunReason)
	} else {
		f.unjudged(r, pairs, rest)
		f.invalid(r.Problems)
		left, kept := withoutWaived(r, pairs)
		f.rule(left, kept, rule, s)
		f.scores(left, kept, s)
		f.rises(r, kept, s)
		f.power(r, s)
		f.withdrawals(r, s)
		f.required(r, s)
		f.flaky(left, s)
		f.silent(r, pairs)
	}
	g := Gate{FailOn: rule}
	switch {
	case rule == FailOnNever && (unrun(r, pairs) || WaitingFiles(r.Problems) > 0):
		g.Result, g.Reason = GateUndetermined, strings.Join(f.undetermined, "; ")
	case rule == FailOnNever:
		g.Result, g.Reason = GatePass, "fail_on: never"
		if all := append(f.fail, f.undetermined...); len(all) > 0 {
			g.Reason += "; otherwise: " + strings.Join(all, "; ")
		}
	case len(f.fail) > 0:
		g.Result, g.Reason = GateFail, strings.Join(f.fail, "; ")
	case len(f.undetermined) > 0:
		g.Result, g.Reason = GateUndetermined, strings.Join(f.undetermined, "; ")
	default:
		g.Result, g.Reason = GatePass, passReason(r, rule, s, len(f.unsure) > 0)
		if said := Withdrawals(r); said != "" {
			g.Reason += "; " + said
		}
		if n := needing(pairs); n > 0 {
			g.Reason += "; " + textfmt.Count(n, "case") + " " + textfmt.Verb(n, "is", "are") + " not run (see the warnings)"
		}
		for _, said := range f.held {
			g.Reason += "; " + said
		}
		for _, said := range f.unsure {
			g.Reason += "; " + said
			r.Notices = append(r.Notices, Notice{Message: said})
		}
	}
	g.Reason += exempt(r)
	if g.Unasked = f.unasked(r, s); g.Unasked != "" {
		g.Reason += "; " + g.Unasked
	}
	return g
}

// unasked names the score limits and required cases that decide nothing, with the
// reason; empty without any.
func (f *findings) unasked(r *Report, s GateSettings) string {
	var limits []string
	if s.MinScore != nil {
		limits = append(limits, fmt.Sprintf("min_score %v", *s.MinScore))
	}
	if s.MaxDrop != nil && r.Base != nil {
		limits = append(limits, fmt.Sprintf("max_drop %v", *s.MaxDrop))
	}
	if r.Base != nil {
		for _, l := range s.rises() {
			limits = append(limits, l.String())
		}
	}
	for _, glob := range f.unselected {
		limits = append(limits, "required case "+glob)
	}
	if s.Unasked == "" || len(limits) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s not asked, since %s", strings.Join(limits, " and "), textfmt.Verb(len(limits), "is", "are"), s.Unasked)
}

// due counts the cases that had to be judged in this run.
func due(pairs []pair) int {
	n := 0
	for _, p := range pairs {
		if p.isDue() {
			n++
		}
	}
	return n
}

// unrun reports whether cases had to be judged and none was run, for a common reason or
// for a reason of each case.
func unrun(r *Report, pairs []pair) bool {
	wanted := due(pairs)
	if wanted == 0 || r.NotRunReason != "" {
		return wanted > 0
	}
	left := 0
	for i, p := range pairs {
		row := &r.Cases[i]
		switch {
		case !p.isDue() || r.TargetChanges.waives(row):
		case !row.Unrun():
			return false
		default:
			left++
		}
	}
	return left > 0
}

// invalid reports invalid definitions, unless one of their cases has been reported.
func (f *findings) invalid(problems []schema.Problem) {
	if len(f.undetermined) > 0 {
		return
	}
	invalid, waiting := unusable(problems)
	if invalid > 0 {
		f.unknown("%s %s invalid", textfmt.Count(invalid, "definition"), textfmt.Verb(invalid, "is", "are"))
	}
	if waiting > 0 {
		f.unknown("%s %s for approval", textfmt.Count(waiting, "definition"), textfmt.Verb(waiting, "waits", "wait"))
	}
}

// unjudged finds conditions that make every other rule moot: nothing to judge, and
// wanted cases without a judgement.
func (f *findings) unjudged(r *Report, pairs []pair, rest plan.Rest) {
	current, errors, unrun, invalid, waiting := rest.Cases-rest.Skipped, 0, 0, 0, 0
	for i, p := range pairs {
		if active(p.plan.Head) {
			current++
		}
		switch row := r.Cases[i]; {
		case row.Quarantine != nil || r.TargetChanges.waives(&row):
		case row.Invalid() && waits(row.Reasons):
			waiting++
		case row.Invalid():
			invalid++
		case row.Unrun():
			unrun++
		case row.Error != nil:
			errors++
		}
	}
	switch {
	case OutOfBounds(r.Problems):
		f.unknown("%s", r.NotRunReason)
	case r.Summary.Cases+rest.Cases == 0 && schema.HasErrors(r.Problems): // its cases are not known
	case r.Summary.Cases+rest.Cases == 0:
		f.unknown("there is no case")
	case current == 0 && invalid+waiting == 0 && !schema.HasErrors(r.Problems):
		all := "the only one is"
		if n := r.Summary.Cases + rest.Cases; n > 1 {
			all = fmt.Sprintf("all %d are", n)
		}
		f.unknown("no case is active: %s skipped", all)
	}
	if errors > 0 {
		f.unknown("%s ended in an error", textfmt.Count(errors, "case"))
	}
	if unrun > 0 {
		f.unknown("%s %s not run%s", textfmt.Count(unrun, "case"), textfmt.Verb(unrun, "was", "were"), because(r.Cases))
	}
	if invalid > 0 {
		f.unknown("%s of base %s not run because the definition is invalid", textfmt.Count(invalid, "case"), textfmt.Verb(invalid, "was", "were"))
	}
	if waiting > 0 {
		f.unknown("%s of base %s not run because the definition waits for approval", textfmt.Count(waiting, "case"), textfmt.Verb(waiting, "was", "were"))
	}
}

// NotRunPrefix begins the error of a case that was not run, such as one beyond the
// budget.
const NotRunPrefix = "not run: "

// because returns the budget that kept cases from running, if it was a budget.
func because(rows []Row) string {
	why := ""
	for _, row := range rows {
		if !row.Unrun() {
			continue
		}
		_, budget, ok := strings.Cut(*row.Error, NotRunPrefix)
		if !ok || why != "" && why != budget {
			return ""
		}
		why = budget
	}
	if why == "" {
		return ""
	}
	return ", since " + why
}

// silent objects if no affected judged case makes a demand on the answer: such cases
// pass whatever the answer is, so their gate means nothing. Verdicts of unaffected
// cases do not help.
func (f *findings) silent(r *Report, pairs []pair) {
	judged := 0
	for i := range r.Cases {
		switch row := &r.Cases[i]; {
		case !pairs[i].plan.Changed():
		case row.Verdict == nil || row.Action == plan.Removed || *row.Verdict == verdict.Skipped:
		case !row.AsksNothing:
			return
		default:
			judged++
		}
	}
	if judged > 0 {
		f.unknown("%s %s nothing of the answer, and no other affected case was judged", textfmt.Count(judged, "case"), textfmt.Verb(judged, "asks", "ask"))
	}
}

// rule applies fail_on. For never it evaluates the default rule, so that the reason can
// mention what would have failed.
func (f *findings) rule(r *Report, pairs []pair, rule string, s GateSettings) {
	if rule == FailOnNever {
		rule = FailOnRegression
		if r.Base == nil {
			rule = FailOnAny
		}
	}
	switch rule {
	case FailOnThreshold:
		if s.MinScore == nil && s.MaxDrop == nil && !s.Partial {
			f.unknown("fail_on: threshold needs min_score or max_drop")
		}
	case FailOnAny:
		counts := r.Summary.Verdicts
		if s.Unasked != "" && r.Base != nil {
			counts = ofChanged(r.Cases, pairs)
		}
		if n := counts.Fail; n > 0 {
			f.failed("%s %s (fail_on: any_failure)", textfmt.Count(n, "case"), textfmt.Verb(n, "fails", "fail"))
		}
		if n := counts.Borderline; n > 0 {
			f.failed("%s %s borderline (fail_on: any_failure)", textfmt.Count(n, "case"), textfmt.Verb(n, "is", "are"))
		}
	case FailOnRegression:
		f.regressions(r, pairs)
		f.unsettled(r, s)
	}
}

// ofChanged counts the verdicts of cases that differ between the sides.
func ofChanged(rows []Row, pairs []pair) (counts Verdicts) {
	for i, p := range pairs {
		if p.plan.Changed() && p.plan.Action != plan.Removed {
			counts.Count(rows[i].Verdict)
		}
	}
	return counts
}

func (f *findings) regressions(r *Report, pairs []pair) {
	fresh := 0
	var unclear []*Row
	for i, p := range pairs {
		row := &r.Cases[i]
		if !judged(p.head) {
			continue
		}
		switch v := p.head.Result.Verdict; {
		case row.Class != nil && *row.Class == New && row.Confirmation != nil:
			if row.Confirmation.Held != nil && !*row.Confirmation.Held {
				fresh++
			}
		case v == verdict.Fail && (row.Class == nil || *row.Class == New):
			fresh++
		case v != verdict.Pass && row.Class != nil && *row.Class == Unclear && row.Confirmation == nil:
			unclear = append(unclear, row)
		}
	}
	if n := r.Diff.Regressions; n > 0 {
		f.failed("%s regressed (fail_on: regression)", textfmt.Count(n, "case"))
	}
	switch {
	case fresh > 0 && r.Base == nil:
		f.failed("%s %s and there is no base to compare with", textfmt.Count(fresh, "case"), textfmt.Verb(fresh, "fails", "fail"))
	case fresh > 0:
		f.failed("%s %s", textfmt.Count(fresh, "new case"), textfmt.Verb(fresh, "fails", "fail"))
	}
	if n := len(unclear); n > 0 {
		f.unknown("%s %s without a verdict at base to compare with%s", textfmt.Count(n, "case"), textfmt.Verb(n, "does not pass", "do not pass"), baseless(unclear))
	}
}

// baseless returns the common reason why base has no verdict of rows.
func baseless(rows []*Row) string {
	why := rows[0].BaseError
	if why == "" || slices.ContainsFunc(rows, func(row *Row) bool { return row.BaseError != why }) {
		return ""
	}
	return ": " + strings.TrimPrefix(why, NotRunPrefix)
}

// scores applies min_score and max_drop, which count under every rule. A case without a
// verdict leaves them open: it may be on either side of the limit.
func (f *findings) scores(r *Report, pairs []pair, s GateSettings) {
	if s.Unasked != "" {
		return
	}
	head, base := unknown(r.Cases, pairs)
	if s.MinScore != nil {
		switch got := r.Summary.Score; {
		case got == nil:
			f.unknown("min_score %v is set and nothing has a score", *s.MinScore)
		case head > 0:
			f.unknown("min_score %v is not decided: %s %s no verdict", *s.MinScore, textfmt.Count(head, "active case"), textfmt.Verb(head, "has", "have"))
		default:
			f.minScore(r, pairs, s)
		}
	}
	if s.MaxDrop == nil || r.Base == nil {
		return
	}
	switch delta := r.Diff.Delta; {
	case delta == nil && anyAtBase(pairs):
		f.unknown("max_drop %v is set and no case was judged on both sides", *s.MaxDrop)
	case base > 0:
		f.unknown("max_drop %v is set and base has no verdict of %s", *s.MaxDrop, textfmt.Count(base, "case"))
	case head > 0:
		f.unknown("max_drop %v is not decided: %s %s no verdict", *s.MaxDrop, textfmt.Count(head, "active case"), textfmt.Verb(head, "has", "have"))
	case delta != nil:
		f.maxDrop(r, pairs, s)
	}
}

// unknown counts the active cases without a verdict at head, and the cases of both
// sides without one at base.
func unknown(rows []Row, pairs []pair) (head, base int) {
	for i, p := range pairs {
		switch {
		case p.isUnjudged() || rows[i].Invalid():
			head++
		case judged(p.head) && active(p.plan.Base) && !judged(p.base):
			base++
		}
	}
	return head, base
}

// isUnjudged reports whether the case is active at head and has no verdict.
func (p pair) isUnjudged() bool {
	skipped := p.head != nil && p.head.Result.Verdict == verdict.Skipped
	return active(p.plan.Head) && !skipped && !judged(p.head)
}

// short formats a score with three decimals, or with more if those would hide on which
// side of a limit it is.
func short(x, limit float64) string {
	text := textfmt.Score(&x, 3)
	if shown, err := strconv.ParseFloat(text, 64); err != nil || shown == limit && round9(x) != round9(limit) {
		return textfmt.Score(&x, 9)
	}
	return text
}

// loweredWeights returns the note that a score uses base's weights because head lowers
// some; empty otherwise.
func loweredWeights(r *Report) string {
	n := 0
	for i := range r.Cases {
		if row := &r.Cases[i]; row.HeadWeight != nil && *row.HeadWeight < row.Weight {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", by base's weights: %s %s lowered here", textfmt.Count(n, "weight"), textfmt.Verb(n, "is", "are"))
}

func anyAtBase(pairs []pair) bool {
	for _, p := range pairs {
		if active(p.plan.Base) && active(p.plan.Head) {
			return true
		}
	}
	return false
}

// round9 rounds to 1e-9, so that a drop of 0.1 is one.
func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }

// required requires that each glob matches a case and that all its matches pass.
func (f *findings) required(r *Report, s GateSettings) {
	for _, glob := range s.Required {
		found := false
		for _, row := range r.Cases {
			if row.Class != nil && *row.Class == Gone || !wildcard.Match(glob, row.Key) {
				continue
			}
			found = true
			switch {
			case row.OutOfGate() || row.isNoise() || row.holds():
			case row.Confirmation != nil && row.Confirmation.Open:
				f.unknown("required case %s is not settled: %s", row.Name(), row.Confirmation.Sentence)
			case row.Verdict == nil || *row.Verdict == verdict.Error:
				f.unknown("required case %s was not judged", row.Name())
			case *row.Verdict != verdict.Pass:
				f.failed("required case %s did not pass: %s", row.Name(), *row.Verdict)
			}
		}
		switch {
		case found:
		case s.Selected:
			f.unselected = append(f.unselected, glob)
		default:
			f.failed("required case %s is not there", glob)
		}
	}
}

func passReason(r *Report, rule string, s GateSettings, unsure bool) string {
	switch {
	case NothingAffected(r) && !allAsked(r) && r.Diff.Regressions == 0 && len(r.Unconfirmed()) == 0:
		return "no affected cases"
	case rule == FailOnThreshold && s.Unasked != "":
		return "nothing is decided by single cases (fail_on: threshold)"
	case rule == FailOnThreshold && s.Partial:
		return "the scores of all cases together decide (fail_on: threshold)"
	case rule == FailOnThreshold && unsure:
		return "the scores are not proved to be beyond the limits (fail_on: threshold)"
	case rule == FailOnThreshold:
		return "the scores are within the limits (fail_on: threshold)"
	case rule == FailOnAny && s.Unasked != "" && r.Base != nil:
		return "no affected case fails (fail_on: any_failure)"
	case rule == FailOnAny:
		return "no case fails (fail_on: any_failure)"
	}
	said := "no case regressed"
	if s.Once && len(r.Unconfirmed()) > 0 {
		said = fmt.Sprintf("the cases did not get worse on the whole; %s in one run a side", strings.Join(r.Unconfirmed(), ", "))
		if r.Remeasured.Why != "" {
			said += ": " + r.Remeasured.Why
		}
	}
	unsettled := len(unclear(r))
	if unsettled > 0 {
		said += fmt.Sprintf(", %s unclear", textfmt.Count(unsettled, "case"))
	}
	for i := range r.Cases { // those that nobody measures again are not settled either
		if row := &r.Cases[i]; s.Once && row.Class != nil && *row.Class == Unclear && row.Confirmation != nil && row.Confirmation.Open {
			unsettled++
		}
	}
	if n := r.Diff.Unclear - unsettled; n > 0 {
		said += fmt.Sprintf(", %s %s no verdict at base to compare with", textfmt.Count(n, "case"), textfmt.Verb(n, "has", "have"))
	}
	if fell := r.ScoresFell(); fell != "" && !s.Partial {
		said += ", " + fell
	}
	return said + " (fail_on: regression)"
}

// String renders the gate as "Gate failed: reason".
func (g Gate) String() string {
	word := "undetermined"
	switch g.Result {
	case GatePass:
		word = "passed"
	case GateFail:
		word = "failed"
	}
	return "Gate " + word + ": " + g.Reason
}
