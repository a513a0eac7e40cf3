package html

import (
	"html/template"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A Case is one row.
type Case struct {
	Kind, Icon, Label, Name string
	Key                     string
	Score, BaseScore, Delta string
	Worse, Better           bool
	Where, Link             string
	Reason, Error, Why      string
	Remark                  string
	Facts                   []Fact
	Turns                   []Turn
	Criteria                []criterion
	HasBase                 bool
	Attempts                []string
	// Again are the reruns of both sides.
	Again string
	Curve template.HTML
}

// A Turn is one message of the conversation.
type Turn struct {
	Number int
	Role   string
	// Thinking is the model's thinking before the text. It is folded.
	Thinking, Text string
	Calls          []call
}

// A call is a tool call in a turn.
type call struct{ Name, Arguments string }

// A criterion is one line of the table of criteria.
type criterion struct {
	Name, Base, Head, Note string
	Expected, Actual       string
	// Sample is the number of the sample that the note and the texts are from; 0 if the
	// table is of one sample.
	Sample int
	Worse  bool
}

// NewCase converts a row of a report into words.
func NewCase(r *report.Report, row *report.Row, o Options) Case {
	c := Case{
		Name:   textfmt.Line(row.Name()),
		Key:    textfmt.Line(row.Key),
		Kind:   KindOf(row),
		Where:  fileLine(row.File, row.Line),
		Reason: textfmt.Clean(row.VerdictReason),
		Why:    textfmt.Line(reporters.Why(r, row)),
		Remark: textfmt.Clean(reporters.Remark(row)),
		Curve:  curve(o.History[row.Name()]),
	}
	c.Icon, c.Label = Icons[c.Kind], c.Kind
	side := r.Head
	if row.Withdrawn == report.WithdrawnRemoved || row.Class != nil && *row.Class == report.Gone {
		side = r.Base
	}
	c.Link = blob(side, o, row.File, row.Line)
	if row.Error != nil {
		c.Error = textfmt.Clean(*row.Error)
	}
	scale := row.NativeScale()
	c.Score = score(row.Score, row.Scale())
	if row.BaseScore != nil && (row.Score == nil || *row.Score != *row.BaseScore) {
		c.BaseScore = score(row.BaseScore, row.Scale())
	}
	if row.Score != nil && row.BaseScore != nil && *row.Score != *row.BaseScore {
		c.Delta = textfmt.Signed(*row.Score-*row.BaseScore, 2)
		c.Worse, c.Better = *row.Score < *row.BaseScore, *row.Score > *row.BaseScore
	}
	c.Facts = caseFacts(row)
	if row.Detail != nil {
		c.Turns = bothSides(row.Detail)
		c.criteria(row.Detail.Criteria, scale)
	}
	if row.Confirmation.Measured() {
		c.Again = row.Confirmation.Series()
		if said := reporters.Remeasured(row); said != c.Remark {
			c.Again += ": " + textfmt.Clean(said)
		}
	}
	if row.Retried() {
		c.Attempts = reporters.NewAttempts(row.Attempts, row.Comparison).Lines(row.Scale())
		for i, line := range c.Attempts {
			c.Attempts[i] = textfmt.Clean(line)
		}
	}
	c.sayOnce()
	return c
}

// sayOnce empties each text about the verdict that repeats one before it, such as an error that
// is also the reason.
func (c *Case) sayOnce() {
	said := map[string]bool{}
	for _, text := range []*string{&c.Error, &c.Reason, &c.Remark, &c.Why} {
		plain := textfmt.Line(*text)
		if said[plain] {
			*text = ""
		}
		said[plain] = true
	}
}

// bothSides returns the turns of a conversation, with base's last reply before head's if it
// is another one.
func bothSides(d *report.Detail) []Turn {
	turns := Turns(d.Messages)
	last := len(turns) - 1
	if d.BaseReply == nil || last < 0 || d.Messages[last].Role != schema.RoleAssistant {
		return turns
	}
	base := Turns([]schema.Message{*d.BaseReply})[0]
	base.Number, base.Role = turns[last].Number, "at base"
	turns[last].Role = "at head"
	return slices.Insert(turns, last, base)
}

func score(x *float64, scale float64) string {
	if x == nil {
		return ""
	}
	return textfmt.OutOf(x, scale)
}

func caseFacts(row *report.Row) []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: textfmt.Line(value)})
		}
	}
	add("format", row.Dialect)
	add("target", row.Target)
	if row.Samples > 1 {
		add("samples", textfmt.Int(int64(row.Samples)))
	}
	if row.Calls > 0 {
		add("calls", textfmt.Int(int64(row.Calls))+paid(row.CostUSD))
	}
	if row.DurationMS > 0 {
		add("time", textfmt.Duration(time.Duration(row.DurationMS)*time.Millisecond))
	}
	if row.JudgedAt != nil {
		add("judged", row.JudgedAt.UTC().Format(time.DateOnly))
	}
	if len(row.Digest) >= 12 {
		add("digest", row.Digest[:12])
	}
	return out
}

