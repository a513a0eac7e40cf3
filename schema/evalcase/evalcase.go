// Package evalcase reads the evalcase dialect: suites of cases with rubrics and
// evaluators, as YAML, JSON, CUE, or one case per line next to a YAML file with their
// common settings.
//
// Most callers want [Load]. A case with problems is left out; the others of its suite
// are still compiled.
package evalcase

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// defaultTimeout of a case, as the format says.
	defaultTimeout = 300 * time.Second
	// maxToolRounds ends the tool loop of a model target.
	maxToolRounds = 16
	// passing and borderline are the least scores of the two verdicts.
	passing    = 0.8
	borderline = 0.6
)

// A suite is the shared state of a file's cases.
type suite struct {
	document.Source
	file string
	// keys is where the suite keys are: the file itself, the one next to its
	// lines, or nowhere.
	keys   document.Place
	inputs []schema.Input
	// lookups are cached, since files named by a suite are read for every case.
	lookups  map[document.Reference]document.Lookup
	docs     map[string]*document.Document // of the files with tests, by their paths
	last     []schema.Input                // of the case before
	programs map[string]command.Program
	testbeds *testbedReader
	// isTests marks a suite of AgentV 4 or 5, which lists its cases under `tests`.
	isTests bool
	// form is the version of AgentV that the suite is of; empty for the format's own.
	form string
	// needs and needOfAll are unsupported needs of AgentV 5 tests, by their ids and of
	// all.
	needs      map[string]string
	needOfAll  string
	mistakes   map[string]schema.Problem // of templates of AgentV 5 tests, by their ids
	judges     map[string]document.Place // of tests of AgentV 5, by their ids
	extensions document.Place            // of AgentV 5
	perTarget  bool                      // the tests are run against several targets
	twice      []schema.Problem          // warnings about targets that are listed twice
	trials     trialPlan                 // of every test
	named      document.Place            // the one of several targets that the test is compiled for
	// lacking counts the tests that are not run, by their needs.
	lacking map[string]int
}

// Load compiles the cases of a suite.
func Load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	return src.Bounded(doc, func(src document.Source) ([]*schema.Case, []schema.Problem) { return load(src, doc) })
}

func load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	s := &suite{
		Source: src, file: doc.File, inputs: []schema.Input{{File: doc.File, Role: "definition"}},
		lookups: map[document.Reference]document.Lookup{}, docs: map[string]*document.Document{}, programs: map[string]command.Program{}, lacking: map[string]int{}, testbeds: newTestbedReader(src),
	}
	problems, doc := s.rewritten(doc)
	if doc == nil {
		return nil, schema.SortProblems(problems)
	}
	more, usable := s.open(doc)
	problems = append(problems, more...)
	places, more := s.places(doc)
	problems = append(problems, more...)
	if s.isTests {
		s.trials, more = readTrials(s.keys.Sub("execution"))
		problems = append(problems, more...)
	}
	shape, unknown := "#Evalcase", schema.Error
	if s.isTests {
		shape, unknown = "#EvalcaseTest", schema.Warning // AgentV 4 ignores such fields
	}
	var cases []*schema.Case
	first := map[string]schema.Position{}
	aimed := s.against(places)
	problems = append(problems, s.twice...)
	s.Budget.Within(document.Evaluators, s.takenOver(aimed))
	for _, at := range aimed {
		s.Budget.Found(len(problems))
		s.named = at.target
		item := at.Doc.Part(at.Path...)
		if s.isTests {
			item = withCurrentNames(item)
		}
		// As a part of the file the case is compared with the shape of its
		// definition, without evaluating CUE for each of thousands.
		found := at.Doc.CheckPart(shape, unknown, at.Path...)
		var tc *schema.Case
		switch {
		case !item.IsObject():
			found = []schema.Problem{item.Problem("wrong-type", "a case must be an object", "write `id`, `input` and `expected_outcome`")}
		default:
			tc, found = s.compile(item, found)
		}
		problems = append(problems, found...)
		id := item.Text("id")
		known := id
		if s.perTarget {
			known += "\x00" + cmp.Or(item.Text("execution", "target"), s.named.Text(), s.named.Text("extends"))
		}
		if at, dup := first[known]; dup && id != "" {
			problems = append(problems, item.Problem("duplicate-id", fmt.Sprintf("two cases have the id %q", id), "the other is in "+at.String()+"; rename one", "id"))
			continue
		}
		first[known] = item.At("id")
		if tc != nil && usable {
			cases = append(cases, tc)
		}
	}
	problems = append(problems, s.reportLacks(doc, len(first))...)
	// Mistakes in the file next to the lines cost cases of the lines, which have to
	// be loaded again once that file is fixed.
	inSidecar := func(p schema.Problem) bool { return p.Severity == schema.Error && p.File != doc.File }
	if i := slices.IndexFunc(problems, inSidecar); i >= 0 {
		problems = append(problems, doc.Problem("suite-invalid", problems[i].File+" is invalid", "fix it first; the cases depend on it"))
	}
	return cases, schema.SortProblems(problems)
}

