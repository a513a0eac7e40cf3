package files

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// FormatSkill is the name of the form of results.
const FormatSkill = "skill"

// Skill returns the folder with the results of the skill format: for each skill, in the
// path of its folder, benchmark.json and for each run grading.json and timing.json, with
// the fields and places of the skill-creator.
func Skill(folder string, now func() time.Time) File {
	return File{Flag: "--results", Path: folder, RenderAll: func(r *report.Report) ([]Part, error) { return skillParts(r, now()) }}
}

// SkillLeftOut counts the cases that the results of skills lack because they have another
// format.
func SkillLeftOut(r *report.Report) (n int) {
	for i := range r.Cases {
		if r.Cases[i].Dialect != schema.DialectSkill {
			n++
		}
	}
	return n
}

// A benchmark is a benchmark.json.
type benchmark struct {
	Metadata benchmarkMetadata `json:"metadata"`
	Runs     []skillRun        `json:"runs"`
	Summary  map[string]any    `json:"run_summary"`
	Notes    []string          `json:"notes"`
}

type benchmarkMetadata struct {
	Name      string            `json:"skill_name"`
	Path      string            `json:"skill_path"`
	Model     string            `json:"executor_model"`
	Timestamp string            `json:"timestamp"`
	Evals     []json.RawMessage `json:"evals_run"`
	Runs      int               `json:"runs_per_configuration"`
}

// A skillRun is one run of an eval.
type skillRun struct {
	EvalID        json.RawMessage `json:"eval_id"`
	EvalName      string          `json:"eval_name"`
	Configuration string          `json:"configuration"`
	Number        int             `json:"run_number"`
	Result        skillResult     `json:"result"`
	Expectations  []expectation   `json:"expectations"`
	Notes         []string        `json:"notes"`

	folder string
	turns  int
}

type skillResult struct {
	PassRate  float64 `json:"pass_rate"`
	Passed    int     `json:"passed"`
	Failed    int     `json:"failed"`
	Total     int     `json:"total"`
	Seconds   float64 `json:"time_seconds"`
	Tokens    int64   `json:"tokens"`
	ToolCalls int     `json:"tool_calls"`
	Errors    int     `json:"errors"`
}

// An expectation is a graded criterion.
type expectation struct {
	Text     string `json:"text"`
	Passed   bool   `json:"passed"`
	Evidence string `json:"evidence"`
}

// A grading is a grading.json.
type grading struct {
	Expectations []expectation  `json:"expectations"`
	Summary      gradingSummary `json:"summary"`
	Metrics      gradingMetrics `json:"execution_metrics"`
	Timing       gradingTiming  `json:"timing"`
}

type gradingSummary struct {
	Passed   int     `json:"passed"`
	Failed   int     `json:"failed"`
	Total    int     `json:"total"`
	PassRate float64 `json:"pass_rate"`
}

type gradingMetrics struct {
	ToolCalls int `json:"total_tool_calls"`
	Steps     int `json:"total_steps"`
	Errors    int `json:"errors_encountered"`
}

type gradingTiming struct {
	Executor float64 `json:"executor_duration_seconds"`
}

// A timing is a timing.json.
type timing struct {
	Tokens   int64   `json:"total_tokens"`
	Duration int64   `json:"duration_ms"`
	Seconds  float64 `json:"total_duration_seconds"`
}