// paid returns the cost after a number of calls; empty for none and for an unknown one.
func paid(usd *float64) string {
	if usd == nil || *usd == 0 {
		return ""
	}
	return textfmt.Cost(usd)
}

// Turns converts the messages of a conversation.
func Turns(messages []schema.Message) []Turn {
	var out []Turn
	for i, m := range messages {
		thinking, said := verdict.Thought(m)
		t := Turn{Number: i + 1, Role: textfmt.Line(m.Role), Thinking: textfmt.Clean(thinking), Text: textfmt.Clean(said)}
		if m.Role == "tool" && m.Name != "" {
			t.Role = "tool " + textfmt.Line(m.Name)
		}
		for _, tc := range m.ToolCalls {
			t.Calls = append(t.Calls, call{textfmt.Line(tc.Function.Name), textfmt.Clean(string(tc.Function.Arguments))})
		}
		out = append(out, t)
	}
	return out
}

func (c *Case) criteria(all []report.CriterionDiff, scale float64) {
	for _, cr := range all {
		line := criterion{Name: textfmt.Line(cr.ID), Base: textfmt.Native(cr.Base, scale), Head: textfmt.Native(cr.Head, scale), Note: textfmt.Clean(cr.Note), Sample: cr.Sample}
		line.Expected, line.Actual = textfmt.Clean(cr.Expected), textfmt.Clean(cr.Actual)
		line.Worse = cr.Base != nil && cr.Head != nil && *cr.Head < *cr.Base
		c.HasBase = c.HasBase || cr.Base != nil
		c.Criteria = append(c.Criteria, line)
	}
}

// kindOrder is the order of kinds in the filter.
var kindOrder = []string{
	"regression", "fail", "borderline", "error", "unclear", "flaky", "improvement", "new", "moved",
	"removed", "withdrawn", "skipped", "not run", "would run", "pass", "no verdict",
}

// Icons are signs of the kinds, using characters that every font has.
var Icons = map[string]string{
	"regression": "✗", "fail": "✗", "borderline": "≈", "error": "!", "unclear": "?", "flaky": "~", "improvement": "✓",
	"new": "+", "moved": "→", "removed": "−", "withdrawn": "−", "skipped": "·", "not run": "·", "would run": "·", "pass": "✓", "no verdict": "·",
}

// KindOf returns the kind by which a row is filtered: its change before its state.
func KindOf(row *report.Row) string {
	switch {
	case row.Unrun():
		return "not run"
	case row.Withdrawn == report.WithdrawnRemoved:
		return "removed"
	case row.Withdrawn != "":
		return "withdrawn"
	}
	if row.Class != nil {
		switch *row.Class {
		case report.Unchanged, report.New:
		case report.Failed:
			return "error"
		default:
			return string(*row.Class)
		}
	}
	if row.Verdict == nil {
		if row.Action == plan.Reuse {
			return "no verdict"
		}
		return "would run"
	}
	if *row.Verdict == verdict.Pass && row.Class != nil && *row.Class == report.New {
		return "new"
	}
	return string(*row.Verdict)
}
