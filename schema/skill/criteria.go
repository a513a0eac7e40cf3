package skill

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The lists of criteria. A negative one has what must not happen.
var (
	positive = []string{"assertions", "expectations", "expected_behavior", "must_have", "deterministic_assertions"}
	negative = []string{"anti_expectations", "unexpected_behavior", "must_not_have"}
)

// The lists that are checked without a judge.
const (
	filesExist   = "files_exist"
	logsContain  = "logs_contain"
	everyEval    = "repo_criteria" // of the file, and of each of its evals
	outputID     = "expected-output"
	avoided      = "This is avoided, so that it did not happen: "
	maxPattern   = 4096
	mostSentence = 16 << 10
)

// private are further names of lists of sentences in single collections of evals. Where
// such a list has anything else, it is of another form, and is not read.
var private = []string{"checks", "rubric", "rubrics", "criteria", "evaluation_criteria", "success_criteria"}

// unread are private forms of criteria in single collections of evals.
var unread = []string{
	"expected_calls", "routing", "expected_chat_output", "expected_repo_state", "tool_assertions", "trigger_evaluation",
}

// HasSentences reports whether a private list has sentences: texts, or objects that say
// when they pass.
func HasSentences(doc *document.Document, at ...any) bool {
	n := doc.Items(at...)
	for i := range n {
		item := document.Place{Doc: doc, Path: append(slices.Clip(at), i)}
		if !item.IsText() && !item.IsText("pass_if") {
			return false
		}
	}
	return n > 0
}

// A judgement collects what is asked of an eval.
type judgement struct {
	criteria []evaluator.RubricCriterion
	checks   []evaluator.Check
	traces   evaluator.Traces
	// skill is the skill that is to be used, or with never the one that is not.
	skill string
	never bool
	ids   map[string]bool
	// context is what the judge reads besides the criteria.
	context []string
	// stops says why the eval cannot be judged as it is meant.
	stops string
}

// add adds a sentence for the judge under a name that no other has.
func (j *judgement) add(name, sentence string) {
	j.criteria = append(j.criteria, evaluator.RubricCriterion{ID: j.free(name, "criterion"), Outcome: sentence})
}

// free returns a name that is not in use yet: the wanted one, or a number behind it.
func (j *judgement) free(wanted, otherwise string) string {
	if wanted = strings.Join(strings.Fields(wanted), " "); wanted == "" {
		wanted = otherwise + " " + strconv.Itoa(len(j.criteria)+len(j.checks)+1)
	}
	name := wanted
	for n := 2; j.ids[name]; n++ {
		name = wanted + " " + strconv.Itoa(n)
	}
	j.ids[name] = true
	return name
}

// criteria reads what an eval is judged by. Without evaluators it says why there are none.
func (e *eval) criteria() (evaluators []schema.Evaluator, unjudged string) {
	j := &judgement{ids: map[string]bool{}}
	outputs := e.outputs()
	if e.Settings.Skills.JudgesOutput {
		e.judgeOutput(j, outputs)
	}
	from := e.lists(j, e.Place)
	if !from && e.IsObject("execution") { // as one collection has them
		from = e.lists(j, e.Sub("execution"))
	}
	for i, item := range (document.Place{Doc: e.doc}).List(everyEval) {
		if e.sentence(j, item, "", fmt.Sprintf("%s %d", everyEval, i+1)) {
			from = true
		}
	}
	switch {
	case e.Settings.Skills.JudgesOutput:
	case from:
		j.context = outputs
	default:
		e.judgeOutput(j, outputs)
	}
	e.trigger(j)
	e.overlooked()
	return e.evaluators(j)
}

// judgeOutput makes the expected output a criterion.
func (e *eval) judgeOutput(j *judgement, outputs []string) {
	if len(outputs) > 0 {
		j.add(outputID, strings.Join(outputs, "\n"))
	}
}

