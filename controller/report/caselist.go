package report

import (
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A CaseList lists the cases of a working tree.
type CaseList struct {
	Cases []ListedCase `json:"cases"`
}

// A ListedCase is a case with its last judgement.
type ListedCase struct {
	Key    string `json:"key"`
	Target string `json:"target"`
	// Name is the key, with the target if there are several.
	Name string `json:"name"`
	// Title is the name for people.
	Title   string `json:"title"`
	Dialect string `json:"dialect"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	// Skip is why the case is not judged; empty for an active case.
	Skip string `json:"skip,omitempty"`
	// Verdict, Score and JudgedAt are of the last judgement; nil if there is none. A case
	// whose last run ended in an error has that verdict, and Error is the reason.
	Verdict  *verdict.Verdict `json:"verdict"`
	Score    *float64         `json:"score"`
	JudgedAt *time.Time       `json:"judged_at"`
	Error    *string          `json:"error,omitempty"`
}

// NewCaseList returns the cases of a plan's head, in its order.
func NewCaseList(p *plan.Plan, history CaseHistory, errors CaseErrors) CaseList {
	list := CaseList{Cases: []ListedCase{}}
	for _, r := range p.Rows {
		if r.Head == nil || r.ControlOf != "" {
			continue
		}
		c := ListedCase{
			Key: r.Key, Target: r.Target, Name: r.Key, Title: r.Head.Title(), Dialect: r.Dialect,
			File: r.Head.Origin.File, Line: r.Head.Origin.Line, Skip: r.Head.Skip,
		}
		if r.Head.PerTarget {
			c.Name += " @ " + r.Target
		}
		if judged := history[c.Name]; len(judged) > 0 {
			last := judged[len(judged)-1]
			c.Verdict, c.Score, c.JudgedAt = &last.Verdict, last.Score, &last.At
		}
		if last, ok := errors[c.Name]; ok && r.Action != plan.Reuse { // reuse: these files have a verdict
			failed := verdict.Error
			c.Verdict, c.Score, c.JudgedAt, c.Error = &failed, nil, &last.At, last.Error
		}
		list.Cases = append(list.Cases, c)
	}
	return list
}