// takenOver is how many assertions or evaluators the cases have from the suite.
func (s *suite) takenOver(cases []aimed) int {
	shared := len(s.keys.List("assertions")) + len(s.keys.List("execution", "assertions"))
	if !s.isTests {
		shared = len(s.keys.List("execution", "evaluators"))
	}
	n := 0
	for _, p := range cases {
		switch {
		case shared == 0 || s.isTests && p.Truth("execution", "skip_defaults"):
		case !s.isTests && (p.Has("execution", "evaluators") || p.Has("evaluators")):
		default:
			n += shared
		}
	}
	return n
}

// rewritten converts a suite of AgentV 5 to AgentV 4, and returns every other document
// unchanged; nil if the suite has errors.
func (s *suite) rewritten(doc *document.Document) ([]schema.Problem, *document.Document) {
	if !IsV5(doc) {
		return nil, doc
	}
	out := rewriteV5(s.Source, doc)
	s.inputs = append(s.inputs, out.Inputs...)
	s.mistakes = out.Mistakes
	s.form, s.needs, s.needOfAll, s.judges, s.perTarget, s.extensions = formV5, out.Needs, out.NeedOfAll, out.Judges, out.PerTarget, document.Place{Doc: doc, Path: []any{"extensions"}}
	return out.Problems, out.Doc
}

// open checks the suite as a whole. It is unusable if a part that all cases depend on
// is wrong.
func (s *suite) open(doc *document.Document) ([]schema.Problem, bool) {
	var problems []schema.Problem
	switch {
	case doc.IsObject():
		s.keys, s.isTests = document.Place{Doc: doc}, listKey(doc) == testsKey
		if s.isTests {
			s.form, s.keys = cmp.Or(s.form, "AgentV 4"), document.Place{Doc: withCurrentNames(doc)}
		}
		problems = checkSuite(doc)
	case !doc.IsList():
		problems = []schema.Problem{doc.Problem("wrong-type", "the file is not a suite", "write a list of cases, or put them under `evalcases`")}
	case path.Ext(doc.File) == ".jsonl":
		problems = s.openSidecar()
	}
	if len(problems) == 0 && !s.keys.IsText(listKey(doc)) && doc.Items() == 0 && doc.Items(listKey(doc)) == 0 {
		problems = append(problems, doc.Problem("no-cases", "the suite has no cases", "add one, or remove the file"))
	}
	return problems, !schema.HasErrors(problems)
}

// listKeys are the names of the list of cases of a suite; all but the first are
// other names for it.
func listKeys() []string { return []string{"evalcases", "eval_cases", "cases", testsKey} }

// formV5 is the form of a suite that was rewritten.
const formV5 = "AgentV 5"

// testsKey is the list of cases of a suite of AgentV 4.
const testsKey = "tests"

// listKey returns the name that the list of cases has in a document.
func listKey(doc *document.Document) string {
	keys := doc.Keys()
	for _, name := range listKeys() {
		if slices.Contains(keys, name) {
			return name
		}
	}
	return listKeys()[0]
}

