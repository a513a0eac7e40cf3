package report

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
)

// The labels by which cases are counted.
const (
	labelDifficulty = "difficulty"
	labelTag        = "tag"
	labelStatus     = "status"
)

// A Label counts head's cases with the same difficulty, tag or status. A case counts
// for each of its tags.
type Label struct {
	// Label is difficulty, tag or status, and Name its value.
	Label string `json:"label"`
	Name  string `json:"name"`
	Verdicts
	// Score is the weighted mean over the judged cases; null without any.
	Score *float64 `json:"score"`
}

// labels counts cases by their labels: by difficulty, then tag, then status, each in
// natural order.
func labels(rows []Row, pairs []pair) []Label {
	type place struct{ label, name string }
	var out []Label
	var means []weightedMean
	at := map[place]int{}
	count := func(label, name string, row *Row) {
		if name == "" {
			return
		}
		i, known := at[place{label, name}]
		if !known {
			i = len(out)
			at[place{label, name}] = i
			out, means = append(out, Label{Label: label, Name: name}), append(means, weightedMean{})
		}
		out[i].Count(row.Verdict)
		if row.Verdict == nil && row.Error != nil {
			out[i].Error++
		}
		means[i].Add(row.Score, row.Weight)
	}
	for i := range rows {
		c := pairs[i].plan.Head
		if c == nil || rows[i].Action == plan.Removed {
			continue
		}
		count(labelDifficulty, c.Labels.Difficulty, &rows[i])
		tags := slices.Clone(c.Labels.Tags)
		slices.Sort(tags)
		for _, tag := range slices.Compact(tags) {
			count(labelTag, tag, &rows[i])
		}
		count(labelStatus, c.Labels.Status, &rows[i])
	}
	for i := range out {
		out[i].Score = means[i].Value()
	}
	order := []string{labelDifficulty, labelTag, labelStatus}
	slices.SortFunc(out, func(a, b Label) int {
		if a.Label != b.Label {
			return slices.Index(order, a.Label) - slices.Index(order, b.Label)
		}
		return CompareNatural(a.Name, b.Name)
	})
	return out
}

// Distribution returns the labels that distinguish cases: a difficulty or a status that
// all cases share is omitted.
func (r *Report) Distribution() []Label {
	alone := map[string]int{}
	for _, l := range r.Labels {
		alone[l.Label]++
	}
	return slices.DeleteFunc(slices.Clone(r.Labels), func(l Label) bool {
		return l.Label != labelTag && alone[l.Label] < 2
	})
}
