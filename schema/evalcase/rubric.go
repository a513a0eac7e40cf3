package evalcase

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// rangeScale is the highest score that a range describes.
const rangeScale = 10

// A reader collects problems.
type reader struct{ problems []schema.Problem }

func (r *reader) fail(p schema.Problem) { r.problems = append(r.problems, p) }

func (r *reader) warn(p schema.Problem) {
	p.Severity = schema.Warning
	r.problems = append(r.problems, p)
}

// readRubrics reads a list of criteria and their rule.
func readRubrics(list document.Place, threshold float64) ([]evaluator.RubricCriterion, schema.Rule, []schema.Problem) {
	r := &reader{}
	criteria, rule := r.criteria(list, threshold)
	return criteria, rule, r.problems
}

// rubricFile is the content of a criterion, without its ranges.
type rubricFile struct {
	ID              string   `json:"id"`
	ExpectedOutcome string   `json:"expected_outcome"`
	Criteria        string   `json:"criteria"`
	Description     string   `json:"description"`
	Outcome         string   `json:"outcome"`
	Weight          *float64 `json:"weight"`
	Required        *bool    `json:"required"`
	Least           *float64 `json:"required_min_score"`
}

func (r *reader) criteria(list document.Place, threshold float64) ([]evaluator.RubricCriterion, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	var criteria []evaluator.RubricCriterion
	first := map[string]schema.Position{}
	for i, item := range list.List() {
		f := rubricFile{ID: fmt.Sprintf("rubric-%d", i+1), ExpectedOutcome: item.Text()}
		if item.IsObject() {
			if err := item.Decode(&f); err != nil {
				r.fail(item.Problem("decode", err.Error(), ""))
				continue
			}
		}
		if at, dup := first[f.ID]; dup {
			r.fail(item.Problem("duplicate-id", fmt.Sprintf("two criteria have the id %q", f.ID), "the other is in "+at.String()+"; rename one", "id"))
			continue
		}
		first[f.ID] = item.At("id")
		criterion := evaluator.RubricCriterion{
			ID: f.ID, Outcome: cmp.Or(f.ExpectedOutcome, f.Criteria, f.Outcome, f.Description), Ranges: r.ranges(item),
		}
		if criterion.Outcome == "" && !item.Has("score_ranges") {
			r.fail(item.Problem("missing-field", "the criterion does not say what is checked", `add "expected_outcome": … or "score_ranges": …`))
		}
		criteria = append(criteria, criterion)
		r.decides(item, f, &rule)
	}
	return criteria, rule
}

// decides puts weight and demand of a criterion into the rule.
func (r *reader) decides(item document.Place, f rubricFile, rule *schema.Rule) {
	weight := 1.0
	if f.Weight != nil {
		weight = *f.Weight
	}
	if weight != 1 {
		rule.Weights = putNumber(rule.Weights, f.ID, weight)
	}
	required := f.Required != nil && *f.Required
	if f.Least != nil {
		switch {
		case !item.Has("score_ranges"):
			r.fail(item.Problem("misplaced-field", "`required_min_score` needs a score", "add `score_ranges`, or write required: true", "required_min_score"))
		case f.Required != nil && !required:
			r.warn(item.Problem("ignored", "`required_min_score` is ignored, since the criterion is not required", "write required: true", "required_min_score"))
		default:
			required = true
			rule.Least = putNumber(rule.Least, f.ID, *f.Least/rangeScale)
		}
	}
	if required {
		rule.Required = append(rule.Required, f.ID)
	}
}

// putNumber sets a number by name, creating the map if necessary.
func putNumber(m map[string]float64, key string, x float64) map[string]float64 {
	if m == nil {
		m = map[string]float64{}
	}
	m[key] = x
	return m
}

// ranges reads the meaning of scores: a description by score, or a list of
// ranges.
func (r *reader) ranges(item document.Place) []evaluator.ScoreRange {
	if !item.IsObject() || !item.Has("score_ranges") {
		return nil
	}
	from := item.Sub("score_ranges")
	var out []evaluator.ScoreRange
	if from.IsList() {
		out = r.rangeList(from)
	} else {
		out = r.points(from)
	}
	if len(from.List())+len(from.Keys()) == 0 {
		r.fail(item.Problem("out-of-range", "`score_ranges` describes no score", "describe at least one, or remove it", "score_ranges"))
	}
	slices.SortFunc(out, func(a, b evaluator.ScoreRange) int { return cmp.Compare(a.From, b.From) })
	for i := 1; i < len(out); i++ {
		if out[i].From <= out[i-1].To {
			r.fail(item.Problem("overlap", fmt.Sprintf("the score %s is described twice", decimal(out[i].From)), "let ranges end before the next begins", "score_ranges"))
			break
		}
	}
	return out
}

func (r *reader) points(from document.Place) []evaluator.ScoreRange {
	var out []evaluator.ScoreRange
	for _, key := range from.Keys() {
		score, err := strconv.ParseFloat(key, 64)
		switch {
		case err != nil || !inScale(score):
			r.fail(from.Problem("out-of-range", fmt.Sprintf("`score_ranges` describes %q", key), "it must be a score from 0 to 10", key))
			continue
		case !from.IsText(key):
			r.fail(from.Problem("wrong-type", fmt.Sprintf("the description of %s must be a string", key), "describe the score", key))
			continue
		}
		out = append(out, evaluator.ScoreRange{From: score, To: score, Description: from.Text(key)})
	}
	return out
}

func (r *reader) rangeList(from document.Place) []evaluator.ScoreRange {
	var out []evaluator.ScoreRange
	for _, item := range from.List() {
		var ends []float64
		text := cmp.Or(item.Text("expected_outcome"), item.Text("criteria"), item.Text("outcome"), item.Text("description"))
		if err := json.Unmarshal(item.JSON("score_range"), &ends); err != nil || len(ends) != 2 || !inScale(ends[0]) || !inScale(ends[1]) || ends[0] > ends[1] {
			r.fail(item.Problem("out-of-range", "`score_range` is not a range", "write two scores from 0 to 10, the lower one first", "score_range"))
			continue
		}
		if text == "" {
			r.fail(item.Problem("missing-field", "the range has no description", `add "expected_outcome": …`))
			continue
		}
		out = append(out, evaluator.ScoreRange{From: ends[0], To: ends[1], Description: text})
	}
	return out
}

func inScale(x float64) bool { return !math.IsNaN(x) && x >= 0 && x <= rangeScale }

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