// checkSuite compares an object with the definition of a suite, whose list of
// cases has one of its names.
func checkSuite(doc *document.Document) []schema.Problem {
	keys := doc.Keys()
	written := slices.DeleteFunc(listKeys(), func(name string) bool { return !slices.Contains(keys, name) })
	switch {
	case len(written) == 0 && doc.Has("id"):
		return []schema.Problem{doc.Problem("wrong-type", "the file is one case and not a suite", "put the case into a list")}
	case len(written) > 1:
		return []schema.Problem{doc.Problem("both-forms", fmt.Sprintf("`%s` says the same as `%s`", written[1], written[0]), "remove one of them", written[1])}
	}
	if slices.Contains(written, testsKey) {
		return doc.Check("#EvalcaseTests", schema.Warning)
	}
	problems := doc.Check("#EvalcaseSuite", schema.Warning)
	isOther := func(p schema.Problem) bool {
		return p.Severity == schema.Error && p.Rule != "misplaced-field"
	}
	if len(written) == 0 && !slices.ContainsFunc(problems, isOther) {
		problems = append(problems, doc.Problem("missing-field", "the field `evalcases` is missing", `add "evalcases": […]`))
	}
	return problems
}

// openSidecar reads the suite keys of a .jsonl file.
func (s *suite) openSidecar() []schema.Problem {
	for _, ext := range []string{".yaml", ".yml"} {
		file := strings.TrimSuffix(s.file, ".jsonl") + ext
		if _, err := fs.Stat(s.FS, file); errors.Is(err, fs.ErrNotExist) {
			s.inputs = append(s.inputs, schema.Input{File: file, Role: "suite", Absent: true})
			continue
		}
		s.inputs = append(s.inputs, schema.Input{File: file, Role: "suite"})
		doc, problems := s.Open(file)
		if doc != nil {
			s.keys = document.Place{Doc: doc}
			problems = doc.Check("#EvalcaseSidecar", schema.Warning)
		}
		if ext == ".yaml" {
			problems = append(problems, s.unreadSidecar(file)...)
		}
		return problems
	}
	return nil
}

// unreadSidecar warns about suite keys that are not read, since another file has
// them.
func (s *suite) unreadSidecar(read string) []schema.Problem {
	file := strings.TrimSuffix(read, ".yaml") + ".yml"
	if _, err := fs.Stat(s.FS, file); err != nil {
		return nil
	}
	return []schema.Problem{{
		Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Warning, Rule: "unread-suite",
		Message: fmt.Sprintf("the file is not read, since %s is next to it", path.Base(read)), Hint: "move its keys into " + path.Base(read) + " and remove it",
	}}
}

// name returns the suite's name in reports.
func (s *suite) name() string {
	return cmp.Or(s.keys.Text("name"), s.keys.Text("dataset"), s.Key(s.file, ""))
}

// A compiler makes a case of one item of a suite.
type compiler struct {
	*suite
	tc document.Place
	caseFile
	// target has the settings of the case's target; nothing can be checked if known is
	// false.
	target schema.TargetSettings
	known  bool

	answer       answer
	hasWorkspace bool
	// lacks are the case's unsupported needs; it is not run because of them.
	lacks    []string
	inputs   []schema.Input
	problems []schema.Problem
}

// caseFile has the plain fields of a case.
type caseFile struct {
	ID              string `json:"id"`
	ExpectedOutcome string `json:"-"`
	Reference       string `json:"reference_answer"`
	Description     string `json:"description"`
	Conversation    string `json:"conversation_id"`
	Note            string `json:"note"`
}

// compile compiles an item to a case; known are its known problems. An item with errors
// has no case.
func (s *suite) compile(doc *document.Document, known []schema.Problem) (*schema.Case, []schema.Problem) {
	c := &compiler{suite: s, tc: document.Place{Doc: doc}, inputs: slices.Clone(s.inputs)}
	err := doc.Decode(&c.caseFile)
	tc := c.build()
	switch {
	case schema.HasErrors(known):
		return nil, append(known, schema.LeadingNowhere(c.problems)...)
	case err != nil:
		return nil, append(known, doc.Problem("decode", err.Error(), ""))
	case schema.HasErrors(c.problems):
		tc = nil
	case len(c.lacks) > 0:
		s.lacking[c.lacks[0]]++
		tc.Skip = "it needs " + c.lacks[0]
		// A case that is not run must not be judged by half of its evaluators.
		tc.Evaluators = []schema.Evaluator{{Name: "none", Weight: 1, Spec: evaluator.ToolCounts{}, Rule: schema.Rule{Ungated: true}}}
	}
	return tc, append(known, c.problems...)
}

