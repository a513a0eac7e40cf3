package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A performance is a repository that was run on models, with the observations.
type performance struct {
	seen    map[string]seen
	digests map[string][3]string
}

// nowhere is an environment without variables.
func nowhere(string) (string, bool) { return "", false }

// prepare plans a valid repository, to be run on a fresh ledger.
func prepare(t *testing.T, state controller.Checkout) *controller.Prepared {
	t.Helper()
	prepared, err := controller.Prepare(t.Context(), controller.Request{
		Head: state, ConfigFile: "gavel.yaml", Ledger: ledgertest.Open(t, ledger.Config{}), HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere,
	})
	if err != nil {
		t.Fatal(err)
	}
	if schema.HasErrors(prepared.Problems) {
		t.Fatal(prepared.Problems)
	}
	return prepared
}

// A programHost runs all programs by one function.
type programHost struct {
	controller.Opener
	programs evaluate.Programs
}

func (h programHost) Programs(controller.Checkout) evaluate.Programs { return h.programs }

// perform runs a repository on a fresh ledger.
func (s *playedModels) perform(t *testing.T, state controller.Checkout) performance {
	t.Helper()
	prepared := prepare(t, state)
	run := t.Name()
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	var w witness
	_, err := prepared.Execute(t.Context(), programHost{
		Opener: func(c config.Target, state controller.Checkout) (target.Target, error) {
			opened, err := target.New(c, target.Env{Lookup: nowhere, Files: state.FS, Transport: tagging{transport}})
			return tagged{opened, run}, err
		},
		programs: w.program,
	}, controller.RunOptions{Observe: w.outcome})
	if err != nil {
		t.Fatal(err)
	}
	out := performance{map[string]seen{}, map[string][3]string{}}
	for _, row := range prepared.Plan.Rows {
		was := s.account(t, run, &w, row)
		was.executed += readBy(state, row)
		out.seen[row.Key] = was
		out.digests[row.Key] = [3]string{row.HeadDigests.E, row.HeadDigests.J, row.HeadDigests.D}
	}
	return out
}

// readBy is the bytes of the files that a target is built from and, for an agent, which
// only gets their paths, the bytes of the files that its messages name.
func readBy(state controller.Checkout, row plan.Row) string {
	files, _ := state.FS.(fstest.MapFS)
	t := state.Config.Targets[row.Target]
	text := ""
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if slices.ContainsFunc(t.Inputs, func(glob string) bool { return wildcard.Match(glob, file) }) {
			text += "\n" + file + "=" + string(files[file].Data)
		}
	}
	for _, m := range row.HeadCase.Drive.Messages {
		for _, b := range m.Blocks {
			if !t.RunsTools() && b.Path != "" {
				text += "\n" + string(files[b.Path].Data)
			}
		}
	}
	return text
}

// A witness notes when programs are started and when cases end.
type witness struct {
	mu       sync.Mutex
	programs map[string][]string // by the question that they were told
	costs    map[string]verdict.Usage
	problems map[string]string
}

