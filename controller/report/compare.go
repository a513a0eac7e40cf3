package report

import (
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// An Outcome is the known result of one case on one side.
type Outcome struct {
	Result verdict.Result
	// Usage and Duration are the case's consumption in this run; zero if it was reused.
	Usage    verdict.Usage
	Duration time.Duration
	// Effort is what the result took from the agent; nil if it was not asked, or
	// unknown.
	Effort *verdict.Effort
	// EffortUSD is its cost at the prices of the side; nil if a price is unknown.
	EffortUSD *float64
	// Transcript is the transcript of the sample that explains the verdict; nil if
	// unavailable.
	Transcript *verdict.Transcript
	// Samples are the judged samples, if files of results are written and the case has
	// several.
	Samples []Sample
	// Reused means that the verdict was stored before this run, and Saved is its cost
	// at the time; for another verdict, the cost of its judges' replies that were stored.
	Reused bool
	Saved  verdict.Usage
	// Failed is the time of the call that ended an error, if one did, and Retry is true if
	// the same call may succeed later.
	Failed time.Time
	Retry  bool
	// Judged is the time of a reused verdict's first request to the target.
	Judged time.Time
	// Unrun is the reason why the case was not judged although no error occurred, such
	// as an insufficient budget; empty if it was judged.
	Unrun string
}

// A Sample is one of several samples of a case, judged as if it were the only one.
type Sample struct {
	Score   *float64
	Verdict verdict.Verdict
	// Usage and Latency are the target's, and Effort has what it took; nil if unknown.
	Usage   verdict.Usage
	Latency time.Duration
	Effort  *verdict.Effort
	// Evaluators have the results of the criteria.
	Evaluators []verdict.EvaluatorResult
}

// An Input is the input of Compare.
type Input struct {
	// Run is the identity of the run.
	Run string
	// Branch and Subject are head's branch and the subject of its commit.
	Branch, Subject string
	Plan            *plan.Plan
	// Controls run cases of the plan without their skill. They have outcomes as the
	// cases, and decide nothing.
	Controls []plan.Row
	// Head maps head's case IDs to outcomes, Base maps base's. A missing case has no
	// known verdict on that side.
	Head, Base map[string]*Outcome
	// Noise has the findings of reruns; nil if none were planned. Then every difference
	// counts.
	Noise *NoiseFindings
	// Cluster is the setting noise.cluster, which cases count as one. Empty means case.
	Cluster string
	// Nightly has a scheduled run's extra measurements; nil for other runs.
	Nightly  *Night
	Problems []schema.Problem
	Gate     GateSettings
	// GroupGates requests a gate for every outermost group, too.
	GroupGates bool
	Config     ConfigChange
	// Notices are extra notices, shown before Compare's own.
	Notices []Notice
	// ConfigDigest is the digest of the deciding gavel.yaml.
	ConfigDigest string
	Duration     time.Duration
	// NotRun is the reason why nothing was run; empty for a run.
	NotRun string
	// Estimate is the estimate of a run, if nothing was run.
	Estimate *Estimate
	// Commands are the commands executed for this head.
	Commands []Command
	// Quarantined are the cases outside of the gate, see [Input.Quarantine].
	Quarantined Quarantines
	// Flaky maps affected cases, by their ID at head, that have different verdicts
	// without a change.
	Flaky map[string]*FlakyCase
	// Results requests the Result of every row.
	Results bool
}

// Compare compares head with base. It is pure; the rows are in the order of the plan,
// which is by key.
//
// A case is a regression when its verdict worsened in the order pass, borderline, fail,
// and an improvement when it got better for another reason than a weaker rule. A score
// that moved within a verdict does not change the class. If base has no verdict, the
// case is unclear, since it may have been as bad before.
func Compare(in Input) *Report {
	r := &Report{
		Run: in.Run, Branch: in.Branch, Subject: in.Subject, Base: commit(in.Plan.Base), Head: commit(in.Plan.Head),
		Cases:        make([]Row, 0, len(in.Plan.Rows)),
		Problems:     append([]schema.Problem{}, in.Problems...),
		ConfigDigest: in.ConfigDigest, Rules: in.Config.Rules,
		DurationMS:   in.Duration.Milliseconds(),
		NotRunReason: in.NotRun, Estimate: in.Estimate, Selected: in.Gate.Selected,
		Commands: in.Commands, Nightly: in.Nightly,
	}
	pairs := make([]pair, 0, len(in.Plan.Rows))
	for i := range in.Plan.Rows {
		p := in.pair(&in.Plan.Rows[i])
		pairs = append(pairs, p)
		r.Cases = append(r.Cases, in.row(p))
	}
	accept(r.Cases, r.Commands)
	r.Remeasured = in.Noise.Summary()
	controls := make([]pair, len(in.Controls))
	for i := range in.Controls {
		controls[i] = in.pair(&in.Controls[i])
	}
	if in.Results {
		in.attach(r.Cases, pairs, controls)
	}
	r.Summary, r.Saved = summarise(r.Cases, pairs, controls)
	if in.Plan.Base != "" && !in.Plan.Again {
		r.Summary.Affected, r.Summary.ChangedUnrun = changed(pairs), changedUnrun(pairs)
	}
	r.Diff = diff(r.Cases, pairs)
	r.TargetChanges = in.Config.Targets
	r.TargetChanges.count(r, pairs)
	if r.Remeasured != nil {
		r.Remeasured.Line = r.verdictLine()
	}
	r.Groups, r.Conversations = groups(pairs), conversations(pairs)
	r.Labels = labels(r.Cases, pairs)
	r.Targets = targets(in.Plan.Targets, r.Cases, pairs)
	r.Notices = append([]Notice{}, slices.Concat(in.Notices, in.quarantineNotices(), notices(in.Config, pairs), noiseNotices(r), flakyNotices(r))...)
	r.Costs, r.PassK = costs(pairs), passK(pairs)
	r.Lift, r.Triggers = lift(pairs, controls), triggers(r.Cases)
	if in.Noise != nil && in.Noise.Power != nil && in.Noise.Power.Cases > 0 {
		r.Power = in.Noise.Power
	}
	r.Gate = gate(r, pairs, in.Plan.Rest, in.Gate)
	r.GroupGates = groupGates(&in, r, pairs)
	return r
}

func commit(c string) *string {
	if c == "" {
		return nil
	}
	return &c
}

// A pair is a row of the plan with the outcomes of both sides, nil without one.
type pair struct {
	plan       *plan.Row
	head, base *Outcome
	// finding is the case's, nil if it is not compared.
	finding *confirm.Finding
	// cluster is the same for cases of head that fail together.
	cluster string
}

func (in *Input) pair(row *plan.Row) pair {
	p := pair{plan: row, finding: in.Noise.Finding(row)}
	if row.Head != nil {
		if p.cluster = Cluster(row, in.Cluster); p.cluster == "" {
			p.cluster = "case\x00" + row.Key + "\x00" + row.Target
		}
	}
	if active(row.Head) {
		p.head = in.Head[row.Head.ID()]
	}
	if active(row.Base) {
		p.base = in.Base[row.Base.ID()]
	}
	if p.shared() {
		// One decision digest has one verdict, so each side stands for the other.
		switch {
		case p.head == nil && p.base != nil:
			p.head = reused(*p.base)
		case p.base == nil && p.head != nil:
			p.base = reused(*p.head)
		}
	}
	return p
}

// reused converts the other side's verdict for this side: the same, without any cost
// here.
func reused(o Outcome) *Outcome {
	o.Usage, o.Duration, o.Reused = verdict.Usage{}, 0, true
	return &o
}

func active(c *schema.CaseInfo) bool { return c != nil && c.Skip == "" }

// shared reports whether a verdict of one side is valid for the other: both have the
// case under one decision digest, and it was not run again only for the gate, which
// happens if neither has a verdict.
func (p pair) shared() bool {
	row := p.plan
	return (row.Action == plan.Reuse || row.Asked) && active(row.Head) && active(row.Base) && row.HeadDigests.D == row.BaseDigests.D
}

// isDue reports whether the case had to be judged in this run.
func (p pair) isDue() bool {
	switch p.plan.Action {
	case plan.Run, plan.Rejudge, plan.Redecide:
		return true
	}
	return false
}

// weight returns the case's share in every mean, on both sides: base's share, if base
// has the case. So a change cannot reduce the weight of its own failures.
func (p pair) weight() float64 {
	switch {
	case p.plan.Base != nil:
		return p.plan.Base.Weight
	case p.plan.Head != nil:
		return p.plan.Head.Weight
	}
	return 0
}

// score returns the score of a judged outcome, else nil.
func score(o *Outcome) *float64 {
	if o == nil || o.Result.Verdict.Rank() < 0 {
		return nil
	}
	return o.Result.Score
}

func judged(o *Outcome) bool { return o != nil && o.Result.Verdict.Rank() >= 0 }

func (in *Input) row(p pair) Row {
	shown := p.plan.Head
	if shown == nil {
		shown = p.plan.Base
	}
	row := Row{
		Key: p.plan.Key, Dialect: p.plan.Dialect, Target: p.plan.Target, PerTarget: shown.PerTarget,
		File: shown.Origin.File, Line: shown.Origin.Line,
		Action: p.plan.Action, Class: in.classify(p), MovedFrom: commit(p.plan.MovedFrom), Digest: p.plan.HeadDigests.D,
		Score: score(p.head), BaseScore: score(p.base),
		Reasons: append([]plan.Reason{}, p.plan.Reasons...),
		Groups:  append([]string{}, shown.Labels.Groups...), Conversation: shown.Labels.Conversation, Prompt: shown.Labels.Prompt, Vars: shown.Labels.Vars, GridColumn: shown.Labels.GridColumn, Weight: p.weight(), Withdrawn: withdrawn(p.plan), Trigger: shown.Trigger,
		Required: p.plan.Action != plan.Removed && in.Gate.requires(p.plan.Key), Quarantine: in.InQuarantine(p.plan),
	}
	if head := p.plan.Head; head != nil && head.Weight != row.Weight {
		row.HeadWeight = &head.Weight
	}
	row.Verdict, row.Error = in.judgement(p)
	row.Confirmation = in.Noise.Confirmation(p.plan)
	if p.plan.Head != nil {
		row.Flaky = in.Flaky[p.plan.Head.ID()]
	}
	if p.base != nil {
		if row.BaseError = p.base.Unrun; row.BaseError == "" {
			row.BaseVerdict = new(p.base.Result.Verdict)
		}
		if row.BaseVerdict != nil && *row.BaseVerdict == verdict.Error {
			row.BaseError = p.base.Result.Reason
		}
	}
	if row.Score != nil {
		scale := row.NativeScale()
		row.Native = &native{Value: *row.Score * scale, Scale: scale}
	}
	spent := p.spent()
	if p.head != nil {
		row.Samples = p.head.Result.Samples
		row.DurationMS = p.head.Duration.Milliseconds()
		row.VerdictReason = p.head.Result.Reason
		row.Evaluators = evaluatorScores(p.head.Result.Evaluators)
		row.AsksNothing = p.plan.Head != nil && p.plan.Head.AsksNothing
		row.NoThreshold, row.Attempts, row.Comparison = p.head.Result.NoThreshold, p.head.Result.Attempts, p.head.Result.Comparison
		row.PassShare = p.head.Result.PassShare
		row.UnknownVersion = p.plan.Unversioned && !p.plan.Named
		if p.plan.Unversioned && p.head.Reused && !p.head.Judged.IsZero() {
			row.JudgedAt = new(p.head.Judged)
		}
	}
	row.Calls, row.Tokens, row.CostUSD = spent.Calls, spent.Tokens(), spent.Cost()
	if worthDetail(row) {
		row.Detail = detail(p)
	}
	if in.Results {
		row.Result = result(p)
	}
	return row
}

// result returns the details of head's verdict.
func result(p pair) *Result {
	out := &Result{}
	if p.plan.Head != nil {
		out.Labels = p.plan.Head.Labels
	}
	if p.head != nil {
		out.Judged, out.Transcript, out.Evaluators = p.head.Judged, p.head.Transcript, p.head.Result.Evaluators
		out.Best, out.Samples, out.Effort = p.head.Result.Best, p.head.Samples, p.head.Effort
	}
	return out
}

// evaluatorScores returns the scores of evaluators and their members.
func evaluatorScores(results []verdict.EvaluatorResult) []EvaluatorScore {
	if len(results) == 0 {
		return nil
	}
	out := make([]EvaluatorScore, len(results))
	for i, r := range results {
		out[i] = EvaluatorScore{
			Name: r.Name, Type: r.Type, Score: r.Score, Weight: r.Weight, Pass: r.Pass, Evaluators: evaluatorScores(r.Members),
		}
	}
	return out
}

// NativeScale returns the highest score in the notation of the row's dialect.
func (row *Row) NativeScale() float64 { return schema.TraitsOf(row.Dialect).TopScore }

// Scale returns the factor for showing the row's scores.
func (row *Row) Scale() float64 { return schema.TraitsOf(row.Dialect).Scale }

// Shown formats a score of the row: 8.87/10, or 0.89.
func (row *Row) Shown(x *float64) string { return textfmt.OutOf(x, row.Scale()) }

// Change formats the difference to base of a row that has both scores.
func (row *Row) Change() string { return textfmt.Signed((*row.Score-*row.BaseScore)*row.Scale(), 2) }

// judgement returns the verdict at head or, without one, the reason. A pointer into the outcome
// would keep all of it as long as the report.
func (in *Input) judgement(p pair) (*verdict.Verdict, *string) {
	skipped, failed := verdict.Skipped, verdict.Error
	switch {
	case p.plan.Action == plan.Removed:
		return nil, nil
	case p.plan.Head == nil:
		return nil, reasonText(p, plan.IsInvalid)
	case p.plan.Action == plan.Skip || p.plan.Head.Skip != "":
		return &skipped, nil
	case p.head != nil && p.head.Unrun != "":
		return nil, new(p.head.Unrun)
	case p.head != nil && p.head.Result.Verdict == verdict.Error:
		return &failed, new(p.head.Result.Reason)
	case p.head != nil:
		return new(p.head.Result.Verdict), nil
	case p.isDue() && in.NotRun == "":
		why := "it was not run"
		return nil, &why
	}
	return nil, nil
}

// reasonText returns the plan's reason for the row, or other if the plan gives none.
func reasonText(p pair, other string) *string {
	if text := plan.Summarise(p.plan.Reasons); text != "" {
		return &text
	}
	return &other
}

func (in *Input) classify(p pair) *Class {
	if in.Plan.Base == "" {
		return nil
	}
	is := func(c Class) *Class { return &c }
	row := p.plan
	switch {
	case row.Action == plan.Removed:
		return is(Gone)
	case row.MovedFrom != "":
		return is(Moved)
	case row.Head == nil:
		return is(Failed)
	case row.Head.Skip != "":
		return skippedClass(row)
	case p.head != nil && !judged(p.head):
		return is(Failed)
	case p.head == nil && p.isDue() && in.NotRun == "":
		return is(Failed)
	case !active(row.Base):
		return is(New)
	case p.head == nil:
		return nil // there is nothing to compare
	case !judged(p.base):
		return is(Unclear)
	}
	return is(in.compare(p))
}

// skippedClass returns the class of a case that is skipped at head. A case that was
// active at base has none: nothing was compared, and a notice reports it if it matters.
func skippedClass(row *plan.Row) *Class {
	class := New
	switch {
	case active(row.Base):
		return nil
	case row.Base != nil:
		class = Unchanged
	}
	return &class
}

func compareVerdicts(p pair) Class {
	was, is := p.base.Result.Verdict.Rank(), p.head.Result.Verdict.Rank()
	switch {
	case was == is:
		return Unchanged
	case p.plan.BaseDigests.D == p.plan.HeadDigests.D && !p.plan.Unversioned:
		return Flaky // a different agent version would be a reason
	case is < was:
		return Regression
	case p.plan.BaseDigests.J == p.plan.HeadDigests.J && p.plan.BaseDigests.D != p.plan.HeadDigests.D:
		return Unchanged
	}
	return Improvement
}
