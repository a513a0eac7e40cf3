package run_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/golden"
)

// suite compiles a suite of testdata, among the files that the examples of the
// format name.
func suite(t *testing.T, name string) []*schema.Case {
	t.Helper()
	files := fstest.MapFS{}
	for _, from := range []string{"testdata", "../../schema/evalcase/testdata/files"} {
		root := os.DirFS(from)
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, name)
			files["suites/"+name] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	src := document.Source{FS: files, Root: "suites", KeyRoot: "suites"}
	doc, problems := src.Open("suites/" + name + ".yaml")
	if doc == nil {
		t.Fatal(problems)
	}
	cases, problems := evalcase.Load(src, doc)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return cases
}

// A stated has the messages of target, judges and programs in a case.
type stated struct{ answer, judge, program string }

// saidBy answers requests by the case and notes them.
func saidBy(t *testing.T, name string, b *strings.Builder, say func(key string) string) *script {
	return &script{answer: func(_ int, req target.Request) (target.Reply, error) {
		_, id, _ := strings.Cut(req.Case, "#")
		fmt.Fprintf(b, "===== %s: %s\n", id, name)
		if req.System != "" {
			fmt.Fprintf(b, "--- system\n%s\n", req.System)
		}
		for _, m := range req.Messages {
			fmt.Fprintf(b, "--- %s\n%s\n", m.Role, unmark(m.Content))
		}
		b.WriteString("\n")
		text := say(id)
		if text == "" {
			return target.Reply{}, errors.New("nothing is stated")
		}
		return says(text), nil
	}}
}

var delimiter = regexp.MustCompile(`<<<NAME (\S+) and`)

// unmark shows the delimiter of a run, which nobody can guess, as a sign.
func unmark(text string) string {
	if found := delimiter.FindStringSubmatch(text); found != nil {
		return strings.ReplaceAll(text, found[1], "␀")
	}
	return text
}

