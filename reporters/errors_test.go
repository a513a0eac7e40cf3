package reporters_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// TestEqualErrorsAreOneLine: an error that many cases have appears once, with their
// number, and each case is named or counted.
func TestEqualErrorsAreOneLine(t *testing.T) {
	const unseen = "checks/a.js reads lib/h.js; add it to programs.inputs"
	s := reporttest.New()
	for i := range 12 {
		s.Add(fmt.Sprintf("talk/case_%02d", i), reporttest.Pass(1), &reporttest.Side{Verdict: verdict.Error, Reason: fmt.Sprintf("judge %d: ", i%2) + unseen}, reporttest.Definition())
	}
	s.Add("talk/other", reporttest.Pass(1), &reporttest.Side{Verdict: verdict.Error, Reason: "no answer"}, reporttest.Definition())
	r := report.Compare(s.In)
	var text, xml, page bytes.Buffer
	if err := terminal.Report(&text, r, terminal.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := files.WriteJUnit(&xml, r); err != nil {
		t.Fatal(err)
	}
	if err := html.Write(&page, r, html.Options{}); err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, a := range comment.NewCheck(r).Annotations {
		notes = append(notes, a.Message)
	}
	for _, tt := range []struct{ name, got string }{
		{"the terminal", text.String()}, {"JUnit", xml.String()}, {"the page", page.String()}, {"the comment", comment.Markdown(r, comment.Options{})}, {"the check run", strings.Join(notes, "\n")},
	} {
		plain := strings.NewReplacer("&nbsp;", " ", "**", "", "<wbr>", "", "\\", "").Replace(tt.got)
		if n := strings.Count(plain, "add it to programs.inputs"); n != 1 || !strings.Contains(plain, "12 cases") || !strings.Contains(plain, "no answer") {
			t.Errorf("%s has the error %d times, want once with 12 cases, and the other one:\n%s", tt.name, n, tt.got)
		}
	}
	if n := strings.Count(xml.String(), "<error "); n != 13 {
		t.Errorf("JUnit has %d errors, want one for each of the 13 cases", n)
	}
}
