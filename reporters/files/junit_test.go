package files

import (
	"bytes"
	"encoding/xml"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema/golden"
)

// TestJUnitGolden writes the reports of the package above as XML.
func TestJUnitGolden(t *testing.T) {
	for _, name := range []string{"regressions", "errors", "invalid", "moved_removed_new", "waiting", "hostile", "fresh_ledger", "lightened", "withdrawn"} {
		t.Run(name, func(t *testing.T) {
			r := reporttest.Stored(t, name)
			var b bytes.Buffer
			if err := WriteJUnit(&b, r); err != nil {
				t.Fatal(err)
			}
			conforms(t, b.Bytes())
			if r.NotRunReason == "" {
				countsAs(t, b.Bytes(), r)
			}
			path := filepath.Join("testdata", "junit", name+".xml")
			golden.Compare(t, path, b.String())
		})
	}
}

// countsAs holds that the cases are counted as in the report, but for those that
// fail and that the gate lets pass. Problems and the gate have suites of their own.
func countsAs(t *testing.T, text []byte, r *report.Report) {
	t.Helper()
	type counts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	var all struct {
		Suites []struct {
			Name string `xml:"name,attr"`
			counts
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var got counts
	for _, one := range all.Suites {
		if one.Name != "definitions" && one.Name != "gate" {
			got.Tests, got.Failures = got.Tests+one.Tests, got.Failures+one.Failures
			got.Errors, got.Skipped = got.Errors+one.Errors, got.Skipped+one.Skipped
		}
	}
	s, standing := r.Summary, 0
	for i := range r.Cases {
		if reporters.Standing(r, &r.Cases[i]) {
			standing++
		}
	}
	want := counts{s.Cases, s.Fail - standing, s.Error, s.Skipped + s.NoVerdict + standing}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the counts differ from the report (-report +XML):\n%s", diff)
	}
}

// An element of the format: where it may be, and its attributes, those
// that are required marked by an exclamation mark.
type element struct {
	in         string
	attributes []string
}

var elements = map[string]element{
	"testsuites": {"", []string{"name", "time", "tests", "failures", "errors"}},
	"testsuite":  {"testsuites", []string{"name!", "tests!", "failures!", "errors!", "skipped", "time"}},
	"testcase":   {"testsuite", []string{"name!", "classname", "file", "line", "time"}},
	"failure":    {"testcase", []string{"message", "type"}},
	"error":      {"testcase", []string{"message", "type"}},
	"skipped":    {"testcase", []string{"message", "type"}},
}

// conforms holds the XML against the format, and the counts of each suite
// against its elements.
func conforms(t *testing.T, raw []byte) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(raw))
	var open []string
	counted := map[string]int{}
	var claimed map[string]int
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("malformed XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			parent := ""
			if len(open) > 0 {
				parent = open[len(open)-1]
			}
			open = append(open, name)
			attributes := conformsElement(t, token, parent)
			counted[name]++
			if name == "testsuite" {
				counted, claimed = map[string]int{}, attributes
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			if token.Name.Local == "testsuite" {
				got := map[string]int{"tests": counted["testcase"], "failures": counted["failure"], "errors": counted["error"], "skipped": counted["skipped"]}
				if diff := cmp.Diff(claimed, got); diff != "" {
					t.Errorf("counts of a suite (-claimed +counted):\n%s", diff)
				}
			}
		}
	}
}

// conformsElement checks one element and gives the counts that it claims.
func conformsElement(t *testing.T, start xml.StartElement, parent string) map[string]int {
	t.Helper()
	want, ok := elements[start.Name.Local]
	if !ok || want.in != parent {
		t.Errorf("<%s> in <%s>", start.Name.Local, parent)
	}
	claimed, has := map[string]int{}, map[string]bool{}
	for _, a := range start.Attr {
		has[a.Name.Local] = true
		if n, err := strconv.Atoi(a.Value); err == nil && a.Name.Local != "name" {
			claimed[a.Name.Local] = n
		}
	}
	for _, name := range want.attributes {
		bare, required := strings.CutSuffix(name, "!")
		if required && !has[bare] {
			t.Errorf("<%s> has no %s", start.Name.Local, bare)
		}
		delete(has, bare)
	}
	for name := range has {
		t.Errorf("<%s> has an unknown attribute %s", start.Name.Local, name)
	}
	return claimed
}

// TestJUnitStandingFailures: a case that fails as at base is skipped with the reason
// where the gate lets it pass, and fails where it does not.
func TestJUnitStandingFailures(t *testing.T) {
	const key = "math/2/ratio"
	for _, tc := range []struct {
		name string
		gate report.GateSettings
		want string
	}{
		{"the usual gate", report.GateSettings{}, `<skipped message="fails, and the gate lets it pass (it failed at base, too): wrong">`},
		{"any failure", report.GateSettings{FailOn: report.FailOnAny}, `<failure message="wrong" type="unchanged">`},
		{"required", report.GateSettings{Required: []string{key}}, `<failure message="wrong" type="unchanged">`},
		{"required, and never", report.GateSettings{FailOn: report.FailOnNever, Required: []string{key}}, `<skipped message="fails, and the gate lets it pass (it failed at base, too): wrong">`},
	} {
		s := reporttest.Lightened()
		s.In.Gate = tc.gate
		var b bytes.Buffer
		if err := WriteJUnit(&b, report.Compare(s.In)); err != nil {
			t.Fatal(err)
		}
		conforms(t, b.Bytes())
		_, of, _ := strings.Cut(b.String(), `<testcase name="`+key+`" classname="gavel.math.2" file="test_definitions/math/2/ratio.json" line="1"`)
		of, _, _ = strings.Cut(of, "</testcase>")
		if !strings.Contains(of, tc.want) {
			t.Errorf("%s: %s\nwant %s", tc.name, of, tc.want)
		}
		if strings.Contains(b.String(), `<testsuite name="gate"`) {
			t.Errorf("%s: the gate has a suite though a case or nothing speaks against the change", tc.name)
		}
	}
}

// TestGateInXML: a run whose gate did not pass is red, also where no case is.
func TestGateInXML(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"lightened", `<failure message="score 0.750 is below min_score 0.9, by base&#39;s weights: 1 weight is lowered here" type="fail">`},
		{"nothing_affected", ""},
		{"no_case", `<error message="there is no case" type="undetermined">`},
	} {
		s := map[string]*reporttest.Scenario{
			"lightened": reporttest.Lightened(), "nothing_affected": reporttest.NothingAffected(), "no_case": reporttest.New(),
		}[tt.name]
		var b bytes.Buffer
		if err := WriteJUnit(&b, report.Compare(s.In)); err != nil {
			t.Fatal(err)
		}
		conforms(t, b.Bytes())
		_, gate, found := strings.Cut(b.String(), `<testcase name="gate" classname="gavel.gate"`)
		if found != (tt.want != "") || !strings.Contains(gate, tt.want) {
			t.Errorf("%s: %s, want %q", tt.name, gate, tt.want)
		}
	}
}
