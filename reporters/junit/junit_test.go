package junit

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
)

func TestWrite(t *testing.T) {
	pass, fail, failed, gone := verdict.Pass, verdict.Fail, verdict.Error, reporters.Gone
	message := "timed out\x00 <after> \x1b[1m30 s"
	r := &reporters.Report{Cases: []reporters.Row{
		{Key: "a", Groups: []string{"math", "1"}, Verdict: &pass, DurationMS: 1500},
		{Key: "b", Groups: []string{"math", "1"}, Verdict: &fail, Reason: `said "no" & left`},
		{Key: "c", Groups: []string{"talk", "1"}, Verdict: &failed, Error: &message},
		{Key: "d", Groups: []string{"talk", "1"}},
		{Key: "e", Class: &gone},
	}}
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var got suites
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("not XML: %v\n%s", err, b.String())
	}
	if got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 1 || len(got.Suites) != 2 {
		t.Errorf("%+v", got)
	}
	math := got.Suites[0]
	if math.Name != "math/1" || math.Cases[0].Time != "1.500" || math.Cases[1].Failure.Message != `said "no" & left` {
		t.Errorf("%+v", math)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b") {
		t.Error("control characters get through")
	}
}
