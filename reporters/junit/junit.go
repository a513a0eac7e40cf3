// Package junit writes a report as JUnit XML, which CI systems show as tests.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []*suite `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    string  `xml:"time,attr"`
	File    string  `xml:"file,attr,omitempty"`
	Failure *detail `xml:"failure,omitempty"`
	Error   *detail `xml:"error,omitempty"`
	Skipped *detail `xml:"skipped,omitempty"`
}

type detail struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Write writes every case that head has, in suites by their group. A
// borderline case counts as passed; a case without a verdict as skipped.
func Write(w io.Writer, r *reporters.Report) error {
	all := suites{Name: "gavel"}
	byName := map[string]*suite{}
	for _, row := range r.Cases {
		if row.Class != nil && *row.Class == reporters.Gone {
			continue
		}
		name := strings.Join(row.Groups, "/")
		if name == "" {
			name = row.Dialect
		}
		s, ok := byName[name]
		if !ok {
			s = &suite{Name: phrase.Line(name)}
			byName[name] = s
			all.Suites = append(all.Suites, s)
		}
		s.add(row)
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Errors, all.Skipped = all.Errors+s.Errors, all.Skipped+s.Skipped
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

func (s *suite) add(row reporters.Row) {
	c := testcase{
		Name: phrase.Line(row.Key), Class: "gavel." + s.Name, File: phrase.Line(row.File),
		Time: fmt.Sprintf("%.3f", float64(row.DurationMS)/1000),
	}
	s.Tests++
	reason := &detail{Message: phrase.Line(row.Reason)}
	switch v := row.Verdict; {
	case v == nil, *v == verdict.Skipped:
		s.Skipped++
		c.Skipped = reason
	case *v == verdict.Fail:
		s.Failures++
		c.Failure = reason
	case *v == verdict.Error:
		s.Errors++
		if row.Error != nil {
			reason.Message = phrase.Line(*row.Error)
		}
		c.Error = reason
	}
	s.Cases = append(s.Cases, c)
}
