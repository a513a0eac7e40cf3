package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

func run(id string, day int, cases string) HistoryRun {
	return HistoryRun{ID: id, Head: "worktree", Finished: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Report: json.RawMessage(`{"cases":[` + cases + `]}`)}
}

// TestOnlyJudgementsCount holds that a reused verdict, an error and a skipped case
// are not judgements, and that a changed digest is marked.
func TestOnlyJudgementsCount(t *testing.T) {
	h := CaseHistory{}
	for _, r := range []HistoryRun{
		run("a", 1, `{"key":"k","action":"run","verdict":"pass","score":1,"digest":"d1"}`),
		run("b", 2, `{"key":"k","action":"reuse","verdict":"pass","score":1,"digest":"d1"}`),
		run("c", 3, `{"key":"k","action":"run","verdict":null,"score":null,"digest":"d1"},{"key":"s","action":"skip","verdict":"skipped"}`),
		run("d", 4, `{"key":"k","action":"run","verdict":"error","score":null,"digest":"d1"}`),
		run("e", 5, `{"key":"k","action":"rejudge","verdict":"fail","score":0.25,"digest":"d2"}`),
	} {
		if err := h.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, j := range h["k"] {
		line := j.Run + " " + string(j.Verdict)
		if j.Changed {
			line += " changed"
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"a pass", "e fail changed"}, got); diff != "" {
		t.Errorf("the judgements of k (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"k"}, h.Names()); diff != "" {
		t.Errorf("the cases (-want +got):\n%s", diff)
	}
	if j := h["k"][1]; j.Score == nil || *j.Score != 0.25 || j.Verdict != verdict.Fail || !j.At.Equal(time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the last judgement is %+v, want fail with 0.25 on January 5", j)
	}
}

// TestEachTargetHasAHistory holds that a case which several targets run has one
// history for each.
func TestEachTargetHasAHistory(t *testing.T) {
	h := CaseHistory{}
	err := h.Add(run("a", 1, `{"key":"k","target":"x","per_target":true,"action":"run","verdict":"pass"},{"key":"k","target":"y","per_target":true,"action":"run","verdict":"fail"}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"k @ x", "k @ y"}, h.Names()); diff != "" {
		t.Errorf("the histories (-want +got):\n%s", diff)
	}
}

// TestJudgedNothing holds that a report whose cases are not read has no judgement.
func TestJudgedNothing(t *testing.T) {
	for _, tt := range []struct {
		report string
		want   bool
	}{
		{`{"summary":{"run":0,"rejudged":0,"redecided":0,"reused":7},"cases":[]}`, true},
		{`{"summary":{"run":1,"rejudged":0,"redecided":0},"cases":[]}`, false},
		{`{"summary":{"run":0,"rejudged":1,"redecided":0},"cases":[]}`, false},
		{`{"summary":{"run":0,"rejudged":0,"redecided":1},"cases":[]}`, false},
		{`{"summary":{"run":0,"rejudged":0},"cases":[]}`, false},
		{`{"run":"r","cases":[{"key":"summary"}],"summary":{"run":0,"rejudged":0,"redecided":0},"problems":[`, true},
		{`{"run":"r","cases":[],"gate":{"summary":{"run":0,"rejudged":0,"redecided":0}}}`, false},
		{`{"summary":[]}`, false},
		{`[]`, false},
		{`{"cases":[]}`, false},
		{`{"cases":`, false},
	} {
		if got := JudgedNothing(strings.NewReader(tt.report)); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.report, got, tt.want)
		}
	}
	golden, err := filepath.Glob("testdata/*.json")
	if err != nil || len(golden) == 0 {
		t.Fatal(golden, err)
	}
	for _, name := range golden {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h := CaseHistory{}
		if err := h.Add(HistoryRun{Report: raw}); err != nil {
			t.Fatal(err)
		}
		if JudgedNothing(bytes.NewReader(raw)) && len(h) > 0 {
			t.Errorf("%s has judgements of %v", name, h.Names())
		}
	}
}

func TestABrokenReportIsNamed(t *testing.T) {
	err := CaseHistory{}.Add(HistoryRun{ID: "run-7", Report: json.RawMessage(`{"cases":`)})
	if err == nil || !strings.Contains(err.Error(), "run-7") {
		t.Errorf("a report that is cut off gives %v, want an error that names run-7", err)
	}
}
