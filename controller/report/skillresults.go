package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// The configurations of a benchmark of a skill.
const (
	WithSkill    = "with_skill"
	WithoutSkill = "without_skill"
	newSkill     = "new_skill"
	oldSkill     = "old_skill"
)

// readSkillResults reads benchmark.json or grading.json of the evals of a skill, as the
// skill-creator and agentskills.io describe them; nil for other data. The error names the
// line and what to write.
func readSkillResults(data []byte) (*Report, error) {
	var doc struct {
		Runs       json.RawMessage `json:"runs"`
		RunSummary json.RawMessage `json:"run_summary"`
		gradedLists
	}
	var list []struct {
		Text   *string          `json:"text"`
		Passed *json.RawMessage `json:"passed"`
	}
	isList := json.Unmarshal(data, &list) == nil && len(list) > 0 && list[0].Text != nil && list[0].Passed != nil
	if !isList && (json.Unmarshal(data, &doc) != nil || doc.Runs == nil && doc.RunSummary == nil && doc.Expectations == nil && doc.Assertions == nil) {
		return nil, nil
	}
	parsed, problems := document.Parse("results.json", data)
	for _, p := range problems {
		if p.Severity == schema.Error {
			return nil, &misplaced{p}
		}
	}
	r := &skillReader{doc: parsed}
	if !isList && (doc.Runs != nil || doc.RunSummary != nil) {
		return r.benchmark()
	}
	return r.grading()
}

// gradedLists are the names of the list of graded criteria.
type gradedLists struct {
	Expectations json.RawMessage `json:"expectations"`
	Assertions   json.RawMessage `json:"assertion_results"`
}

// A misplaced error is a mistake with its place in a file of results.
type misplaced struct{ problem schema.Problem }

// Error names the line, the mistake and the repair.
func (m *misplaced) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("line %d: %s; %s", m.problem.Line, m.problem.Message, m.problem.Hint), "; ")
}

// A skillReader reads the results of a skill.
type skillReader struct {
	doc   *document.Document
	skill string
	// arms have the runs by configuration and eval, and ids the evals in their order.
	arms map[string]map[string]*Row
	ids  []string
}

func fault(at document.Place, message, hint string, way ...any) error {
	return &misplaced{at.Problem("results", message, hint, way...)}
}