// TestSeedVerdicts runs the examples of the evalcase format under stated
// replies. The golden file holds the exact messages that everybody is sent.
func TestSeedVerdicts(t *testing.T) {
	const met = `{"criteria":[{"id":"rubric-1","met":true,"reason":"It is there."}],"summary":"Good."}`
	review := func(identified, suggested, explained bool) string {
		return fmt.Sprintf(`{"criteria":[{"id":"identifies-vuln","met":%v,"reason":"a"},{"id":"suggests-fix","met":%v,"reason":"b"},{"id":"explains-risk","met":%v,"reason":"c"}],"summary":"Looked through."}`, identified, suggested, explained)
	}
	alice := func(name bool, greeting float64) string {
		return fmt.Sprintf(`{"criteria":[{"id":"name-mention","met":%v,"score":null,"reason":"a"},{"id":"greeting","met":null,"score":%v,"reason":"b"}],"summary":"Read."}`, name, greeting)
	}
	three := func(a, b, c bool) string {
		return fmt.Sprintf(`{"criteria":[{"id":"rubric-1","met":%v},{"id":"rubric-2","met":%v},{"id":"rubric-3","met":%v}],"summary":"Three."}`, a, b, c)
	}
	judged := func(score float64) string {
		return fmt.Sprintf(`{"score":%v,"hits":[],"misses":[],"reasoning":"So it is."}`, score)
	}
	for _, tt := range []struct {
		id   string
		said stated
		want string // verdict, score and reason
	}{
		{"simple-greeting", stated{"Hello!", met, ""}, "pass 1 Good."},
		{"simple-greeting", stated{"42", `{"criteria":[{"id":"rubric-1","met":false,"reason":"A number."}],"summary":"Bad."}`, ""}, "fail 0 rubric-1: A number."},
		{"simple-greeting", stated{"Hello!", "Yes.", ""}, "error - rubrics: the judge's reply could not be read in 3 attempts: it is not the JSON that was asked for: 'Y' is not JSON there (after 0 characters); it must be {\"criteria\": a list of {\"id\": a text, \"reason\": a text, \"met\": true or false, \"score\": a number}, \"summary\": a text}; the last one was Yes."},
		{"simple-greeting", stated{"", met, ""}, "error - nothing is stated"},
		{"code-review-security", stated{"SQL injection.", review(true, true, true), `{"score":1,"reasoning":"Found."}`}, "pass 1 Looked through."},
		{"code-review-security", stated{"SQL injection.", review(true, false, false), `{"score":0.7,"reasoning":"Half."}`}, "borderline 0.6 suggests-fix: b; explains-risk: c"},
		{"code-review-security", stated{"Nice code.", review(false, true, true), `{"score":1,"reasoning":"Found."}`}, "fail 0.75 identifies-vuln: a"},
		{"code-review-security", stated{"SQL injection.", review(true, true, true), ""}, "error - vuln_check: python: exit status 1"},
		{"slow-task", stated{"Done.", "", `{"score":0.8}`}, "pass 0.8 "},
		{"slow-task", stated{"Done.", "", `{"score":0.79,"misses":["a mean"]}`}, "borderline 0.79 missed: a mean"},
		{"off-by-one", stated{"i < n", judged(0.9), ""}, "pass 0.9 So it is."},
		{"full-form", stated{"Hello Alice!", three(true, true, true), ""}, "pass 1 Three."},
		{"full-form", stated{"Alice.", three(true, false, true), ""}, "borderline 0.6666666666666666 Three."},
		{"structured-rubrics", stated{"Hello Alice!", alice(true, 10), ""}, "pass 1 Read."},
		{"structured-rubrics", stated{"Alice.", alice(true, 0), ""}, "borderline 0.6666666666666666 greeting: b"},
		{"structured-rubrics", stated{"Hello there!", alice(false, 10), ""}, "fail 0.3333333333333333 name-mention: a"},
		{"structured-output", stated{`{"name":"Alice","age":31}`, judged(0.5), ""}, "fail 0.5 So it is."},
		{"turn-1", stated{"What is your email?", judged(1), ""}, "pass 1 So it is."},
		{"turn-2", stated{"It is reset.", judged(0.6), ""}, "borderline 0.6 So it is."},
		{"regional-date", stated{"A Tuesday in March.", judged(1), ""}, "pass 1 So it is."},
		{"edge-case-null", stated{"There is no input.", judged(0.59), ""}, "fail 0.59 So it is."},
	} {
		got, _ := judgeSuite(t, tt.id, tt.said)
		if got != tt.want {
			t.Errorf("%s under %q:\n%s\nwant\n%s", tt.id, tt.said, got, tt.want)
		}
	}
}

// TestSuiteMessages compares what target, judges and programs are sent.
func TestSuiteMessages(t *testing.T) {
	var all strings.Builder
	for _, one := range []struct{ id, judge string }{
		{"code-review-security", `{"criteria":[{"id":"identifies-vuln","met":true},{"id":"suggests-fix","met":true},{"id":"explains-risk","met":true}],"summary":""}`},
		{"turn-2", `{"score":1}`}, {"regional-date", `{"score":1}`},
		{"structured-rubrics", `{"criteria":[{"id":"name-mention","met":true},{"id":"greeting","score":5}],"summary":""}`},
	} {
		result, sent := judgeSuite(t, one.id, stated{"An answer.", one.judge, `{"score":1}`})
		if !strings.HasPrefix(result, "pass ") {
			t.Errorf("%s: %s, want a pass", one.id, result)
		}
		all.WriteString(sent)
	}
	const file = "testdata/seed.golden"
	golden.Compare(t, file, all.String())
}

