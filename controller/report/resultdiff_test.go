package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// results is a report whose cases have these verdicts: p, f, e for an error, and a space
// for none.
func results(verdicts string) *Report {
	r := &Report{Run: "run", Cases: []Row{}}
	words := map[rune]verdict.Verdict{'p': verdict.Pass, 'f': verdict.Fail}
	for i, letter := range verdicts {
		row := Row{Key: fmt.Sprintf("math/%02d", i), Target: "bot", Weight: 1, Digest: verdicts}
		if v, ok := words[letter]; ok {
			score := float64(v.Rank()) / 2
			row.Verdict, row.Score = &v, &score
		}
		if letter == 'e' {
			text := "timed out"
			row.Error = &text
		}
		if letter != ' ' {
			r.Cases = append(r.Cases, row)
		}
	}
	return r
}

// TestCompareResults holds that one result a side calls no case a regression, and that all
// cases together can have got worse.
func TestCompareResults(t *testing.T) {
	for _, tt := range []struct{ name, base, head, classes, gate, says string }{
		{"nothing", "ppf", "ppf", "unchanged unchanged unchanged", GatePass, "no affected cases"},
		{"one", "ppf", "pff", "unchanged unclear unchanged", GatePass, "the cases did not get worse on the whole; 1 unclear in one run a side: they are files (fail_on: regression)"},
		{"better", "pff", "ppf", "unchanged improvement unchanged", GatePass, "no case regressed"},
		{"error", "pp", "pe", "unchanged error", GateUndetermined, "1 case ended in an error"},
		{"new", "p ", "pp", "unchanged new", GatePass, "no case regressed"},
		{"new fail", "p ", "pf", "unchanged new", GateFail, "1 new case fails"},
		{"removed", "pp", "p ", "unchanged removed", GatePass, "1 case removed"},
		{"all",
			"pppppppp", "ffffffff", strings.TrimSpace(strings.Repeat("unclear ", 8)), GateFail,
			"the cases got worse on the whole: 8 worse, 0 better (p = 0.004)",
		},
	} {
		r := CompareResults(results(tt.base), results(tt.head), "they are files")
		var classes []string
		for _, row := range r.Cases {
			classes = append(classes, string(*row.Class))
		}
		if diff := cmp.Diff([]string{tt.classes, tt.gate}, []string{strings.Join(classes, " "), r.Gate.Result}); diff != "" || !strings.Contains(r.Gate.Reason, tt.says) {
			t.Errorf("%s: classes and gate (-want +got):\n%s%s", tt.name, diff, r.Gate.Reason)
		}
	}
}

// TestRead reads what a run printed and the lines of a results file, and nothing else.
func TestRead(t *testing.T) {
	printed, err := json.Marshal(results("pf"))
	if err != nil {
		t.Fatal(err)
	}
	const lines = `{"evalId": "a", "dataset": "d", "score": 1, "verdict": "pass", "target": "bot"}

{"evalId": "b", "score": 0, "verdict": "fail", "error": "timed out"}
`
	for _, tt := range []struct{ text, want string }{{string(printed), "math/00 pass, math/01 fail"}, {lines, "a pass, b timed out"}} {
		r, err := ReadResults([]byte(tt.text))
		if err != nil {
			t.Errorf("reading %s: %v", tt.text, err)
			continue
		}
		var got []string
		for _, row := range r.Cases {
			if row.Error != nil {
				got = append(got, row.Key+" "+*row.Error)
			} else {
				got = append(got, row.Key+" "+string(*row.Verdict))
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("read %q, want %q", got, tt.want)
		}
	}
	for _, text := range []string{"", "version: 1", "{}", "[]", `{"evalId": ""}`, "null"} {
		if _, err := ReadResults([]byte(text)); !errors.Is(err, errNotResults) {
			t.Errorf("%q is read as results: %v", text, err)
		}
	}
}

// TestTurnsOfOneConversation fail together, so they are one of what got worse.
func TestTurnsOfOneConversation(t *testing.T) {
	base, head := results("pppppppp"), results("ffffffff")
	for _, r := range []*Report{base, head} {
		for i := range r.Cases {
			r.Cases[i].Conversation = []string{"refund", "order"}[i%2]
		}
	}
	r := CompareResults(base, head, "they are files")
	if m := r.Remeasured.Mean; m.Worse != 2 || m.Called {
		t.Errorf("of two conversations the mean says %+v", m)
	}
	const lines = `{"evalId": "a", "conversationId": "refund", "score": 1, "verdict": "pass"}`
	if r, err := ReadResults([]byte(lines)); err != nil || r.Cases[0].Conversation != "refund" {
		t.Errorf("read %+v, %v", r, err)
	}
}