// skillParts returns the files of results.
func skillParts(r *report.Report, now time.Time) ([]Part, error) {
	var parts []Part
	add := func(name string, v any) error {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(v)
		parts = append(parts, Part{Name: name, Data: b.Bytes()})
		return err
	}
	var skills []string
	all := map[string]*benchmark{}
	for i := range r.Cases {
		row := &r.Cases[i]
		if row.Dialect != schema.DialectSkill || row.Result == nil || row.Verdict != nil && *row.Verdict == verdict.Skipped {
			continue
		}
		skill, id := skillOf(row)
		b := all[skill]
		if b == nil {
			b = &benchmark{
				Metadata: benchmarkMetadata{Name: path.Base(skill), Path: skill, Model: row.Target, Timestamp: now.UTC().Format(time.RFC3339), Evals: []json.RawMessage{}},
				Runs:     []skillRun{}, Notes: []string{},
			}
			all[skill], skills = b, append(skills, skill)
		}
		b.add(row, id)
	}
	for _, skill := range skills {
		b := all[skill]
		b.conclude()
		if err := add(path.Join(skill, "benchmark.json"), b); err != nil {
			return nil, err
		}
		for _, run := range b.Runs {
			folder := path.Join(skill, run.folder, run.Configuration, "run-"+strconv.Itoa(run.Number))
			if err := add(path.Join(folder, "grading.json"), run.grading()); err != nil {
				return nil, err
			}
			if err := add(path.Join(folder, "timing.json"), timing{run.Result.Tokens, int64(math.Round(run.Result.Seconds * 1000)), run.Result.Seconds}); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// skillOf returns the folder of a case's skill and the id of its eval.
func skillOf(row *report.Row) (skill, id string) {
	skill = strings.Join(row.Groups, "/")
	return skill, strings.TrimPrefix(strings.TrimPrefix(row.Key, skill), "#")
}

// add adds the runs of a case, with its skill and without it.
func (b *benchmark) add(row *report.Row, id string) {
	b.Metadata.Evals = append(b.Metadata.Evals, idJSON(id))
	for _, side := range []struct {
		configuration string
		row           *report.Row
	}{{report.WithSkill, row}, {report.WithoutSkill, row.Control}} {
		if side.row == nil {
			continue
		}
		if why := side.row.Error; why != nil {
			b.Notes = append(b.Notes, fmt.Sprintf("Eval %s has no result %s: %s", id, words(side.configuration), textfmt.Line(*why)))
			continue
		}
		runs := runsOf(side.row, row.Result.Texts)
		for n := range runs {
			run := &runs[n]
			run.EvalID, run.EvalName, run.Configuration, run.Number, run.Notes = idJSON(id), row.Result.Labels.Name, side.configuration, n+1, []string{}
			run.folder = folderOf(id)
		}
		b.Runs, b.Metadata.Runs = append(b.Runs, runs...), max(b.Metadata.Runs, len(runs))
	}
}

// words names a configuration in a sentence.
func words(configuration string) string {
	if configuration == report.WithSkill {
		return "with the skill"
	}
	return "without the skill"
}

// idJSON returns the id of an eval, which is a number where it was written as one.
func idJSON(id string) json.RawMessage {
	if n, err := strconv.ParseInt(id, 10, 53); err == nil && strconv.FormatInt(n, 10) == id {
		return json.RawMessage(id)
	}
	raw, _ := json.Marshal(id) // a text
	return raw
}

// plainID are the ids that may be a part of a path.
var plainID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// folderOf returns the name of the folder of an eval. A repository chooses the id.
func folderOf(id string) string {
	if plainID.MatchString(id) {
		return "eval-" + id
	}
	sum := sha256.Sum256([]byte(id))
	return "eval-" + hex.EncodeToString(sum[:6])
}

// runsOf returns the runs of a case.
func runsOf(row *report.Row, texts map[string]string) []skillRun {
	if row.Verdict == nil || row.Result == nil {
		return nil
	}
	samples := row.Result.Samples
	if len(samples) == 0 {
		samples = []report.Sample{{Effort: row.Result.Effort, Evaluators: row.Result.Evaluators, Verdict: *row.Verdict}}
	}
	var runs []skillRun
	for _, s := range samples {
		if s.Verdict.Rank() >= 0 {
			runs = append(runs, runOf(s, texts))
		}
	}
	return runs
}

// runOf converts a sample. Its time and tokens are means if only the sum of several samples
// is known.
func runOf(s report.Sample, texts map[string]string) skillRun {
	run := skillRun{Expectations: []expectation{}}
	for _, ev := range s.Evaluators {
		for _, c := range ev.Criteria {
			if c.NotApplicable {
				continue
			}
			run.Expectations = append(run.Expectations, expectation{Text: cmp.Or(texts[c.ID], c.ID), Passed: c.Score >= 1, Evidence: c.Remark()})
			if c.Score >= 1 {
				run.Result.Passed++
			}
		}
	}
	run.Result.Total = len(run.Expectations)
	run.Result.Failed = run.Result.Total - run.Result.Passed
	if run.Result.Total > 0 {
		run.Result.PassRate = rounded(float64(run.Result.Passed) / float64(run.Result.Total))
	}
	if e := s.Effort; e != nil && e.Samples > 0 {
		n := float64(e.Samples)
		run.Result.Seconds = rounded(e.Latency.Seconds() / n)
		run.Result.Tokens = int64(math.Round(float64(e.InputTokens+e.OutputTokens) / n))
		run.Result.ToolCalls, run.turns = int(math.Round(float64(e.ToolCalls)/n)), int(math.Round(float64(e.Turns)/n))
	}
	return run
}

// grading returns the run's grading.json. The time is also in timing.json, which has the
// tokens, too.
func (r *skillRun) grading() grading {
	return grading{
		Expectations: r.Expectations,
		Summary:      gradingSummary{r.Result.Passed, r.Result.Failed, r.Result.Total, r.Result.PassRate},
		Metrics:      gradingMetrics{ToolCalls: r.Result.ToolCalls, Steps: r.turns},
		Timing:       gradingTiming{r.Result.Seconds},
	}
}

// conclude sums up the runs of each configuration.
func (b *benchmark) conclude() {
	b.Summary = map[string]any{}
	means := map[string][3]float64{}
	for _, configuration := range []string{report.WithSkill, report.WithoutSkill} {
		values := b.values(configuration)
		if len(values[0]) == 0 {
			continue
		}
		spreads := [3]spread{spreadOf(values[0]), spreadOf(values[1]), spreadOf(values[2])}
		b.Summary[configuration] = map[string]spread{"pass_rate": spreads[0], "time_seconds": spreads[1], "tokens": spreads[2]}
		means[configuration] = [3]float64{spreads[0].Mean, spreads[1].Mean, spreads[2].Mean}
	}
	with, known := means[report.WithSkill]
	without, compared := means[report.WithoutSkill]
	if known && compared {
		b.Summary["delta"] = map[string]string{
			"pass_rate":    fmt.Sprintf("%+.2f", with[0]-without[0]),
			"time_seconds": fmt.Sprintf("%+.1f", with[1]-without[1]),
			"tokens":       fmt.Sprintf("%+.0f", with[2]-without[2]),
		}
	}
	b.note()
}

// values returns the pass rates, the times and the tokens of the runs of a configuration.
func (b *benchmark) values(configuration string) (values [3][]float64) {
	for _, run := range b.Runs {
		if run.Configuration != configuration {
			continue
		}
		for k, x := range []float64{run.Result.PassRate, run.Result.Seconds, float64(run.Result.Tokens)} {
			values[k] = append(values[k], x)
		}
	}
	return values
}

// note notes the evals that pass without the skill in every run.
func (b *benchmark) note() {
	passes := map[string]bool{} // without the skill, by eval
	for _, run := range b.Runs {
		if id := string(run.EvalID); run.Configuration == report.WithoutSkill {
			before, known := passes[id]
			passes[id] = run.Result.Failed == 0 && (before || !known)
		}
	}
	for _, id := range b.Metadata.Evals {
		if passes[string(id)] {
			b.Notes = append(b.Notes, fmt.Sprintf("Eval %s passes without the skill in every run, and so does not tell what it adds", strings.Trim(string(id), `"`)))
		}
	}
}

// A spread describes the values of the runs of a configuration.
type spread struct {
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"stddev"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf returns the mean, the standard deviation of a sample, the least and the
// greatest of values.
func spreadOf(values []float64) spread {
	s := spread{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, x := range values {
		s.Mean, s.Min, s.Max = s.Mean+x/float64(len(values)), min(s.Min, x), max(s.Max, x)
	}
	var squares float64
	for _, x := range values {
		squares += (x - s.Mean) * (x - s.Mean)
	}
	if len(values) > 1 {
		s.StdDev = math.Sqrt(squares / float64(len(values)-1))
	}
	return spread{rounded(s.Mean), rounded(s.StdDev), rounded(s.Min), rounded(s.Max)}
}

// rounded rounds to four digits, as the skill-creator does.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }
