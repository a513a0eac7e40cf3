package html

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dom "golang.org/x/net/html"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

func render(t *testing.T, r *report.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// body is the page without the parts that every page has.
func body(t *testing.T, text string) string {
	t.Helper()
	_, text, found := strings.Cut(text, "<body>")
	text, _, ended := strings.Cut(text, "<script>")
	if !found || !ended {
		t.Fatalf("the page has no body that ends in the script:\n%s", text)
	}
	return text
}

// walk calls do for each element of a page, with its attributes by name.
func walk(t *testing.T, text string, do func(name string, attributes map[string]string)) {
	t.Helper()
	root, err := dom.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != dom.ElementNode {
			continue
		}
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		do(n.Data, attributes)
	}
}

// BenchmarkWrite writes the page of 10,000 cases to a file.
func BenchmarkWrite(b *testing.B) {
	s := reporttest.New()
	s.Same("math/level_1", 10_000, 1)
	r := report.Compare(s.In)
	file, err := os.Create(filepath.Join(b.TempDir(), "report.html"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nobody reads it
	for b.Loop() {
		if err := Write(file, r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"regressions", "errors", "invalid", "moved_removed_new", "waiting", "first_run", "withdrawn"} {
		t.Run(name, func(t *testing.T) {
			text := body(t, render(t, reporttest.Stored(t, name), Options{RepositoryURL: "https://github.com/octo/demo"}))
			golden.Compare(t, filepath.Join("testdata", name+".html"), text)
		})
	}
}

// TestHostileTextsStayText holds that nothing that a repository or a model says
// becomes an element, an attribute that runs, or an address that the page asks.
func TestHostileTextsStayText(t *testing.T) {
	r := report.Compare(reporttest.Hostile(reporttest.HostileTexts()).In)
	text := render(t, r, Options{RepositoryURL: "https://github.com/octo/demo"})
	scripts := 0
	walk(t, text, func(name string, attributes map[string]string) {
		switch name {
		case "img", "iframe", "link", "object", "embed", "base", "video", "audio":
			t.Errorf("the page has an element <%s %v>, and should have none that a stranger wrote or that asks an address", name, attributes)
		case "script":
			scripts++
		case "h1":
			if attributes["onclick"] != "" {
				t.Errorf("the headline has a handler %q", attributes["onclick"])
			}
		}
		for key, value := range attributes {
			if strings.HasPrefix(key, "on") || key == "src" || key == "style" {
				t.Errorf("<%s> has the attribute %s=%q, and should not", name, key, value)
			}
			if key == "href" && !strings.HasPrefix(value, "https://github.com/octo/demo/blob/") {
				t.Errorf("<%s> links to %q, which is not a file of the repository", name, value)
			}
		}
	})
	if scripts != 1 {
		t.Errorf("the page has %d scripts, want its own one", scripts)
	}
	for _, c := range "\x1b\x00\u202e\u200b" {
		if strings.ContainsRune(text, c) {
			t.Errorf("the page contains the control character %U", c)
		}
	}
}

// TestThePolicyAllowsTheOwnScriptAlone holds that the hashes of the policy belong to
// the texts in the written page, not in the tree.
func TestThePolicyAllowsTheOwnScriptAlone(t *testing.T) {
	text := render(t, reporttest.Stored(t, "regressions"), Options{})
	between := func(from, to string) string {
		_, rest, _ := strings.Cut(text, from)
		rest, _, _ = strings.Cut(rest, to)
		return rest
	}
	var policy string
	walk(t, text, func(name string, attributes map[string]string) {
		if name == "meta" && attributes["http-equiv"] == "Content-Security-Policy" {
			policy = attributes["content"]
		}
	})
	for _, want := range []string{
		"default-src 'none'",
		"script-src " + hashOf(between("<script>", "</script>")),
		"style-src " + hashOf(between("<style>", "</style>")),
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy is %q, and should contain %q", policy, want)
		}
	}
}

// TestEveryCaseIsThereOnce holds that the page has each case of the report, and
// that the numbers on the buttons add up to them.
func TestEveryCaseIsThereOnce(t *testing.T) {
	r := report.Compare(reporttest.ChangedCases(300).In)
	v := newView(r, Options{})
	var want, got []string
	for i := range r.Cases {
		want = append(want, r.Cases[i].Name())
	}
	for c := range v.Cases {
		got = append(got, c.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("the page has %d cases, the report %d, or others", len(got), len(want))
	}
	total := 0
	for _, k := range v.Kinds {
		total += k.Count
		if !slices.Contains(kindOrder, k.Name) || Icons[k.Name] == "" {
			t.Errorf("the kind %q has no place in the order or no icon", k.Name)
		}
	}
	if total != len(r.Cases) {
		t.Errorf("the buttons count %d cases, want %d", total, len(r.Cases))
	}
}

// TestCasesBeyondThePage are counted, on the buttons and below the others.
func TestCasesBeyondThePage(t *testing.T) {
	r := report.Compare(reporttest.ChangedCases(mostCases + 1234).In)
	var page strings.Builder
	if err := Write(&page, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `<details class="case"`); n != mostCases {
		t.Errorf("the page has %d cases, want %d", n, mostCases)
	}
	for _, want := range []string{"And 1,234 more cases that this page has no room for", "all <b>21234</b>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestBothSides holds that the page says what it is about and when, and shows base's reply
// before head's where they differ.
func TestBothSides(t *testing.T) {
	r := reporttest.Stored(t, "regressions")
	said := func(role, text string) schema.Message { return schema.Message{Role: role, Content: text} }
	base := said(schema.RoleAssistant, "30 days")
	r.Cases[0].Detail = &report.Detail{Messages: []schema.Message{said(schema.RoleUser, "How long?"), said(schema.RoleAssistant, "60 days")}, BaseReply: &base}
	r.Branch, r.Subject = "fix-<b>", "Shorten\tthe window"
	text := render(t, r, Options{Subject: "octo/<demo>#7", At: time.Date(2026, 3, 1, 9, 5, 0, 0, time.UTC)})
	for _, want := range []string{
		"octo/&lt;demo&gt;#7 · fix-&lt;b&gt; · Shorten the window · 1 March 2026, 09:05 UTC",
		`<span class="role">at base</span><div class="said">30 days</div>`, `<span class="role">at head</span><div class="said">60 days</div>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Index(text, "at base") > strings.Index(text, "at head") {
		t.Error("head's reply comes before base's")
	}
	r.Cases[0].Detail.BaseReply = nil
	if text := render(t, r, Options{}); strings.Contains(text, "at head") || strings.Contains(text, "UTC</p>") {
		t.Error("a page without base's reply, a subject and a date has them")
	}
}

// TestExpectedNextToActual: a criterion shows the texts that were compared, if it has them.
func TestExpectedNextToActual(t *testing.T) {
	r := reporttest.Stored(t, "regressions")
	zero := 0.0
	r.Cases[0].Detail = &report.Detail{Criteria: []report.CriterionDiff{
		{Evaluator: "e", ID: "a", Head: &zero, Note: "differs", Expected: "30 <b>days</b>", Actual: "60\ndays"},
		{Evaluator: "e", ID: "b", Head: &zero, Note: "is missing", Expected: "a date"}, {Evaluator: "e", ID: "c", Head: &zero, Note: "is rude"},
		{Evaluator: "e", ID: "d", Head: &zero, Note: "of many", Expected: "a", Actual: "b", Sample: 2}, {Evaluator: "e", ID: "e", Head: &zero, Expected: "c", Sample: 3},
	}}
	text := render(t, r, Options{})
	for _, want := range []string{
		`differs<dl class="contrast"><div><dt>expected</dt><dd>30 &lt;b&gt;days&lt;/b&gt;</dd></div><div><dt>actual</dt><dd>60` + "\n" + `days</dd></div></dl></td>`,
		`is missing<dl class="contrast"><div><dt>expected</dt><dd>a date</dd></div><div><dt>actual</dt><dd>nothing</dd></div></dl></td>`,
		`is rude</td>`,
		`<td class="note">sample 2: of many<dl`,
		`<td class="note">sample 3<dl`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
