package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// skillRow is a case of a skill with its runs: p and f say which criteria pass, in runs
// that are separated by spaces.
func skillRow(key, runs string, control *report.Row) report.Row {
	skill, _, _ := strings.Cut(key, "#")
	row := report.Row{
		Key: key, Dialect: schema.DialectSkill, Target: "coder", Groups: []string{skill}, Weight: 1, Control: control,
		Result: &report.Result{Labels: schema.Labels{Name: "Ocean"}, Texts: map[string]string{"a": "The output has a title", "b": "The output is a PDF file"}},
	}
	v, score := verdict.Pass, 1.0
	for n, run := range strings.Fields(runs) {
		s := report.Sample{Verdict: verdict.Pass, Effort: &verdict.Effort{Samples: 1, InputTokens: 1000, OutputTokens: int64(n), Latency: time.Duration(n+1) * 1500 * time.Millisecond, ToolCalls: 3, Turns: 4}}
		var criteria []verdict.Criterion
		for i, letter := range run {
			c := verdict.Criterion{ID: string("ab"[i]), Note: "seen", Score: 1}
			if letter == 'f' {
				c.Score, s.Verdict = 0, verdict.Fail
			}
			criteria = append(criteria, c)
		}
		s.Evaluators = []verdict.EvaluatorResult{{Name: "criteria", Criteria: criteria}}
		row.Result.Samples = append(row.Result.Samples, s)
	}
	row.Verdict, row.Score = &v, &score
	return row
}

func skillReport() *report.Report {
	why := "the server is down"
	without := skillRow("skills/pdf#1", "pf ff", nil)
	broken := skillRow("skills/pdf#river", "pp", nil)
	broken.Verdict, broken.Score, broken.Error = nil, nil, &why
	easy := skillRow("skills/csv#2", "p", nil)
	return &report.Report{Cases: []report.Row{
		skillRow("skills/pdf#1", "pp pf", &without), skillRow("skills/pdf#river", "pp", &broken),
		skillRow("skills/csv#2", "p", &easy), {Key: "greeting", Dialect: schema.DialectTestcase},
	}}
}

// TestSkillResults holds the files of a run against ones that are written by hand from the
// skill-creator's page of its schemas, and reads them back.
func TestSkillResults(t *testing.T) {
	dir := t.TempDir()
	file := Skill(dir, func() time.Time { return time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC) })
	r := skillReport()
	if err := Check(file); err != nil {
		t.Fatal(err)
	}
	if err := Write(r, file); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(dir)+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, run := range []string{
		"pdf/eval-1/with_skill/run-1", "pdf/eval-1/with_skill/run-2", "pdf/eval-1/without_skill/run-1", "pdf/eval-1/without_skill/run-2",
		"pdf/eval-river/with_skill/run-1", "csv/eval-2/with_skill/run-1", "csv/eval-2/without_skill/run-1",
	} {
		want = append(want, "skills/"+run+"/grading.json", "skills/"+run+"/timing.json")
	}
	want = append(want, "skills/csv/benchmark.json", "skills/pdf/benchmark.json")
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for written, name := range map[string]string{
		"benchmark.json": "skills/pdf/benchmark.json", "grading.json": "skills/pdf/eval-1/with_skill/run-2/grading.json", "timing.json": "skills/pdf/eval-1/with_skill/run-2/timing.json",
	} {
		var documents [2]any
		for i, from := range []string{filepath.Join("testdata", "skill", written), filepath.Join(dir, name)} {
			data, err := os.ReadFile(from)
			if err == nil {
				err = json.Unmarshal(data, &documents[i])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(documents[0], documents[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", written, diff)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "skills/pdf/benchmark.json"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := report.ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	out := report.CompareResults(back.Baseline, back, "they are files")
	if got, want := out.Lift.String(), "with the skill 1 of 2, without 0 of 2 (+50 points, "; !strings.HasPrefix(got, want) {
		t.Errorf("read back: %q, want %q", got, want)
	}
	if back.Cases[0].Key != "skills/pdf#1" || back.Cases[1].Key != "skills/pdf#river" || SkillLeftOut(r) != 1 {
		t.Errorf("read back: %s, %s", back.Cases[0].Key, back.Cases[1].Key)
	}
}

// TestSkillResultsOfHostileIDs: an id chooses no place outside of the folder.
func TestSkillResultsOfHostileIDs(t *testing.T) {
	var rows []report.Row
	for _, id := range []string{"../../up", "..", "a/b", ".git", "CON:1", strings.Repeat("x", 300), "ok-1"} {
		rows = append(rows, skillRow("skills/pdf#"+id, "p", nil))
	}
	parts, err := skillParts(&report.Report{Cases: rows}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, part := range parts {
		steps := strings.Split(part.Name, "/")
		if part.Name == "skills/pdf/benchmark.json" {
			continue
		}
		if len(steps) != 6 || !plainID.MatchString(steps[2]) || !strings.HasPrefix(steps[2], "eval-") {
			t.Errorf("%s is a file of an eval", part.Name)
			continue
		}
		folders[steps[2]] = true
	}
	if len(folders) != len(rows) || !folders["eval-ok-1"] {
		t.Errorf("%d folders of %d evals: %v", len(folders), len(rows), folders)
	}
}