// benchmark reads the runs of each eval in each configuration. A case has the runs with
// the skill, and its control the runs without it.
func (r *skillReader) benchmark() (*Report, error) {
	top := document.Place{Doc: r.doc}
	if !top.IsList("runs") || r.doc.Items("runs") == 0 {
		return nil, fault(top, "it has no runs, and means alone cannot be compared", `write "runs" with the result of each run of each eval`)
	}
	meta := top.Sub("metadata")
	if r.skill = meta.Text("skill_path"); r.skill == "" || path.IsAbs(r.skill) || strings.ContainsAny(r.skill, `<\`) {
		r.skill = cmp.Or(meta.Text("skill_name"), "skill")
	}
	r.arms = map[string]map[string]*Row{}
	for _, run := range top.List("runs") {
		if err := r.run(run, meta.Text("executor_model")); err != nil {
			return nil, err
		}
	}
	head, base := r.arms[WithSkill], r.arms[oldSkill]
	if head == nil {
		head = r.arms[newSkill]
	}
	if base == nil {
		base = r.arms[WithoutSkill]
	}
	if len(head) == 0 {
		return nil, fault(top, "it has no run with the skill", `write "configuration": "with_skill" in the runs with it`, "runs")
	}
	out := r.report(head)
	if len(base) > 0 {
		out.Baseline = r.report(base)
	}
	for i := range out.Cases {
		if without := r.arms[WithoutSkill][r.ids[i]]; without != nil {
			control := *without
			control.conclude()
			out.Cases[i].Control = &control
		}
	}
	return out, nil
}

// report returns the cases of a configuration. An eval without a run has an error there.
func (r *skillReader) report(arm map[string]*Row) *Report {
	out := &Report{}
	for _, id := range r.ids {
		row := arm[id]
		if row == nil {
			why := "it has no run in this configuration"
			row = r.row(id, "")
			row.Error = &why
		}
		out.Cases = append(out.Cases, *row)
	}
	for i := range out.Cases {
		out.Cases[i].conclude()
	}
	return out
}

func (r *skillReader) row(id, target string) *Row {
	return &Row{Key: r.skill + "#" + id, Dialect: schema.DialectSkill, Target: target, Weight: 1, Groups: []string{r.skill}, Result: &Result{}}
}

// run adds a run to its eval in its configuration.
func (r *skillReader) run(run document.Place, target string) error {
	if !run.IsObject() {
		return fault(run, "a run must be an object", `write "eval_id", "configuration" and "result"`)
	}
	id := evalID(run)
	if id == "" {
		return fault(run, "the run has no eval_id", `write "eval_id" with the id of its eval`)
	}
	arm := run.Text("configuration")
	if known := []string{WithSkill, WithoutSkill, newSkill, oldSkill}; !slices.Contains(known, arm) {
		return fault(run, fmt.Sprintf("`configuration` is %q", arm), "write one of "+strings.Join(known, ", "), "configuration")
	}
	sample, why, err := sampleOf(run, "result")
	if err != nil {
		return err
	}
	if !slices.Contains(r.ids, id) {
		r.ids = append(r.ids, id)
	}
	if r.arms[arm] == nil {
		r.arms[arm] = map[string]*Row{}
	}
	row := r.arms[arm][id]
	if row == nil {
		row = r.row(id, target)
		r.arms[arm][id] = row
	}
	row.addRun(sample, why)
	return nil
}

// grading reads the graded criteria of one run.
func (r *skillReader) grading() (*Report, error) {
	top := document.Place{Doc: r.doc}
	sample, why, err := sampleOf(top, "summary")
	if err != nil {
		return nil, err
	}
	r.skill = cmp.Or(top.Text("skill_name"), "skill")
	row := r.row(cmp.Or(evalID(top), "grading"), "")
	row.addRun(sample, why)
	row.conclude()
	return &Report{Cases: []Row{*row}}, nil
}

// evalID returns the id of the eval of a run, which is a number or a text, else its name.
func evalID(at document.Place) string {
	var n json.Number
	if !at.IsText("eval_id") && at.Has("eval_id") && json.Unmarshal(at.JSON("eval_id"), &n) == nil {
		return n.String()
	}
	return cmp.Or(strings.TrimSpace(at.Text("eval_id")), strings.TrimSpace(at.Text("eval_name")))
}

// sampleOf reads a run by its counts at a place or, without them, by its graded criteria.
// A run in which nothing was graded is an error, with the reason.
func sampleOf(run document.Place, counts string) (s Sample, why string, err error) {
	passed, total, err := graded(run)
	if err != nil {
		return s, "", err
	}
	result := run.Sub(counts)
	for name, into := range map[string]*int{"passed": &passed, "total": &total} {
		if !result.Has(name) {
			continue
		}
		if *into, err = countAt(result, name); err != nil {
			return s, "", err
		}
	}
	if result.Has("passed") && result.Has("failed") && !result.Has("total") {
		failed, err := countAt(result, "failed")
		if err != nil {
			return s, "", err
		}
		total = passed + failed
	}
	switch {
	case passed > total:
		return s, "", fault(result, fmt.Sprintf("%d of %d passed", passed, total), "correct the counts", "passed")
	case total == 0:
		return s, "nothing was graded", nil
	}
	score := float64(passed) / float64(total)
	s = Sample{Score: &score, Verdict: verdict.Fail, Effort: &verdict.Effort{Samples: 1}}
	if passed == total {
		s.Verdict = verdict.Pass
	}
	for name, use := range map[string]func(float64){
		"time_seconds": func(x float64) { s.Effort.Latency = time.Duration(x * float64(time.Second)) },
		"tokens":       func(x float64) { s.Effort.InputTokens = int64(x) },
		"tool_calls":   func(x float64) { s.Effort.ToolCalls = int(x) },
	} {
		if x, ok := document.ParseNumber(result.JSON(name)); ok && x >= 0 && x < 1e12 {
			use(x)
		} else if result.Has(name) {
			return s, "", fault(result, fmt.Sprintf("`%s` must be a number that is not negative", name), "write a number", name)
		}
	}
	return s, "", nil
}

// countAt reads a whole number that is not negative.
func countAt(at document.Place, name string) (int, error) {
	n, ok := document.ParseNumber(at.JSON(name))
	if !ok || n < 0 || n > 1e6 || n != math.Trunc(n) {
		return 0, fault(at, fmt.Sprintf("`%s` must be a whole number", name), "write how many criteria there are", name)
	}
	return int(n), nil
}

// graded counts the graded criteria of a run: a list, under either of its names, or the
// whole file.
func graded(run document.Place) (passed, total int, err error) {
	list := run.List()
	for _, name := range []string{"expectations", "assertion_results"} {
		if run.Has(name) && !run.IsList(name) {
			return 0, 0, fault(run, fmt.Sprintf("`%s` must be a list", name), `write a list of {"text", "passed", "evidence"}`, name)
		}
		list = append(list, run.List(name)...)
	}
	for _, item := range list {
		switch string(item.JSON("passed")) {
		case "true":
			passed++
		case "false":
		default:
			return 0, 0, fault(item, "a graded criterion must have `passed`", `write "passed": true or false`)
		}
		total++
	}
	return passed, total, nil
}

// addRun adds a run of a case, or the reason why it has no result.
func (row *Row) addRun(s Sample, why string) {
	if why != "" {
		row.Error = &why
		return
	}
	row.Result.Samples = append(row.Result.Samples, s)
}

// conclude sums up the runs of a case. It passes if more than half of them do.
func (row *Row) conclude() {
	samples := row.Result.Samples
	if len(samples) == 0 {
		return
	}
	var sum float64
	passed := 0
	effort := &verdict.Effort{}
	for _, s := range samples {
		sum += *s.Score
		passed += count(s.Verdict == verdict.Pass)
		effort.Samples++
		effort.Latency += s.Effort.Latency
		effort.InputTokens += s.Effort.InputTokens
		effort.ToolCalls += s.Effort.ToolCalls
	}
	score, v := sum/float64(len(samples)), verdict.Fail
	if 2*passed > len(samples) {
		v = verdict.Pass
	}
	if row.Error != nil {
		row.VerdictReason = "not every run has a result: " + *row.Error
	}
	row.Score, row.Verdict, row.Error, row.Samples, row.Result.Effort = &score, &v, nil, len(samples), effort
}