// program answers in the place of any program.
func (w *witness) program(_ context.Context, start evaluate.Start) ([]byte, error) {
	p, stdin := start.Program, start.Stdin
	var told struct{ Question string }
	if err := json.Unmarshal(stdin, &told); err != nil {
		return nil, err
	}
	saw := fmt.Sprint("program ", p.Argv, settled(string(stdin)), " in ", start.Workspace.Digest())
	for _, f := range p.Built.Files {
		name, err := filepath.Rel(p.Dir, f.Path)
		if err != nil {
			return nil, err
		}
		saw += " " + name + "=" + f.Hash
	}
	if start.Proxy != nil {
		saw += asks(start, http.MethodGet, "/info", "") + asks(start, http.MethodPost, "/invoke", fmt.Sprintf(`{"question": %q, "systemPrompt": %q}`, told.Question, programAsks))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.programs == nil {
		w.programs = map[string][]string{}
	}
	w.programs[told.Question] = append(w.programs[told.Question], saw)
	return []byte(`{"score": 1, "reasoning": "so"}`), nil
}

// asks is the input of a program that asks a model.
func asks(start evaluate.Start, method, path, body string) string {
	req, got := httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
	req.Header.Set("Authorization", "Bearer "+start.Proxy.Token())
	start.Proxy.ServeHTTP(got, req)
	return got.Body.String()
}

func (w *witness) outcome(p controller.Progress) {
	if p.Outcome == nil {
		return // the run begins
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.costs == nil {
		w.costs, w.problems = map[string]verdict.Usage{}, map[string]string{}
	}
	for _, tr := range p.Outcome.Transcripts {
		w.costs[p.Outcome.Key] = tr.Usage
	}
	if p.Outcome.Result.Verdict == verdict.Error {
		w.problems[p.Outcome.Key] = p.Outcome.Result.Reason
	}
}

// account puts together what a case sent, what its evaluators and programs got,
// and what decides.
func (s *playedModels) account(t *testing.T, run string, w *witness, row plan.Row) seen {
	t.Helper()
	var out seen
	if row.Head.Skip != "" {
		return out
	}
	s.mu.Lock()
	asked := s.asked[run+" "+row.Key]
	s.mu.Unlock()
	if len(asked) == 0 {
		t.Fatalf("%s sent nothing: %s", row.Key, w.problems[row.Key])
	}
	for _, text := range asked {
		if strings.HasPrefix(text, "judge ") {
			out.judged += text + "\n"
		} else {
			out.executed += text + "\n"
		}
	}
	for _, text := range w.programs[question(row.HeadCase)] {
		out.judged += text + "\n"
	}
	policy := row.HeadCase.Policy
	out.executed += policy.Timeout.String()
	sum := 0.0
	for _, ev := range row.HeadCase.Evaluators {
		sum += ev.Weight
	}
	for i, ev := range row.HeadCase.Evaluators {
		out.judged += fmt.Sprint("\n", i, " ") + given(ev.Spec, w.costs[row.Key])
		out.decided += fmt.Sprint(dump(reflect.ValueOf(ev.Rule)), ev.Weight/sum)
		if c, ok := ev.Spec.(evaluator.Composite); ok {
			out.decided += dump(reflect.ValueOf(c.Rules()))
		}
	}
	out.decided += fmt.Sprint(dump(reflect.ValueOf(policy.Bands)), policy.Iterations, policy.PassShare)
	if policy.Retry != nil {
		// The models and rules that judge and decide influence the next requests.
		out.executed += out.judged + out.decided + dump(reflect.ValueOf(policy.Retry))
	}
	return out
}

// question is the last that the user says before the target answers.
func question(c *schema.Case) string {
	for _, m := range slices.Backward(c.Drive.Messages) {
		if m.Role == schema.RoleUser {
			return m.Content
		}
	}
	return ""
}

// given is the input of an evaluator besides the transcript. Models and programs only
// have their own input.
func given(spec schema.Spec, cost verdict.Usage) string {
	text := spec.Kind()
	switch s := spec.(type) {
	case evaluator.Measured:
		text += costOf(slices.Contains(s.Quantities, evaluator.CostUSD), cost)
	case evaluator.Checks:
		text += costOf(slices.ContainsFunc(s.Checks, func(c evaluator.Check) bool { return c.Kind == evaluator.CheckCost }), cost)
	case evaluator.Criteria, evaluator.Semantic, evaluator.Rubrics, evaluator.LLMJudge, evaluator.CodeJudge:
		return text
	case evaluator.Composite:
		for _, m := range s.Members {
			text += "\n" + m.ID + " " + given(m.Spec, cost)
		}
		if s.Judge != nil || s.Program != nil {
			text += dump(reflect.ValueOf(s.Rules()))
		}
		return text
	}
	return text + dump(reflect.ValueOf(spec))
}

func costOf(read bool, cost verdict.Usage) string {
	if !read {
		return ""
	}
	return fmt.Sprint(" cost ", cost.CostUSD, cost.Unpriced)
}

// dump writes down all that a value holds, whether it is encoded or not.
func dump(v reflect.Value) string {
	text := ""
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return dump(v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			text += v.Type().Field(i).Name + ":" + dump(v.Field(i)) + " "
		}
		return "{" + text + "}"
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return string(v.Bytes())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			text += dump(v.Index(i)) + " "
		}
		return "[" + text + "]"
	}
	return fmt.Sprint(v)
}

// A change is one that a repository gets, with the digests that it changes:
// "greets E" says E of the case greets and, with it, J and D.
type change struct {
	// about names the fields that are changed, or says what else is.
	about string
	// file is changed from a text to another. Without one to change it from it is
	// rewritten, or goes where both are empty; "a => b" moves it.
	file, from, to string
	affects        string
}

func (c change) apply(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	texts = maps.Clone(texts)
	old, moved, isMove := strings.Cut(c.file, " => ")
	switch {
	case isMove:
		texts[moved] = texts[old]
		delete(texts, old)
	case c.from == "" && c.to == "":
		delete(texts, c.file)
	case c.from == "":
		texts[c.file] = c.to
	case strings.Count(texts[c.file], c.from) != 1:
		t.Fatalf("%s: %s holds %q %d times", c.about, c.file, c.from, strings.Count(texts[c.file], c.from))
	default:
		texts[c.file] = strings.Replace(texts[c.file], c.from, c.to, 1)
	}
	return texts
}