// judgeSuite judges one case of the examples and returns its verdict and the requests.
func judgeSuite(t *testing.T, id string, said stated) (result, sent string) {
	t.Helper()
	var c *schema.Case
	for _, one := range suite(t, "seed") {
		if one.Key == "seed#"+id {
			c = one
		}
	}
	if c == nil {
		t.Fatalf("there is no case %s", id)
	}
	var b strings.Builder
	fixture := newFixture(t)
	operator := ledger.Trust{Level: ledger.LevelOperator}
	at := func(name string, say func(string) string) run.Target {
		return run.Target{Target: saidBy(t, name, &b, say), Config: config.Target{Name: name, Concurrency: 1}}
	}
	name := "bot"
	if c.Target != "" {
		name = c.Target
	}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: fixture.store, Trust: operator, Roles: map[schema.Role]string{schema.Judge: "judge"}, Budget: fixture.open(),
		Targets: map[string]run.Target{
			name:    at(name, func(string) string { return said.answer }),
			"judge": at("judge", func(string) string { return said.judge }),
		},
		Programs: func(_ context.Context, p evaluate.Start) ([]byte, error) {
			fmt.Fprintf(&b, "===== %s: %s in %s\n%s\n\n", id, strings.Join(p.Argv, " "), p.Dir, p.Stdin)
			if said.program == "" {
				return nil, errors.New("python: exit status 1")
			}
			return []byte(said.program), nil
		},
		Clock: clock.Funcs{RandomFunc: func() float64 { return 1 }, SleepFunc: func(context.Context, time.Duration) error { return nil }},
	}, []run.Job{{
		Case: c, Target: name, Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	res := out[0].Result
	score := "-"
	if res.Score != nil {
		score = fmt.Sprint(*res.Score)
	}
	return fmt.Sprintf("%s %s %s", res.Verdict, score, res.Reason), b.String()
}

// TestCostIsMeasuredAtThePriceOfNow judges a stored transcript again when the
// price changes, without a call, and asks the judge that an evaluator names.
func TestCostIsMeasuredAtThePriceOfNow(t *testing.T) {
	fixture := newFixture(t)
	operator := ledger.Trust{Level: ledger.LevelOperator}
	bot, large := &script{answer: always("An answer.")}, &script{answer: always(`{"score":1}`)}
	c := greeting("a")
	c.Policy.Bands = &schema.Bands{Pass: 0.8, Borderline: 0.6}
	c.Evaluators = []schema.Evaluator{
		{Name: "cost", Weight: 1, Spec: evaluator.Measured{Type: "cost", Quantities: []string{"cost_usd"}}, Rule: schema.Rule{Most: map[string]float64{"cost_usd": 2}}},
		{Name: "judge", Weight: 1, Spec: evaluator.LLMJudge{Target: "large"}},
	}
	for _, tt := range []struct {
		price *config.Price
		want  string
	}{
		{&config.Price{Input: 1}, "pass 1"}, {&config.Price{Input: 3}, "fail 0.5"}, {nil, "error"},
	} {
		name := fmt.Sprint(tt.price)
		out, err := run.Run(t.Context(), run.Config{
			Ledger: fixture.store, Trust: operator, Budget: fixture.open(),
			Targets: map[string]run.Target{
				"bot":   {Target: bot, Config: config.Target{Name: "bot", Concurrency: 1, Price: tt.price}},
				"large": {Target: large, Config: config.Target{Name: "large", Concurrency: 1}},
			},
		}, []run.Job{{
			Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator},
			Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot", Targets: map[string]plan.Target{"bot": {Price: name}}}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := string(out[0].Result.Verdict)
		if s := out[0].Result.Score; s != nil {
			got += fmt.Sprintf(" %v", *s)
		}
		if got != tt.want {
			t.Errorf("at the price %s: %s (%s), want %s", name, got, out[0].Result.Reason, tt.want)
		}
	}
	if len(bot.asked) != 1 || len(large.asked) != 1 {
		t.Errorf("the target was asked %d times, the judge %d", len(bot.asked), len(large.asked))
	}
}
