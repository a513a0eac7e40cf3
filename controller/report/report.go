// Package report describes the result of a run: the cases with their verdicts on both
// sides, the difference, the groups, the gate and the notices.
//
// [Compare] compares head with base and returns a [Report]. Everything here is pure;
// the reporters render the same Report, each for its readers, or publish it.
package report

import (
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A Class is a case's comparison with base.
type Class string

const (
	// Regression means that the verdict got worse in the order pass, borderline, fail,
	// and that reruns, if any, confirm it.
	Regression Class = "regression"
	// Improvement means that it got better, and that more changed than the deciding
	// rule.
	Improvement Class = "improvement"
	// Unchanged means the same verdict, or a better one that only results from another
	// rule for the same measurements. A score that moved shows in the scores, in
	// Diff.Delta and in the gate's max_drop.
	Unchanged Class = "unchanged"
	// Unclear means that base has no verdict to compare with, or that reruns do not
	// settle whether the case got worse.
	Unclear Class = "unclear"
	// Flaky means that the same decision digest gave another verdict, or that the case
	// was worse once and not in its reruns.
	Flaky Class = "flaky"
	// New means that base lacks the case, or skips it.
	New Class = "new"
	// Gone means that only base has the case.
	Gone Class = "removed"
	// Moved means that only the key of the case changed.
	Moved Class = "moved"
	// Failed means that a wanted case has no judgement at head.
	Failed Class = "error"
)

// A Report is the result of a run. `gavel run --json` prints it as JSON; absent numbers
// are null.
type Report struct {
	Run string `json:"run"`
	// Base and Head are 40 hex digits, worktree, or null.
	Base *string `json:"base"`
	Head *string `json:"head"`
	// Branch is head's branch, and Subject the first line of the message of its commit, or
	// of the commit that the working tree is based on. Either may be empty.
	Branch  string  `json:"branch,omitempty"`
	Subject string  `json:"subject,omitempty"`
	Cases   []Row   `json:"cases"`
	Summary Summary `json:"summary"`
	Diff    Diff    `json:"diff"`
	Gate    Gate    `json:"gate"`

	// Groups are the scores of the dialects' aggregates: domains and levels.
	Groups []Group `json:"groups"`
	// Labels count the cases by difficulty, tag and status, if they have any.
	Labels []Label `json:"labels,omitempty"`
	// GroupGates is present if every group has its own status.
	GroupGates []groupGate `json:"group_gates,omitempty"`
	// Conversations are groups of cases that are turns of the same conversation; the
	// path is the suite's path and the conversation's name.
	Conversations []Group `json:"conversations"`
	// Remeasured is present if compared cases could be noise.
	Remeasured *Noise `json:"remeasured,omitempty"`
	// Costs compare what the answers of both sides took; absent if no case was asked again.
	Costs *Costs `json:"costs,omitempty"`
	// PassK is pass^k over the cases with a pass share; absent without one.
	PassK *PassK `json:"pass_k,omitempty"`
	// Lift compares cases with and without their skill; absent if none ran without it.
	Lift *Lift `json:"lift,omitempty"`
	// Triggers count the queries of trigger lists by skill; absent without one.
	Triggers []Triggering `json:"triggers,omitempty"`
	// Power is what this comparison could have seen; absent if something got worse, or nothing
	// is left to chance.
	Power *power.Statement `json:"power,omitempty"`
	// Nightly is present if a scheduled run measured cases again for the history.
	Nightly *Night `json:"nightly,omitempty"`
	// Targets compares several targets that every case ran against.
	Targets []TargetTally `json:"targets,omitempty"`
	// TargetChanges is present if head's targets differ from base's.
	TargetChanges *TargetChanges   `json:"target_changes,omitempty"`
	Problems      []schema.Problem `json:"problems"`
	// Notices are changes that could hide a failure: a changed configuration, a lowered
	// threshold or weight, a removed or disabled case.
	Notices []Notice `json:"notices"`
	// ConfigDigest is the digest of the deciding gavel.yaml.
	ConfigDigest string `json:"config_digest"`
	// Rules names its branch; nil if it belongs to a side.
	Rules      *Rules `json:"rules,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// Saved is the original cost of reused verdicts, and of the reused replies of judges.
	Saved Saved `json:"saved"`
	// Selected means that a person selected some cases, and the others have no row.
	Selected bool `json:"selected,omitempty"`
	// NotRunReason is the reason why nothing was run although cases are affected: a
	// plan that waits for approval. Empty for a run.
	NotRunReason string `json:"not_run_reason"`
	// Estimate is the estimate of a run; present if nothing was run.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Commands are the executed commands of comments, the oldest first.
	Commands []Command `json:"commands,omitempty"`
	// Baseline has the cases of the other configuration that a file of results has: without
	// the skill, or with the old one.
	Baseline *Report `json:"-"`
}

// ExitCode returns a command's exit code: 2 if definitions are invalid, else 1 if the
// gate did not pass, else 0.
func (r *Report) ExitCode() int {
	switch {
	case InvalidFiles(r.Problems) > 0:
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
	// PerTarget means that the case has a row for each of several targets.
	PerTarget bool `json:"per_target,omitempty"`
	// File and Line are the origin at head, or at base for a removed case.
	File string `json:"file"`
	Line int    `json:"line"`

	Action plan.Action `json:"action"`
	// Verdict is null for a case that has never been judged.
	Verdict     *verdict.Verdict `json:"verdict"`
	Score       *float64         `json:"score"`
	Native      *native          `json:"native"`
	BaseVerdict *verdict.Verdict `json:"base_verdict"`
	BaseScore   *float64         `json:"base_score"`
	// BaseError is the reason for a missing judgement at base.
	BaseError string `json:"base_error,omitempty"`
	// Class is null if nothing was compared: without a base, for a case that is skipped
	// only here, for a planned case that should not run yet, and for an unaffected case
	// that nobody has judged.
	Class     *Class  `json:"class"`
	MovedFrom *string `json:"moved_from"`
	// Confirmation is present if reruns say more about the class.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	// Digest is the decision digest at head, empty for a removed case.
	Digest     string        `json:"digest"`
	Samples    int           `json:"samples"`
	Calls      int           `json:"calls"`
	Tokens     int64         `json:"tokens"`
	CostUSD    *float64      `json:"cost_usd"`
	DurationMS int64         `json:"duration_ms"`
	Reasons    []plan.Reason `json:"reasons"`
	// Error is the reason for a missing judgement; null with one.
	Error *string `json:"error"`

	// VerdictReason is the judgement in one line, from the judge or evaluator.
	VerdictReason string `json:"verdict_reason"`
	// Groups are the case's domain and level, or suite.
	Groups []string `json:"groups"`
	// Prompt names the prompt of a matrix case, and Vars are its variables in one line,
	// which may be shortened. They are empty for other cases.
	Prompt string `json:"prompt,omitempty"`
	Vars   string `json:"vars,omitempty"`
	// GridColumn is the place of the prompt with its target in the file, beginning with 1.
	GridColumn int `json:"grid_column,omitempty"`
	// Conversation names the conversation that has the case as a turn; empty for a
	// separate case.
	Conversation string `json:"conversation,omitempty"`
	// Weight is the case's share in every mean of the report: base's if base has the
	// case. HeadWeight is head's, if it differs.
	Weight     float64  `json:"weight"`
	HeadWeight *float64 `json:"head_weight,omitempty"`
	// NoThreshold means that the case has no threshold, so that every score passes.
	NoThreshold bool `json:"no_threshold,omitempty"`
	// AsksNothing means that the case makes no demand on the answer, so that it always
	// passes.
	AsksNothing bool `json:"asks_nothing,omitempty"`
	// Trigger is the wanted reaction to the query of a trigger list; empty for other cases.
	Trigger schema.Trigger `json:"trigger,omitempty"`
	// Required means that the gate names the case: it must pass.
	Required bool `json:"required,omitempty"`
	// Withdrawn is the way in which a case that is active at base is no longer judged:
	// removed, ignored, disabled, drafted, or its status. Empty for all others.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Accepted is present if a person accepted this result, so that it no longer counts
	// against the change.
	Accepted *Command `json:"accepted,omitempty"`
	// Quarantine is present if the case is out of the gate until a date.
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	// Flaky is present if the case had different verdicts without a change.
	Flaky *FlakyCase `json:"flaky,omitempty"`
	// Attempts are the attempts of a case that was repeated because it failed, and
	// Comparison is the A/B comparison of its prompt with a second one.
	Attempts   []verdict.Attempt   `json:"attempts,omitempty"`
	Comparison *verdict.Comparison `json:"comparison,omitempty"`
	// PassShare has the counts of a case that asks for a share of its samples.
	PassShare *verdict.PassShare `json:"pass_share,omitempty"`
	// UnknownVersion means that the agent's version behind the verdict is unknown.
	// JudgedAt is then present for a reused verdict, and is the time of the request to
	// the agent.
	UnknownVersion bool       `json:"unknown_version,omitempty"`
	JudgedAt       *time.Time `json:"judged_at,omitempty"`
	// Evaluators are the parts of the case's score at head.
	Evaluators []EvaluatorScore `json:"evaluators,omitempty"`
	// Detail is present for cases that people will want to look into.
	Detail *Detail `json:"detail,omitempty"`
	// Identity is present for cases of the testcase format if the report is printed as
	// JSON. It is not stored.
	*Identity
	// Result has the extra data of files of results; nil unless Input.Results requests
	// it. It is not stored.
	Result *Result `json:"-"`
	// Control is the case without its skill; nil without one, or without a Result.
	Control *Row `json:"-"`
}

// Decode decodes a stored report. It returns an error for any other text.
func Decode(stored []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(stored, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// An EvaluatorScore is one evaluator's part of a case's score.
type EvaluatorScore struct {
	Name   string   `json:"name"`
	Type   string   `json:"type,omitempty"`
	Score  float64  `json:"score"`
	Weight *float64 `json:"weight"`
	Pass   bool     `json:"pass"`
	// Evaluators are the measured members of a composite.
	Evaluators []EvaluatorScore `json:"evaluators,omitempty"`
}

// A Result is the detail behind a case's verdict at head.
type Result struct {
	Labels schema.Labels
	// Judged is the time of a reused verdict; zero for one of this run.
	Judged time.Time
	// Transcript is the transcript of the sample that explains the verdict; nil if
	// unknown.
	Transcript *verdict.Transcript
	Evaluators []verdict.EvaluatorResult
	// Best means that the result is the best of several samples.
	Best bool
	// Samples are the judged samples, if there are several and they are stored.
	Samples []Sample
	// Effort is what the result took from the agent; nil if it is unknown.
	Effort *verdict.Effort
	// Texts are the sentences of criteria by their ids, where the format has sentences.
	Texts map[string]string
	// Row is the source of a case of the matrix dialect; nil if unknown.
	Row *schema.Row
}

// Name returns the row's name for people: the key, with the target if there are
// several.
func (row *Row) Name() string {
	if row.PerTarget {
		return row.Key + " @ " + row.Target
	}
	return row.Key
}

// Confirmed reports whether the row is a regression confirmed by reruns.
func (row *Row) Confirmed() bool {
	return row.Class != nil && *row.Class == Regression && row.Confirmation != nil && row.Confirmation.Confirmed
}

// Named reports whether a name refers to the row: its own name, or the key, which
// refers to it with every target.
func (row *Row) Named(name string) bool { return name == row.Key || name == row.Name() }

// Invalid reports whether base's definition of the case can no longer be read, so that
// nobody can judge it.
func (row *Row) Invalid() bool { return row.Action == plan.Skip && row.Error != nil }

// Retried reports whether the case was repeated because it failed, or ran with two
// prompts.
func (row *Row) Retried() bool { return len(row.Attempts) > 0 || row.Comparison != nil }

// Unrun reports whether the case should have been judged and was not although no error
// occurred: the budget was insufficient, the run was stopped, or something it needs is
// forbidden here.
func (row *Row) Unrun() bool { return row.Error != nil && row.Verdict == nil && !row.Invalid() }

// Turn formats the verdicts of a row that has both: "fail → pass".
func (row *Row) Turn() string { return string(*row.BaseVerdict) + " → " + string(*row.Verdict) }

// native is a score in the dialect's notation: value of scale.
type native struct {
	Value float64 `json:"value"`
	Scale float64 `json:"scale"`
}

// Detail explains a verdict.
type Detail struct {
	Messages []schema.Message `json:"messages"`
	// BaseReply is the last reply at base, if it differs; nil if unknown.
	BaseReply *schema.Message `json:"base_reply,omitempty"`
	Criteria  []CriterionDiff `json:"criteria"`
}

// A CriterionDiff is the mean score of one criterion on both sides, null if it was not
// measured.
type CriterionDiff struct {
	Evaluator string   `json:"evaluator"`
	ID        string   `json:"id"`
	Base      *float64 `json:"base"`
	Head      *float64 `json:"head"`
	Note      string   `json:"note"`
	// Expected and Actual are the compared texts of the side that has the note.
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Sample is the number of the sample that the note and the texts are from, counted
	// from 1; 0 if there is one sample.
	Sample int `json:"sample,omitempty"`
}

// Summary counts the cases of a Report.
type Summary struct {
	Verdicts
	// NoThreshold counts the passing cases without a threshold.
	NoThreshold int `json:"no_threshold,omitempty"`
	// AsksNothing counts the passing cases that make no demand on the answer.
	AsksNothing int `json:"asks_nothing,omitempty"`
	// ChangedUnrun counts the cases that the change adds or changes but that do not
	// run.
	ChangedUnrun int `json:"changed_unrun,omitempty"`
	// Run, Rejudged, Redecided, Reused and Removed count by the plan's action, whatever
	// the outcome.
	Run       int `json:"run"`
	Rejudged  int `json:"rejudged"`
	Redecided int `json:"redecided"`
	Reused    int `json:"reused"`
	// Affected counts the cases that differ between the sides: those under another
	// decision digest, and those that are new, removed, moved, or active on one side
	// only. null without a base, and if a commit is judged again.
	Affected *int `json:"affected"`
	// NotRun counts the cases of Run, Rejudged and Redecided that were not judged
	// although no error occurred; Error counts them, too.
	NotRun int `json:"not_run,omitempty"`
	// NoVerdict counts the cases of Reused without a stored result: unaffected cases
	// that were never judged here.
	NoVerdict int `json:"no_verdict,omitempty"`
	Removed   int `json:"removed"`
	Calls     int `json:"calls"`
	// Unanswered counts the cases without a verdict whose calls all failed; Calls has only
	// those that were answered.
	Unanswered int      `json:"unanswered,omitempty"`
	Tokens     int64    `json:"tokens"`
	CostUSD    *float64 `json:"cost_usd"`
	// Score is the weighted mean over all judged cases.
	Score *float64 `json:"score"`
}

// Diff compares the cases judged on both sides.
type Diff struct {
	Pairs     int      `json:"pairs"`
	ScoreBase *float64 `json:"score_base"`
	ScoreHead *float64 `json:"score_head"`
	Delta     *float64 `json:"delta"`
	Between
	Regressions  int `json:"regressions"`
	Improvements int `json:"improvements"`
	// Confirmed counts the regressions confirmed by reruns.
	Confirmed int `json:"confirmed,omitempty"`
	Unclear   int `json:"unclear"`
	Flaky     int `json:"flaky,omitempty"`
	New       int `json:"new"`
	Removed   int `json:"removed"`
	Moved     int `json:"moved"`
}

// Between is the 95 % confidence interval of a difference of means; nil if the noise is
// unknown. Then the difference itself may be noise, and people see no number.
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

// Gate decides whether the change may proceed.
type Gate struct {
	// Result is pass, fail or undetermined.
	Result string `json:"result"`
	Reason string `json:"reason"`
	// Unasked names the rules that decide nothing here with the reason, such as
	// min_score for selected cases. Reason ends with it.
	Unasked string `json:"unasked,omitempty"`
	// FailOn is the applied rule, with its default filled in.
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
	// AtBase means that file and line are base's.
	AtBase bool `json:"at_base"`
}

// Saved is the original cost of reused verdicts, and of the reused replies of judges.
type Saved struct {
	Calls   int      `json:"calls"`
	CostUSD *float64 `json:"cost_usd"`
}
