package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// errNotResults reports a file without results in a known form.
var errNotResults = errors.New(`it has no results; write it with "gavel run --json > FILE" or "gavel run --results FILE", or with promptfoo as JSON, or name benchmark.json or grading.json of a skill`)

// ReadResults reads the output of `gavel run --json`, the lines of `gavel run
// --results`, an output of promptfoo in JSON, or benchmark.json or grading.json of the
// evals of a skill. The error wraps [errNotResults] for anything else.
func ReadResults(data []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(data, &r); err == nil && r.Cases != nil {
		return &r, nil
	}
	if found := readPromptfoo(data); found != nil {
		return found, nil
	}
	if found, err := readSkillResults(data); found != nil || err != nil {
		return found, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil || l.EvalID == "" {
			return nil, errNotResults
		}
		r.Cases = append(r.Cases, l.row())
	}
	if len(r.Cases) == 0 {
		return nil, errNotResults
	}
	return &r, nil
}

// A line is a case in a file of results.
type line struct {
	EvalID  string          `json:"evalId"`
	Dataset string          `json:"dataset"`
	Talk    string          `json:"conversationId"`
	Score   *float64        `json:"score"`
	Verdict verdict.Verdict `json:"verdict"`
	Target  string          `json:"target"`
	Error   string          `json:"error"`
}

func (l line) row() Row {
	row := Row{Key: l.EvalID, Dialect: schema.DialectEvalcase, Target: l.Target, Score: l.Score, Verdict: &l.Verdict, Weight: 1, Conversation: l.Talk}
	if l.Dataset != "" {
		row.Groups = []string{l.Dataset}
	}
	if l.Error != "" {
		row.Error, row.Verdict, row.Score = &l.Error, nil, nil
	}
	return row
}

// CompareResults compares the results of head with base. One result per side limits the
// noise analysis: a test decides whether the cases got worse on average, and a single
// case that got worse is unclear, since it cannot be measured again. The report gives
// why as the reason.
func CompareResults(base, head *Report, why string) *Report {
	d := &resultDiff{in: Input{
		Run: head.Run, ConfigDigest: head.ConfigDigest, Plan: &plan.Plan{Base: name(base), Head: name(head)},
		Head: map[string]*Outcome{}, Base: map[string]*Outcome{}, Gate: GateSettings{Once: true},
	}, place: map[string]int{}}
	before := map[string]*Row{}
	for i := range base.Cases {
		row := &base.Cases[i]
		before[id(row)] = row
	}
	for i := range head.Cases {
		row := &head.Cases[i]
		if row.Action == plan.Removed {
			continue
		}
		d.add(before[id(row)], row)
		delete(before, id(row))
	}
	for i := range base.Cases {
		if row := &base.Cases[i]; before[id(row)] != nil && row.Action != plan.Removed {
			d.add(row, nil)
		}
	}
	procedure := confirm.New(d.cases, confirm.Options{Budget: 0})
	d.in.Noise = &NoiseFindings{Result: procedure.Result(), Index: d.place, Samples: make([][]NoiseSample, len(d.cases)), Why: why}
	out := Compare(d.in)
	if out.Lift == nil {
		out.Lift = head.Lift
	}
	return out
}

// name returns a report's commit, or stored without one.
func name(r *Report) string {
	if r.Head == nil || *r.Head == "" {
		return "stored"
	}
	return *r.Head
}

// id identifies the results of one case. Reports name every case's target, which only
// counts if a case ran against several.
func id(row *Row) string {
	if row.PerTarget {
		return row.Key + "\x00" + row.Target
	}
	return row.Key
}

// A resultDiff is a comparison under construction.
type resultDiff struct {
	in    Input
	cases []confirm.Case
	place map[string]int
}