func (c *compiler) build() *schema.Case {
	hasOutcome := c.outcome()
	c.checkExecution()
	tc := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: c.Key(c.file, c.ID), Dialect: schema.DialectEvalcase, Origin: c.tc.At(),
			Labels: schema.Labels{
				Name: c.ID, Description: strings.TrimSpace(c.Description), Conversation: c.Conversation,
				Groups: []string{c.name()}, Tags: readTags(c.keys.Sub("metadata", "tags"), c.tc.Sub("metadata", "tags")),
			},
			Target: c.findTarget(), PerTarget: c.perTarget,
			Weight: 1,
		},
		Form: c.form,
	}
	if c.isTests {
		tc.Labels.Tags = readTags(c.keys.Sub("tags"), c.keys.Sub("metadata", "tags"), c.tc.Sub("metadata", "tags"))
		tc.Labels.Facts = readFacts(c.keys, c.tc)
	}
	tc.Policy = c.policy()
	said := c.talk()
	c.Budget.Spend(document.Text, said.size())
	tc.System, tc.Layers, tc.Drive.Messages = said.system, said.layers, said.messages
	if c.hasTurns() {
		tc.Drive.Script = &schema.Script{Turns: said.turns, Window: int(min(c.tc.Number("window_size"), maxTurns))}
	}
	if c.isTests {
		tc.Drive.Workspace = c.workspace()
		c.hasWorkspace = tc.Drive.Workspace != nil
	}
	before := len(c.problems)
	c.answer = c.expected()
	c.answer.isBroken = schema.HasErrors(c.problems[before:])
	tc.Evaluators = c.evaluators(tc.Policy.Bands.Pass)
	switch {
	case hasOutcome || c.isTests && !slices.ContainsFunc(tc.Evaluators, func(ev schema.Evaluator) bool { return ev.Fallback }):
	case c.checksJudge(tc.Evaluators):
		tc.Evaluators = nil // a judge would not know the criteria
	case c.isTests:
		c.fail(c.tc.Problem("missing-field", "the test says nothing that can be judged", `add "assertions": [{"type": "contains", "value": …}], or "criteria": … for a judge`))
	case c.tc.Has("rubrics"):
		c.fail(c.tc.Problem("missing-field", "the field `expected_outcome` is missing, of which the rubrics are parts", `add "expected_outcome": "The answer is right.", say; a judge reads both, so that gavel.yaml needs roles: {judge: …}`))
	default:
		c.fail(c.tc.Problem("missing-field", "the field `expected_outcome` is missing", `add "expected_outcome": … (or "checks": [{"contains": …}], which need no judge)`))
	}
	slices.SortFunc(c.inputs, func(a, b schema.Input) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Role, b.Role))
	})
	tc.Inputs = c.sharedInputs(slices.Compact(c.inputs))
	return tc
}

// sharedInputs returns the list of the previous case if that is the same.
func (s *suite) sharedInputs(own []schema.Input) []schema.Input {
	if !slices.Equal(own, s.last) {
		s.Budget.Spend(document.Parts, len(own))
		s.last = slices.Clip(own)
	}
	return s.last
}

// checksJudge reports whether the checks within the case replace all of its evaluators,
// so that no judge needs to know the expected outcome.
func (c *compiler) checksJudge(all []schema.Evaluator) bool {
	return c.tc.Has("checks") && !slices.ContainsFunc(all, func(ev schema.Evaluator) bool { return !ev.Fallback })
}

// outcome reads the expected outcome under the one of its names that is written, and
// reports whether there is one.
func (c *compiler) outcome() bool {
	written := ""
	for _, name := range []string{"expected_outcome", "criteria", "outcome"} {
		text := c.tc.Text(name)
		switch {
		case text == "":
		case written != "":
			c.fail(c.tc.Problem("both-forms", fmt.Sprintf("`%s` says the same as `%s`", name, written), "remove one of them", name))
		default:
			written, c.ExpectedOutcome = name, text
		}
	}
	return written != ""
}

// checkExecution checks the case's execution; the suite's was checked with the suite.
func (c *compiler) checkExecution() {
	shape := "#EvalcaseExecution"
	if c.isTests {
		shape = "#EvalcaseTestExecution"
	}
	c.problems = append(c.problems, c.tc.Check(shape, schema.Warning, "execution")...)
}

