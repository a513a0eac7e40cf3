package files

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Time     junitSeconds  `xml:"time,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       junitSeconds     `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	Properties []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	File    string       `xml:"file,attr,omitempty"`
	Line    int          `xml:"line,attr,omitempty"`
	Time    junitSeconds `xml:"time,attr"`
	Failure *junitDetail `xml:"failure,omitempty"`
	Error   *junitDetail `xml:"error,omitempty"`
	Skipped *junitDetail `xml:"skipped,omitempty"`
}

type junitDetail struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// junitSeconds are kept in milliseconds and written in seconds.
type junitSeconds int64

// MarshalText formats three decimals.
func (s junitSeconds) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", s/1000, s%1000), nil
}

// WriteJUnit writes every case of head, in suites by their group, and the problems that
// kept definitions from running in a separate suite. A borderline case counts as
// passed. A wanted case without a judgement is an error; a case without a known verdict
// is skipped, and so is a failing case that the gate lets pass, with the reason. If the
// gate did not pass for another reason than a case, it is the failure or the error of a
// separate suite.
func WriteJUnit(w io.Writer, r *report.Report) error {
	all := junitSuites{Name: "gavel", Time: junitSeconds(r.DurationMS)}
	byName := map[string]*junitSuite{}
	named := func(name string) *junitSuite {
		s, ok := byName[name]
		if !ok {
			s = &junitSuite{Name: textfmt.Line(name)}
			byName[name] = s
			all.Suites = append(all.Suites, s)
		}
		return s
	}
	for _, p := range r.Problems {
		if p.Severity == schema.Error {
			named("definitions").addProblem(p)
		}
	}
	var rows []*report.Row
	for i := range r.Cases {
		rows = append(rows, &r.Cases[i])
	}
	shared := reporters.SharedErrors(rows)
	for _, row := range rows {
		if row.Action == plan.Removed {
			continue
		}
		name := strings.Join(row.Groups, "/")
		if name == "" {
			name = row.Dialect
		}
		named(name).add(r, row, cmp.Or(shared[row], deref(row.Error)))
	}
	for _, t := range r.Triggers {
		s := named(t.Skill)
		if s.Properties == nil {
			s.Properties = &junitProperties{}
		}
		name := strings.TrimSuffix("triggers "+textfmt.Line(t.Target), " ")
		s.Properties.Properties = append(s.Properties.Properties, junitProperty{name, t.String()})
	}
	if r.Gate.Result != report.GatePass && r.NotRunReason == "" && !all.red() {
		named("gate").addGate(r.Gate)
	}
	for _, s := range all.Suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// red reports whether anything failed or is in error.
func (a *junitSuites) red() bool {
	return slices.ContainsFunc(a.Suites, func(s *junitSuite) bool { return s.Failures+s.Errors > 0 })
}

func (s *junitSuite) addGate(g report.Gate) {
	c := junitCase{Name: "gate", Class: s.class()}
	why := &junitDetail{Message: textfmt.Line(g.Reason), Type: g.Result}
	s.Tests++
	if g.Result == report.GateFail {
		s.Failures++
		c.Failure = why
	} else {
		s.Errors++
		c.Error = why
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) class() string { return "gavel." + strings.ReplaceAll(s.Name, "/", ".") }

func (s *junitSuite) addProblem(p schema.Problem) {
	s.Tests++
	s.Errors++
	s.Cases = append(s.Cases, junitCase{
		Name: textfmt.Line(p.Position.String()), Class: s.class(), File: textfmt.Line(p.File), Line: p.Line,
		Error: &junitDetail{Message: textfmt.Line(p.Message), Type: textfmt.Line(p.Rule), Text: textfmt.Line(p.Hint)},
	})
}

// add adds a case, with the text about its error.
func (s *junitSuite) add(r *report.Report, row *report.Row, failed string) {
	c := junitCase{Name: textfmt.Line(row.Name()), Class: s.class(), File: textfmt.Line(row.File), Line: row.Line, Time: junitSeconds(row.DurationMS)}
	s.Tests++
	s.Time += c.Time
	switch {
	case row.Error != nil && row.Quarantine != nil:
		s.Skipped++
		c.Skipped = &junitDetail{Message: textfmt.Line("ended in an error, and the gate lets it pass (quarantined " + row.Quarantine.String() + "): " + *row.Error), Text: junitExplanation(r, row)}
	case row.Error != nil:
		s.Errors++
		c.Error = &junitDetail{Message: textfmt.Line(failed), Type: "error", Text: junitExplanation(r, row)}
	case row.Verdict == nil, *row.Verdict == verdict.Skipped:
		s.Skipped++
		c.Skipped = &junitDetail{Message: textfmt.Line(unjudged(row))}
	case reporters.Standing(r, row):
		s.Skipped++
		c.Skipped = &junitDetail{Message: textfmt.Line(waivedReason(row)), Text: junitExplanation(r, row)}
	case *row.Verdict == verdict.Fail:
		s.Failures++
		kind := "fail"
		if row.Class != nil {
			kind = string(*row.Class)
		}
		c.Failure = &junitDetail{Message: textfmt.Line(row.VerdictReason), Type: kind, Text: junitExplanation(r, row)}
	}
	s.Cases = append(s.Cases, c)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// waivedReason returns the reason why a failing case does not fail the run.
func waivedReason(row *report.Row) string {
	why := "it failed at base, too"
	switch {
	case row.Accepted != nil:
		why = "accepted " + row.Accepted.String()
	case row.Quarantine != nil:
		why = "quarantined " + row.Quarantine.String()
	case row.Class != nil && *row.Class != report.Unchanged:
		why = string(*row.Class)
	}
	return strings.TrimSuffix("fails, and the gate lets it pass ("+why+"): "+row.VerdictReason, ": ")
}

// unjudged returns the reason for a missing verdict without an error.
func unjudged(row *report.Row) string {
	if row.Action == plan.Reuse && len(row.Reasons) == 0 {
		return "unaffected, and no verdict is stored"
	}
	return plan.Summarise(row.Reasons)
}

// junitExplanation returns the text that a CI system shows below the message: the
// score, the reason for running the case, its place, and the unmet criteria.
func junitExplanation(r *report.Report, row *report.Row) string {
	var lines []string
	if row.Score != nil {
		score := "score " + row.Shown(row.Score)
		if row.BaseScore != nil {
			score += ", at base " + row.Shown(row.BaseScore)
		}
		lines = append(lines, score)
	}
	if said := reporters.Remeasured(row); said != "" {
		lines = append(lines, said)
	}
	if row.Detail != nil {
		for _, cr := range row.Detail.Criteria {
			if cr.Head != nil && *cr.Head < 1 {
				lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s: %s; %s", cr.ID, textfmt.Score(cr.Head, 2), cr.Note), "; "))
			}
		}
	}
	if why := reporters.Why(r, row); why != "" {
		lines = append(lines, why)
	}
	lines = append(lines, schema.Position{File: row.File, Line: row.Line}.String())
	for i, line := range lines {
		lines[i] = textfmt.Line(line)
	}
	return strings.Join(lines, "\n")
}