// add adds a case with its row on each side, or nil.
func (d *resultDiff) add(base, head *Row) {
	shown := head
	if shown == nil {
		shown = base
	}
	row := plan.Row{Key: shown.Key, Dialect: shown.Dialect, Target: shown.Target, Action: plan.Reuse, Samples: 1}
	row.Base, row.BaseDigests = info(base)
	row.Head, row.HeadDigests = info(head)
	if base != nil && head != nil && base.Digest+head.Digest == "" && !same(base.Verdict, head.Verdict) {
		row.HeadDigests = plan.Digests{J: "unknown", D: "unknown"} // the file of another tool has none
	}
	before, after := outcome(base), outcome(head)
	if before != nil {
		d.in.Base[row.Base.ID()] = before
	}
	switch {
	case head == nil:
		row.Action = plan.Removed
	case after != nil:
		d.in.Head[row.Head.ID()] = after
		d.compare(row, base, head)
		d.control(head)
	}
	if base == nil || head == nil || base.Digest != head.Digest || !same(base.Verdict, head.Verdict) {
		row.Reasons = []plan.Reason{{Part: "results", Message: fmt.Sprintf("the results of %s differ", shown.Name())}}
	}
	d.in.Plan.Rows = append(d.in.Plan.Rows, row)
}

// control adds a case without its skill, if head has it.
func (d *resultDiff) control(head *Row) {
	if head.Control == nil {
		return
	}
	without := *head.Control
	without.Key = plan.ControlKey(head.Key)
	row := plan.Row{Key: without.Key, Dialect: head.Dialect, Target: head.Target, ControlOf: head.Key, Action: plan.Reuse, Samples: 1}
	row.Head, row.HeadDigests = info(&without)
	if out := outcome(&without); out != nil {
		d.in.Head[row.Head.ID()] = out
		d.in.Controls = append(d.in.Controls, row)
	}
}

// compare adds a case judged at head to the input of package confirm.
func (d *resultDiff) compare(row plan.Row, base, head *Row) {
	if row.Head.Skip != "" || head.Verdict == nil || head.Verdict.Rank() < 0 {
		return
	}
	c := confirm.Case{Head: confirm.Outcome{Verdict: *head.Verdict, Score: head.Score}, Weight: head.Weight, Fresh: true, Required: head.Required}
	if head.Conversation != "" {
		c.Conversation = strings.Join(append([]string{head.Target, head.Conversation}, head.Groups...), "\x00")
	}
	if base != nil && base.Verdict != nil && base.Verdict.Rank() >= 0 {
		c.Base = []confirm.Outcome{{Verdict: *base.Verdict, Score: base.Score}}
	} else if base != nil {
		return
	}
	d.place[row.Head.ID()] = len(d.cases)
	d.cases = append(d.cases, c)
}

func same(a, b *verdict.Verdict) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// info rebuilds a case from its row.
func info(row *Row) (*schema.CaseInfo, plan.Digests) {
	if row == nil {
		return nil, plan.Digests{}
	}
	c := &schema.CaseInfo{
		Key: row.Key, Dialect: row.Dialect, Target: row.Target, PerTarget: row.PerTarget,
		Origin: schema.Position{File: row.File, Line: row.Line}, Labels: schema.Labels{Groups: row.Groups, Conversation: row.Conversation}, Weight: row.Weight,
	}
	if row.Action == plan.Skip || row.Verdict != nil && *row.Verdict == verdict.Skipped {
		c.Skip = "skipped there"
	}
	return c, plan.Digests{J: row.Digest, D: row.Digest}
}

// outcome rebuilds an outcome from a row; nil if it was not judged.
func outcome(row *Row) *Outcome {
	if row == nil || row.Verdict == nil && row.Error == nil {
		return nil
	}
	o := &Outcome{Reused: true}
	if row.Result != nil {
		o.Samples, o.Effort = row.Result.Samples, row.Result.Effort
	}
	if row.Verdict == nil {
		o.Result = verdict.Result{Verdict: verdict.Error, Reason: *row.Error}
		return o
	}
	o.Result = verdict.Result{Verdict: *row.Verdict, Score: row.Score, Samples: row.Samples, Reason: row.VerdictReason, NoThreshold: row.NoThreshold, PassShare: row.PassShare}
	return o
}