// findTarget returns the target that the case names, else the suite. Neither a
// missing name nor one that is the default's is a mistake where there is a default.
func (c *compiler) findTarget() string {
	name, at := "", c.tc
	for _, p := range []document.Place{c.tc.Sub("execution", "target"), c.named, c.keys.Sub("execution", "target"), c.keys.Sub("target")} {
		if p.Has("hooks") {
			c.need("hooks of a target")
		}
		for _, key := range []string{"extends", "name"} { // of a target that is an object
			if p.Has(key) {
				p = p.Sub(key)
				break
			}
		}
		if p.Text() != "" {
			if name, at = c.resolve(p), p; c.perTarget {
				name = cmp.Or(name, p.Text()) // which tells the cases of a test apart
			}
			break
		}
	}
	name = cmp.Or(c.Settings.Against, name)
	c.target, c.known = c.Settings.Targets[cmp.Or(name, c.Settings.DefaultTarget)]
	if name == "" && (at.Text() == "" || at.Text() == "default") && !c.isUnusable(at.Text()) {
		c.checkDefault(at)
	}
	return name
}

// isUnusable reports whether a target of that name is written and cannot be used.
func (c *compiler) isUnusable(name string) bool {
	_, unusable := c.Settings.Unusable[name]
	return unusable
}

// checkDefault demands a default target that can be used. A test of AgentV whose target
// is not supported is skipped, as one that names it is.
func (c *compiler) checkDefault(at document.Place) {
	if len(c.Settings.Targets)+len(c.Settings.Unusable) == 0 {
		return // nothing is configured
	}
	why := c.Settings.DefaultTargetProblem()
	if why == nil {
		return
	}
	if c.isTests && c.isUnusable(c.Settings.DefaultTarget) {
		why.Severity = schema.Warning
		c.need(fmt.Sprintf("the target %s, which cannot be used", c.Settings.DefaultTarget))
	}
	why.Position = at.At()
	c.problems = append(c.problems, *why)
}

// resolve returns the target named at a place; empty if it is unknown, and for the name
// default if no target has it.
func (c *compiler) resolve(p document.Place) string {
	if own, ok, _ := c.Settings.FindTarget(schema.QualifiedTarget(p.Text(), c.file)); ok {
		return own // which another file has otherwise
	}
	name, _, problem := c.Settings.FindTarget(p.Text())
	if problem != nil && (p.Text() != "default" || problem.File != "") {
		if problem.File != "" && c.isTests { // a target that is there and cannot be used costs the tests that name it
			problem.Severity = schema.Warning
			c.need(fmt.Sprintf("the target %s, which cannot be used", p.Text()))
		}
		problem.Position = cmp.Or(problem.Position, p.At())
		c.problems = append(c.problems, *problem)
	}
	return name
}

// policy follows the precedence: written in the case or its suite, its target,
// gavel.yaml's defaults, the dialect's default.
func (c *compiler) policy() schema.Policy {
	runs := c.trials
	if c.isTests {
		own, problems := readTrials(c.tc.Sub("execution"))
		runs, c.problems = cmp.Or(own, runs), append(c.problems, problems...)
	}
	return schema.Policy{
		Iterations: cmp.Or(runs.Count, max(c.Settings.Iterations, 1)), Best: runs.Best, MaxToolRounds: maxToolRounds,
		Bands:   c.bands(),
		Timeout: cmp.Or(c.timeout(), c.target.Timeout, c.Settings.Timeout, defaultTimeout),
	}
}

// timeout returns the case's timeout, else the suite's, or 0.
func (c *compiler) timeout() time.Duration {
	written := cmp.Or(c.tc.Number("execution", "timeout_seconds"), c.keys.Number("execution", "timeout_seconds"))
	return time.Duration(written * float64(time.Second))
}

// fail notes an error.
func (c *compiler) fail(p schema.Problem) { c.problems = append(c.problems, p) }

func (c *compiler) warn(p schema.Problem) {
	p.Severity = schema.Warning
	c.problems = append(c.problems, p)
}

// read reads a file named by a part, once for all cases of the suite.
func (c *compiler) read(p document.Place, name, role string, most int64) (schema.File, bool) {
	ref := document.Reference{At: p.At(), Path: name, Role: role, Most: most}
	found, ok := c.lookups[ref]
	if !ok {
		found = c.Read(ref)
		c.lookups[ref] = found
	}
	c.inputs = append(c.inputs, found.Inputs...)
	c.problems = append(c.problems, found.Problems...)
	return found.File, found.Found()
}
