// Package report has what a run found: the cases with their verdicts on both
// sides, the difference, the groups, the gate and the notices.
//
// [Compare] sets head against base and returns a [Report]. Everything here is pure;
// the reporters render the same Report, each for its readers, or publish it.
package report

import (
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/row"
)

// A Class is how a case compares with base.
type Class string

const (
	// Regression means that the verdict got worse in the order pass,
	// borderline, fail, and that further measurements confirm it, if there were some.
	Regression Class = "regression"
	// Improvement means that it got better, and that more was changed than the
	// rule that decides.
	Improvement Class = "improvement"
	// Unchanged means the same verdict, or a better one that only another rule
	// makes of the same measurements. A score that moved shows in the scores, in
	// Diff.Delta and in the gate's max_drop.
	Unchanged Class = "unchanged"
	// Unclear means that base has no verdict to compare with, or that further
	// measurements do not settle whether the case got worse.
	Unclear Class = "unclear"
	// Flaky means that the same decision digest gave another verdict, or that the case
	// was worse once and not when it was measured again.
	Flaky Class = "flaky"
	// New means that base does not have the case, or skips it.
	New Class = "new"
	// Gone means that only base has the case.
	Gone Class = "removed"
	// Moved means that only the key of the case changed.
	Moved Class = "moved"
	// Failed means that a case that was wanted has no judgement at head.
	Failed Class = "error"
)

