package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A Triggering counts the queries of one skill for which an agent did what is wanted.
type Triggering struct {
	Skill string `json:"skill"`
	// Target is the agent if the queries ran against several.
	Target string `json:"target,omitempty"`
	// Wanted and Unwanted are the queries for which the skill should be loaded, and should
	// not.
	Wanted   Queries `json:"wanted"`
	Unwanted Queries `json:"unwanted"`
	// BaseRight of BaseQueries were right at base.
	BaseRight   int `json:"base_right"`
	BaseQueries int `json:"base_queries"`
	// Unjudged counts the queries of head without a verdict.
	Unjudged int `json:"unjudged"`
}

// Queries count the queries with a verdict, and those that are right.
type Queries struct {
	Right int `json:"right"`
	Of    int `json:"of"`
}

// String says "9 of 10".
func (q Queries) String() string { return fmt.Sprintf("%d of %d", q.Right, q.Of) }

func (q *Queries) add(v verdict.Verdict) {
	q.Of++
	q.Right += count(v == verdict.Pass)
}

// all returns the counts of wanted and unwanted queries together.
func (t *Triggering) all() Queries {
	return Queries{t.Wanted.Right + t.Unwanted.Right, t.Wanted.Of + t.Unwanted.Of}
}

// Wrong counts the queries that are not right.
func (t *Triggering) Wrong() int { return t.all().Of - t.all().Right }

// String says "18 of 20 right: 9 of 10 wanted, 9 of 10 unwanted (20 of 20 at base)". Base is
// left out if it is not known.
func (t *Triggering) String() string {
	var notes []string
	if t.BaseQueries > 0 {
		notes = append(notes, Queries{t.BaseRight, t.BaseQueries}.String()+" at base")
	}
	if t.Unjudged > 0 {
		notes = append(notes, fmt.Sprintf("%d not judged", t.Unjudged))
	}
	said := fmt.Sprintf("%s right: %s wanted, %s unwanted", t.all(), t.Wanted, t.Unwanted)
	if len(notes) > 0 {
		said += " (" + strings.Join(notes, ", ") + ")"
	}
	return said
}

// triggers sums up the queries of each skill; nil without a verdict on one.
func triggers(rows []Row) []Triggering {
	byName := map[string]*Triggering{}
	for i := range rows {
		row := &rows[i]
		if row.Trigger == "" || row.Action == plan.Skip {
			continue
		}
		at := Triggering{Skill: strings.Join(row.Groups, "/")}
		if row.PerTarget {
			at.Target = row.Target
		}
		name := at.Skill + "\x00" + at.Target
		if byName[name] == nil {
			byName[name] = &at
		}
		byName[name].add(row)
	}
	var out []Triggering
	for _, t := range byName {
		if t.all().Of > 0 {
			out = append(out, *t)
		}
	}
	slices.SortFunc(out, func(a, b Triggering) int { return CompareNatural(a.Skill+"\x00"+a.Target, b.Skill+"\x00"+b.Target) })
	return out
}

// add adds the row of a query.
func (t *Triggering) add(row *Row) {
	if v := row.BaseVerdict; v != nil && v.Rank() >= 0 {
		t.BaseQueries++
		t.BaseRight += count(*v == verdict.Pass)
	}
	switch v := row.Verdict; {
	case row.Action == plan.Removed:
	case v == nil || v.Rank() < 0:
		t.Unjudged++
	case row.Trigger == schema.Wanted:
		t.Wanted.add(*v)
	default:
		t.Unwanted.add(*v)
	}
}