// expectChanges runs a repository before and after each change and demands of
// every case that each digest differs exactly when what it is about does.
func expectChanges(t *testing.T, s *playedModels, base map[string]string, changes []change) {
	o := oracle{s, scan(t, base), s.perform(t, stateOf(t, controller.Worktree, base))}
	for i, c := range changes {
		t.Run(fmt.Sprint(i, " ", c.about), func(t *testing.T) {
			t.Parallel()
			o.expect(t, c.apply(t, base), c.affects)
		})
	}
	for name, texts := range rewritten(t, base) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.expect(t, texts, "")
		})
	}
}

// An oracle knows what a repository did, with which others are compared.
type oracle struct {
	*playedModels
	base   scanned
	before performance
}

func (o oracle) expect(t *testing.T, texts map[string]string, affects string) {
	t.Helper()
	head := stateOf(t, controller.Worktree, texts)
	before, after := o.before, o.perform(t, head)
	was := renamed(before, after)
	var got []string
	for key, now := range after.digests {
		if _, ok := before.digests[was(key)]; !ok {
			t.Fatalf("%s is new", key)
		}
		compare(t, key, before.seen[was(key)], after.seen[key], before.digests[was(key)], now)
		if layer := differing(before.digests[was(key)], now); layer != "" {
			got = append(got, local(key)+" "+layer)
		}
	}
	slices.Sort(got)
	if strings.Join(got, ", ") != affects {
		t.Errorf("it changes %q, want %q", strings.Join(got, ", "), affects)
	}
	samePlans(t, o.base, head, func(key string) bool { return before.digests[was(key)] != after.digests[key] })
}

// renamed gives the key that a case had before. One that changed its name has
// another, and so no more than one may be missing.
func renamed(before, after performance) func(string) string {
	var gone string
	for key := range before.digests {
		if _, ok := after.digests[key]; !ok {
			gone = key
		}
	}
	return func(key string) string {
		if _, ok := before.digests[key]; !ok {
			return gone
		}
		return key
	}
}

// local is a case's name in its file, else the name of the file.
func local(key string) string {
	if _, id, ok := strings.Cut(key, "#"); ok {
		return id
	}
	return path.Base(key)
}

// differing names the first digest that differs. Those after it contain it.
func differing(before, after [3]string) string {
	for i := range before {
		if before[i] != after[i] {
			return "EJD"[i : i+1]
		}
	}
	return ""
}

// rewritten says the same in other forms: everything as JSON with sorted keys,
// and as JSON within YAML, with other white space and a comment.
func rewritten(t *testing.T, texts map[string]string) map[string]map[string]string {
	t.Helper()
	asJSON, asYAML := maps.Clone(texts), maps.Clone(texts)
	for file, text := range texts {
		ext := path.Ext(file)
		if ext != ".yaml" && ext != ".json" {
			continue
		}
		doc, problems := document.Parse(file, []byte(text))
		if doc == nil {
			t.Fatal(problems)
		}
		raw := string(doc.JSON())
		delete(asJSON, file)
		delete(asYAML, file)
		stem := strings.TrimSuffix(file, ext)
		jsonFile := stem + ".json"
		if _, lines := texts[stem+".jsonl"]; lines || file == "gavel.yaml" || strings.HasSuffix(file, ".checks.yaml") {
			jsonFile = file // has to be called so
		}
		asJSON[jsonFile] = raw
		asYAML[stem+".yaml"] = "# a comment\n\n" + strings.ReplaceAll(raw, `":`, "\":\n   ")
	}
	return map[string]map[string]string{"all as JSON": asJSON, "all as YAML": asYAML}
}

// expectRows fails where a field of a schema is changed by no row.
func expectRows(t *testing.T, file string, changes []change) {
	t.Helper()
	source, err := schema.CUE(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, c := range changes {
		for _, name := range strings.Fields(c.about) {
			rows[name] = true
		}
	}
	for _, line := range strings.Split(source, "\n") {
		def, isDef := strings.CutSuffix(line, ": {")
		if !isDef || !strings.HasPrefix(def, "#") {
			continue
		}
		for _, field := range document.Fields(def) {
			if !rows[def+"."+field] {
				t.Errorf("%s.%s has no row", def, field)
			}
		}
	}
}