// outputs returns the texts that say in prose what is expected.
func (e *eval) outputs() []string {
	var texts []string
	for _, at := range [][]any{{"expected_output"}, {"execution", "expected_output"}, {"expected_behavior"}} {
		text := strings.TrimSpace(e.Text(at...))
		if !e.Has(at...) || e.IsText(at...) && text == "" || e.IsList(at...) && at[0] == "expected_behavior" {
			continue
		}
		if text == "" {
			text = string(e.JSON(at...))
		}
		e.Budget.Spend(document.Values, len(text))
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// lists reads the lists of criteria at a place, and reports whether there are any.
func (e *eval) lists(j *judgement, at document.Place) bool {
	found := false
	lists := slices.Clip(positive)
	for _, name := range private {
		if HasSentences(at.Doc, at.Way([]any{name})...) {
			lists = append(lists, name)
		}
	}
	for _, name := range slices.Concat(lists, negative) {
		prefix := ""
		if slices.Contains(negative, name) {
			prefix = avoided
		}
		items := at.List(name)
		if at.IsText(name) && name != "expected_behavior" && strings.TrimSpace(at.Text(name)) != "" {
			items = []document.Place{at.Sub(name)} // one criterion without its brackets
		}
		if at.Has(name) && !at.IsList(name) && !at.IsText(name) {
			e.problems = append(e.problems, at.Problem("wrong-type", fmt.Sprintf("`%s` must be a list", name), "write a list of sentences", name))
		}
		for _, item := range items {
			e.Budget.Spend(document.Evaluators, 1)
			if e.criterion(j, item, prefix) {
				found = true
			}
		}
	}
	for _, name := range []string{filesExist, logsContain} {
		for _, item := range at.List(name) {
			e.Budget.Spend(document.Evaluators, 1)
			text := strings.TrimSpace(item.Text())
			if text == "" {
				e.problems = append(e.problems, item.Problem("wrong-type", fmt.Sprintf("an item of %s must be a text", name), "write a text"))
				continue
			}
			found = true
			if name == filesExist {
				j.traces.Files = append(j.traces.Files, text)
			} else {
				j.traces.Logs = append(j.traces.Logs, text)
			}
		}
	}
	return found
}

// criterion reads a criterion: a sentence, or an object in one of many forms, nearly all
// of which hold a sentence. A result that was written back into it is not read.
func (e *eval) criterion(j *judgement, item document.Place, prefix string) bool {
	switch {
	case item.IsText():
		return e.sentence(j, item, prefix, "")
	case !item.IsObject():
		e.problems = append(e.problems, item.Problem("wrong-type", "a criterion must be a sentence or an object with one", "write a text"))
		return false
	case item.Has("retired") && string(item.JSON("retired")) != "false": // true, or the reason
		return false
	case item.Has("cmd"):
		j.stops = fmt.Sprintf("the criterion in line %d runs a command, which is not run", item.At("cmd").Line)
		p := item.Problem("not-judged", fmt.Sprintf("the eval %s is not judged, since a criterion of it runs a command", e.id), "write a sentence for a judge: text", "cmd")
		p.Severity = schema.Warning
		e.problems = append(e.problems, p)
		return false
	case item.Has("value") && mechanical(item.Text("type")) != "" && prefix == "":
		return e.check(j, item)
	}
	if p, wrong := halfCheck(item); wrong {
		e.problems = append(e.problems, p)
		return false
	}
	return e.sentence(j, item, prefix, "")
}

// halfCheck returns the problem of an object that is meant to be checked without a judge and
// cannot be: its type is unknown, or it has no value. An object with a sentence is for a judge,
// whatever its type.
func halfCheck(item document.Place) (schema.Problem, bool) {
	kind, known := item.Text("type"), []string{"contains", "not_contains", "regex"}
	text, label := sentenceOf(item)
	switch isName := label == "" && text == strings.TrimSpace(item.Text("name")); {
	case kind == "" || text != "" && !isName:
		return schema.Problem{}, false
	case mechanical(kind) != "" && item.Has("value"):
		return item.Problem("misplaced-field", "a text is looked for in a list of what must not happen", "move it to assertions, with the type not_contains"), true
	case mechanical(kind) != "":
		return item.Problem("missing-field", fmt.Sprintf("a criterion of the type %s needs a `value`", kind), `add "value": … with the text that is looked for, or write a sentence for a judge: text`), true
	case item.Has("value"):
		hint := cmp.Or(suggest.DidYouMean(kind, known), "write contains, not_contains or regex, or a sentence for a judge: text")
		return item.Problem("unknown-type", fmt.Sprintf("the type %q of a criterion is not known", kind), hint, "type"), true
	}
	return schema.Problem{}, false
}

// sentence reads a sentence for the judge. label names it where the item has no name.
func (e *eval) sentence(j *judgement, item document.Place, prefix, label string) bool {
	text, name := strings.TrimSpace(item.Text()), label
	if item.IsObject() {
		text, name = sentenceOf(item)
	}
	switch {
	case text == "":
		e.problems = append(e.problems, item.Problem("empty", "the criterion has no sentence", `write "text": … with what a judge can find true or false`))
		return false
	case len(text) > mostSentence:
		e.problems = append(e.problems, item.Problem("too-large", fmt.Sprintf("the criterion has %d bytes and may have %d", len(text), mostSentence), "write it as several"))
		return false
	}
	e.Budget.Spend(document.Values, len(prefix)+len(text))
	j.add(name, prefix+text)
	return true
}

// sentenceOf returns the sentence of a criterion that is an object, and its name.
func sentenceOf(item document.Place) (text, name string) {
	at := func(key string) string { return strings.TrimSpace(item.Text(key)) }
	text, name = at("text"), nameOf(item)
	if more := at("description"); more != text {
		text = strings.TrimSpace(text + "\n" + more)
	}
	if text != "" {
		return text, name
	}
	for _, key := range []string{"check", "pass_if", "assertion", "expectation", "criterion"} {
		if text := at(key); text != "" {
			return text, name
		}
	}
	return at("name"), ""
}

// nameOf returns the name of a criterion that is an object, else its dimension or its id,
// which may be a number.
func nameOf(item document.Place) string {
	for _, key := range []string{"name", "dimension"} {
		if name := strings.TrimSpace(item.Text(key)); name != "" {
			return name
		}
	}
	if item.Has("id") && !item.IsText("id") && !item.IsObject("id") && !item.IsList("id") {
		return string(item.JSON("id"))
	}
	return strings.TrimSpace(item.Text("id"))
}

// mechanical returns the kind of check that a type names; empty for none.
func mechanical(kind string) string {
	switch kind {
	case "contains":
		return evaluator.CheckContains
	case "not_contains", "not-contains":
		return evaluator.CheckNotContains
	case "regex":
		return evaluator.CheckRegex
	}
	return ""
}

// check reads a criterion that needs no judge.
func (e *eval) check(j *judgement, item document.Place) bool {
	kind := mechanical(item.Text("type"))
	var values []string
	for _, v := range item.Strings("value") {
		if v != "" {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		e.problems = append(e.problems, item.Problem("wrong-type", "`value` must be a text", "write the text that is looked for", "value"))
		return false
	}
	name := nameOf(item)
	for _, v := range values {
		if kind == evaluator.CheckRegex {
			if _, err := regexp.Compile("(?s)" + v); err != nil || len(v) > maxPattern {
				e.problems = append(e.problems, item.Problem("regex", fmt.Sprintf("the pattern cannot be read: %v", reasonOf(err)), "write it in RE2, which looks neither ahead nor behind, or write a sentence for a judge: text", "value"))
				return false
			}
		}
		e.Budget.Spend(document.Values, len(v))
		j.checks = append(j.checks, evaluator.Check{ID: j.free(name, "check"), Kind: kind, Text: v})
	}
	return true
}

func reasonOf(err error) string {
	if err == nil {
		return fmt.Sprintf("it has more than %d bytes", maxPattern)
	}
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// trigger reads whether the skill is to be used.
func (e *eval) trigger(j *judgement) {
	const field = "skill_should_trigger"
	switch string(e.JSON(field)) {
	case "", "null":
	case "true", "false":
		j.skill, j.never = e.skill.name, !e.Truth(field)
	default:
		e.fail("wrong-type", "`"+field+"` must be true or false", "write true or false", field)
	}
}

// overlooked warns about private forms of criteria, which are not judged.
func (e *eval) overlooked() {
	for _, key := range e.Keys() {
		isList := slices.Contains(private, key) && key != "checks" && !HasSentences(e.doc, e.Way([]any{key})...)
		if slices.Contains(unread, key) || isList {
			e.warn("not-judged", fmt.Sprintf("`%s` of eval %s is kept and not judged", key, e.id), "write what it demands as sentences under `assertions`", key)
		}
	}
}

// evaluators returns the evaluators of an eval. All of its criteria must hold; the score
// is the share of those that do.
func (e *eval) evaluators(j *judgement) (out []schema.Evaluator, unjudged string) {
	if j.stops != "" {
		return nil, j.stops
	}
	add := func(name string, ids []string, spec schema.Spec) {
		out = append(out, schema.Evaluator{Name: name, Weight: float64(len(ids)), Spec: spec, Rule: schema.Rule{Required: ids}})
	}
	if len(j.criteria) > 0 {
		ids := make([]string, len(j.criteria))
		for i, c := range j.criteria {
			ids[i] = c.ID
		}
		add("criteria", ids, evaluator.Rubrics{Criteria: j.criteria, Subject: evaluator.Subject{ExpectedOutcome: strings.Join(j.context, "\n\n"), Changes: true}})
	}
	if len(j.checks) > 0 {
		ids := make([]string, len(j.checks))
		for i, c := range j.checks {
			ids[i] = c.ID
		}
		add("checks", ids, evaluator.Checks{Checks: j.checks})
	}
	if t := j.traces; len(t.Files)+len(t.Logs) > 0 {
		add("traces", t.IDs(), t)
	}
	if j.skill != "" {
		out = append(out, schema.Evaluator{Name: "skill", Weight: 1, Spec: evaluator.SkillTrigger{Skill: j.skill, Never: j.never}, Rule: schema.Rule{Threshold: 1}})
	}
	if len(out) > 0 || e.Has("checks") {
		return out, ""
	}
	e.warn("no-criteria", fmt.Sprintf("eval %s has no criteria, so that it is not judged", e.id), `add "assertions": [ … ] with sentences that a judge can find true or false`)
	return nil, "no criteria"
}