// A Report is what a run found. Its JSON is what `gavel run --json` prints;
// absent numbers are null.
type Report struct {
	Run string `json:"run"`
	// Base and Head are 40 hex digits, worktree, or null.
	Base    *string `json:"base"`
	Head    *string `json:"head"`
	Cases   []Row   `json:"cases"`
	Summary Summary `json:"summary"`
	Diff    Diff    `json:"diff"`
	Gate    Gate    `json:"gate"`

	// Groups are the scores of the dialects' aggregates: domains and levels.
	Groups []Group `json:"groups"`
	// Labels count the cases by difficulty, tag and status, as far as they have them.
	Labels []Label `json:"labels,omitempty"`
	// GroupGates are there where every group has a status of its own.
	GroupGates []groupGate `json:"group_gates,omitempty"`
	// Conversations are those of cases that are turns of the same one; the path
	// is that of the suite and the name of the conversation.
	Conversations []Group `json:"conversations"`
	// Remeasured is there where cases were compared that could be noise.
	Remeasured *Noise `json:"remeasured,omitempty"`
	// Nightly is there where a scheduled run measured cases further, for the history.
	Nightly *Night `json:"nightly,omitempty"`
	// Targets compares those that every case was run against, where there are
	// several.
	Targets []TargetTally `json:"targets,omitempty"`
	// TargetChanges are there where the change has others than base has.
	TargetChanges *TargetChanges   `json:"target_changes,omitempty"`
	Problems      []schema.Problem `json:"problems"`
	// Notices are changes that could hide a failure: a changed configuration,
	// a lowered threshold or weight, a case that is gone or disabled.
	Notices []Notice `json:"notices"`
	// ConfigDigest is the digest of the gavel.yaml that decided.
	ConfigDigest string `json:"config_digest"`
	// Rules is whose gavel.yaml that is; nil where it is that of a side.
	Rules      *Rules `json:"rules,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// Saved is what reused verdicts cost when they were made.
	Saved Saved `json:"saved"`
	// NotRunReason says why nothing was run although cases are affected: a plan
	// that waits for approval. Empty for a run.
	NotRunReason string `json:"not_run_reason"`
	// Estimate is what running it will take; it is there where nothing was run.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Commands are what people asked for in comments and got, the oldest first.
	Commands []Command `json:"commands,omitempty"`
}

// ExitCode is what a command ends with: 2 when definitions are invalid, else 1
// when the gate did not pass, else 0.
func (r *Report) ExitCode() int {
	switch {
	case schema.HasErrors(r.Problems):
		return 2
	case r.Gate.Result != GatePass:
		return 1
	}
	return 0
}

// A Row is one case of a Report.
type Row struct {
	Key     string `json:"key"`
	Dialect string `json:"dialect"`
	Target  string `json:"target"`
	// PerTarget says that the case has a row for each of several targets.
	PerTarget bool `json:"per_target,omitempty"`
	// File and Line are the origin at head, or at base for a removed case.
	File string `json:"file"`
	Line int    `json:"line"`

	Action plan.Action `json:"action"`
	// Verdict is null for a case that was not judged in this run or before.
	Verdict     *verdict.Verdict `json:"verdict"`
	Score       *float64         `json:"score"`
	Native      *native          `json:"native"`
	BaseVerdict *verdict.Verdict `json:"base_verdict"`
	BaseScore   *float64         `json:"base_score"`
	// BaseError says why there is no judgement at base although it was to have
	// one.
	BaseError string `json:"base_error,omitempty"`
	// Class is null where nothing was compared: without a base, for a case that
	// is skipped here but was not at base, for one that was planned but not meant
	// to run yet, and for one that nothing affects and nobody has judged.
	Class     *Class  `json:"class"`
	MovedFrom *string `json:"moved_from"`
	// Confirmation is there where further measurements say more of the class.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	// Digest is the decision digest at head, empty where head has no case.
	Digest     string        `json:"digest"`
	Samples    int           `json:"samples"`
	Calls      int           `json:"calls"`
	Tokens     int64         `json:"tokens"`
	CostUSD    *float64      `json:"cost_usd"`
	DurationMS int64         `json:"duration_ms"`
	Reasons    []plan.Reason `json:"reasons"`
	// Error says why there is no judgement; null when there is one.
	Error *string `json:"error"`

	// VerdictReason is the judgement in one line: what the judge or evaluator said.
	VerdictReason string `json:"verdict_reason"`
	// Groups are the case's domain and level, or suite.
	Groups []string `json:"groups"`
	// Conversation names the conversation that the case is a turn of; empty for a case of
	// its own.
	Conversation string `json:"conversation,omitempty"`
	// Weight is the case's share in every mean of the report: base's where base
	// has the case. HeadWeight is what head gives it, where that is another.
	Weight     float64  `json:"weight"`
	HeadWeight *float64 `json:"head_weight,omitempty"`
	// NoThreshold says that the case has no threshold, so that every score passes.
	NoThreshold bool `json:"no_threshold,omitempty"`
	// AsksNothing says that the case asks nothing of the answer, so that it passes
	// whatever that is.
	AsksNothing bool `json:"asks_nothing,omitempty"`
	// Required says that the gate asks for the case by name: it must pass.
	Required bool `json:"required,omitempty"`
	// Withdrawn says how a case that is active at base is no longer judged here:
	// removed, ignored, disabled, drafted, or the status that it has. Empty for
	// all others.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Accepted is there where somebody wrote that this result is meant, so that
	// it speaks against the change no more.
	Accepted *Command `json:"accepted,omitempty"`
	// Quarantine is there where the case is out of the gate until a date.
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	// Flaky is there where the case came to different verdicts without a change.
	Flaky *FlakyCase `json:"flaky,omitempty"`
	// Attempts are those of a case that was run again because it failed, and
	// Comparison is the A/B comparison of its prompt with a second one.
	Attempts   []verdict.Attempt   `json:"attempts,omitempty"`
	Comparison *verdict.Comparison `json:"comparison,omitempty"`
	// UnknownVersion says that nobody knows which version of the agent gave the
	// verdict. JudgedAt is there where it was reused then, and is when the agent
	// was asked.
	UnknownVersion bool       `json:"unknown_version,omitempty"`
	JudgedAt       *time.Time `json:"judged_at,omitempty"`
	// Evaluators are the scores that make that of the case, at head.
	Evaluators []EvaluatorScore `json:"evaluators,omitempty"`
	// Detail is there for cases that people will want to look into.
	Detail *Detail `json:"detail,omitempty"`
	// Identity is there for cases of the testcase format where the report is printed
	// as JSON. It is not a part of the report that is stored.
	*Identity
	// Result is what files of results have besides; nil where Input.Results does
	// not ask for it. It is not a part of the report that is stored.
	Result *Result `json:"-"`
}

// Decode reads a stored report. The error says that the text is not one.
func Decode(stored []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(stored, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// An EvaluatorScore is what one evaluator adds to the score of a case.
type EvaluatorScore struct {
	Name   string   `json:"name"`
	Type   string   `json:"type,omitempty"`
	Score  float64  `json:"score"`
	Weight *float64 `json:"weight"`
	Pass   bool     `json:"pass"`
	// Evaluators are the members of a composite that were measured.
	Evaluators []EvaluatorScore `json:"evaluators,omitempty"`
}

// A Result is what is known of the verdict on a case at head.
type Result struct {
	Labels schema.Labels
	// Judged is when a reused verdict was made; zero for one of this run.
	Judged time.Time
	// Transcript is of the sample that explains the verdict; nil where it is not
	// known any more.
	Transcript *verdict.Transcript
	Evaluators []verdict.EvaluatorResult
	// Best says that the result is that of the best of several samples.
	Best bool
	// Samples are those that were judged, where there are several and they are stored.
	Samples []Sample
	// Row is what a case of the matrix dialect is made of; nil where that is not known.
	Row *row.Row
}

// Name is what the row is called where people read it: the key, with the
// target where there are several.
func (row *Row) Name() string {
	if row.PerTarget {
		return row.Key + " @ " + row.Target
	}
	return row.Key
}

// Confirmed reports whether the row is a regression that further measurements
// confirm.
func (row *Row) Confirmed() bool {
	return row.Class != nil && *row.Class == Regression && row.Confirmation != nil && row.Confirmation.Confirmed
}

// Named reports whether the row is meant by a name: by its own, or by the key,
// which means it with every target.
func (row *Row) Named(name string) bool { return name == row.Key || name == row.Name() }

// Invalid reports whether the definition that the case had at base cannot be
// read any more, so that nobody can judge it.
func (row *Row) Invalid() bool { return row.Action == plan.Skip && row.Error != nil }

// Retried reports whether the case was run again because it failed, or with two
// prompts.
func (row *Row) Retried() bool { return len(row.Attempts) > 0 || row.Comparison != nil }

// Unrun reports whether the case was to be judged and was not although nothing
// went wrong: a budget was not enough, the run was stopped, or what it needs
// is not allowed here.
func (row *Row) Unrun() bool { return row.Error != nil && row.Verdict == nil && !row.Invalid() }

// Turn writes the verdicts of a row that has both: "fail → pass".
func (row *Row) Turn() string { return string(*row.BaseVerdict) + " → " + string(*row.Verdict) }

// native is the score as the dialect writes it: value of scale.
type native struct {
	Value float64 `json:"value"`
	Scale float64 `json:"scale"`
}

// Detail shows how a verdict came about.
type Detail struct {
	Messages []schema.Message `json:"messages"`
	// BaseReply is the last reply at base, where it is another; nil where none is known.
	BaseReply *schema.Message `json:"base_reply,omitempty"`
	Criteria  []CriterionDiff `json:"criteria"`
}

// A CriterionDiff is the mean score of one criterion on both sides, null
// where it was not measured.
type CriterionDiff struct {
	Evaluator string   `json:"evaluator"`
	ID        string   `json:"id"`
	Base      *float64 `json:"base"`
	Head      *float64 `json:"head"`
	Note      string   `json:"note"`
}

// Summary counts the cases of a Report.
type Summary struct {
	Verdicts
	// NoThreshold counts those that pass because no threshold is set.
	NoThreshold int `json:"no_threshold,omitempty"`
	// AsksNothing counts those that pass and ask nothing of the answer.
	AsksNothing int `json:"asks_nothing,omitempty"`
	// ChangedUnrun counts the cases that the change adds or changes and that are not run.
	ChangedUnrun int `json:"changed_unrun,omitempty"`
	// Run, Rejudged, Redecided, Reused and Removed count by the plan's action,
	// whatever became of the case.
	Run       int `json:"run"`
	Rejudged  int `json:"rejudged"`
	Redecided int `json:"redecided"`
	Reused    int `json:"reused"`
	// Affected counts the cases that are not the same on both sides: those under another
	// decision digest, and those that are new, removed, moved, or active on one side
	// alone. null without a base, and where a commit is judged again.
	Affected *int `json:"affected"`
	// NotRun counts those of Run, Rejudged and Redecided that were not judged
	// although nothing went wrong; Error counts them, too.
	NotRun int `json:"not_run,omitempty"`
	// NoVerdict counts those of Reused of which nothing is stored: cases that
	// nothing affects and that nobody has judged here.
	NoVerdict int      `json:"no_verdict,omitempty"`
	Removed   int      `json:"removed"`
	Calls     int      `json:"calls"`
	Tokens    int64    `json:"tokens"`
	CostUSD   *float64 `json:"cost_usd"`
	// Score is the weighted mean over all judged cases.
	Score *float64 `json:"score"`
}

// Diff speaks of the cases that were judged on both sides.
type Diff struct {
	Pairs     int      `json:"pairs"`
	ScoreBase *float64 `json:"score_base"`
	ScoreHead *float64 `json:"score_head"`
	Delta     *float64 `json:"delta"`
	Between
	Regressions  int `json:"regressions"`
	Improvements int `json:"improvements"`
	// Confirmed are the regressions that further measurements confirm.
	Confirmed int `json:"confirmed,omitempty"`
	Unclear   int `json:"unclear"`
	Flaky     int `json:"flaky,omitempty"`
	New       int `json:"new"`
	Removed   int `json:"removed"`
	Moved     int `json:"moved"`
}

// Between are the ends of the 95 % confidence interval of a difference of means; nil
// where there is nothing to tell the noise by. Then the difference itself may be noise,
// and people are shown no number.
type Between struct {
	CILow  *float64 `json:"ci_low"`
	CIHigh *float64 `json:"ci_high"`
}

// Known reports whether there is an interval.
func (b Between) Known() bool { return b.CILow != nil && b.CIHigh != nil }

// Fell reports whether the difference is certainly below 0.
func (b Between) Fell() bool { return b.Known() && *b.CIHigh < 0 }

// Rose reports whether the difference is certainly above 0.
func (b Between) Rose() bool { return b.Known() && *b.CILow > 0 }

// Gate is whether the change may go on.
type Gate struct {
	// Result is pass, fail or undetermined.
	Result string `json:"result"`
	Reason string `json:"reason"`
	// Unasked names the rules that decide nothing here and says why, such as min_score where
	// some cases are selected. Reason ends with it.
	Unasked string `json:"unasked,omitempty"`
	// FailOn is the rule that was applied, with its default filled in.
	FailOn string `json:"fail_on"`
}

// The results of a Gate.
const (
	GatePass         = "pass"
	GateFail         = "fail"
	GateUndetermined = "undetermined"
)

// A Notice is a change that people must see before they trust a green gate.
type Notice struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Case    string `json:"case"`
	Message string `json:"message"`
	// AtBase says that file and line are those at base.
	AtBase bool `json:"at_base"`
}

// Saved is what reused verdicts cost when they were made.
type Saved struct {
	Calls   int      `json:"calls"`
	CostUSD *float64 `json:"cost_usd"`
}
