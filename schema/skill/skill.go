// Package skill reads the evals of agent skills: evals/evals.json next to a SKILL.md, as
// agentskills.io and the skill-creator describe it and as people write it.
//
// Most callers want [Load]. The skill is the program under test: its folder, without the
// evals, is in the workspace of each case. An eval with problems is left out; the others
// of its file are still compiled.
package skill

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// defaultTimeout bounds the work on one prompt.
	defaultTimeout = 10 * time.Minute
	// maxToolRounds ends the tool loop of a model target.
	maxToolRounds = 16
)

// A Source is the repository that evals are read from.
type Source struct {
	document.Source
	// Ignored reports the files and folders that .gavelignore excludes; nil excludes none.
	Ignored func(name string, isFolder bool) bool
	// Skills returns the skills of the repository, and the files of those that cannot be
	// read or are too many; nil has an agent choose from one alone.
	Skills func() (heads []schema.SkillHead, left []string)
}

// Load compiles the evals of a file.
func Load(src Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	return src.Bounded(doc, func(bounded document.Source) ([]*schema.Case, []schema.Problem) {
		src.Source = bounded
		return load(src, doc)
	})
}

// A file is a file of evals with what they share.
type file struct {
	Source
	doc  *document.Document
	list string
	// skill is the skill that the evals test.
	skill folder
	// target runs the cases; skip says why none does.
	target, skip string
	first        map[string]schema.Position // by id
	// inputs and work are those of an eval without files of its own.
	inputs   []schema.Input
	work     *schema.WorkspaceSkill
	problems []schema.Problem
	// allHeads and headInputs are what heads returned before.
	allHeads   []schema.SkillHead
	choice     *schema.SkillChoice // of allHeads; nil before the first
	headInputs []schema.Input
	// isTriggers says that the file is a trigger list, so that only the head of its skill
	// counts.
	isTriggers bool
}

func load(src Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	f := &file{Source: src, doc: doc, list: listName(doc), first: map[string]schema.Position{}}
	if f.isTriggers = FitsTriggers(doc); f.isTriggers {
		f.skill = f.find()
		f.problems = append(f.problems, f.skill.problems...)
		f.target, f.skip = f.runs()
		return f.queries(), schema.SortProblems(f.problems)
	}
	switch {
	case IsTriggerList(doc.File) && f.list == "":
		p := doc.Problem("no-queries", "the file has the name of a trigger list and no list of queries, so that it is not read", `write [{"query": …, "should_trigger": true}], or name the file in .gavelignore`)
		p.Severity = schema.Warning
		return nil, []schema.Problem{p}
	case f.list == "":
		return nil, []schema.Problem{noList(doc)}
	case doc.Items(f.list) == 0:
		return nil, []schema.Problem{doc.Problem("no-cases", "the list of evals is empty", "add an eval, or remove the file", f.list)}
	}
	f.skill = f.find()
	f.problems = append(f.problems, f.skill.problems...)
	f.problems = append(f.problems, unreadFields(document.Place{Doc: doc}, "the file", ofFile, ofFile)...)
	f.target, f.skip = f.runs()
	f.inputs = sorted(append(f.skill.inputs, schema.Input{File: doc.File, Role: "definition"}))
	if f.skill.name != "" {
		f.work = &schema.WorkspaceSkill{Name: f.skill.name, Dir: f.skill.dir, Files: f.skill.files}
	}
	var cases []*schema.Case
	for i := range doc.Items(f.list) {
		f.Budget.Go()
		f.Budget.Found(len(f.problems))
		if c := f.eval(document.Place{Doc: doc, Path: []any{f.list, i}}); c != nil {
			cases = append(cases, c)
		}
	}
	return cases, schema.SortProblems(f.problems)
}

// runs returns the target of the cases, or the reason why they are listed and not run.
func (f *file) runs() (target, skip string) {
	s := f.Settings
	name := cmp.Or(s.Against, s.Skills.Target)
	switch t, known := s.Targets[cmp.Or(name, s.DefaultTarget)]; {
	case f.skill.name == "":
		return name, "there is no SKILL.md that its prompts could test"
	case name == "" && !t.CodingAgent:
		return "", "no coding agent is configured (a target such as {provider: claude-code}, or skills: {target: …}, in gavel.yaml)"
	case name != "" && s.Targets != nil && !known: // an error of gavel.yaml has the repair
		return name, fmt.Sprintf("gavel.yaml does not have the target %s", name)
	case name != "" && s.Targets != nil && !t.HasWorkspace && s.Against == "": // as above
		return name, fmt.Sprintf("the target %s has no folder to work in, in which it would find the skill", name)
	case name != "" && s.Targets != nil && !t.HasWorkspace:
		return name, fmt.Sprintf("the target %s has no folder to work in, in which it would find the skill: name a command", name)
	}
	return name, ""
}

// key names a case: the folder of the skill and the id of the eval. Evals in another file
// than evals.json have its name in between.
func (f *file) key(id string) string {
	key := f.skill.key
	if !IsNamed(f.doc.File) {
		key = path.Join(key, strings.TrimSuffix(path.Base(f.doc.File), path.Ext(f.doc.File)))
	}
	return key + "#" + id
}

// An eval is the reader of one eval.
type eval struct {
	*file
	document.Place
	id       string
	staged   []schema.StagedFile
	own      []schema.Input
	problems []schema.Problem
}

func (e *eval) fail(rule, message, hint string, at ...any) {
	e.problems = append(e.problems, e.Problem(rule, message, hint, at...))
}

func (e *eval) warn(rule, message, hint string, at ...any) {
	p := e.Problem(rule, message, hint, at...)
	p.Severity = schema.Warning
	e.problems = append(e.problems, p)
}

// eval compiles one eval; nil if it has errors.
func (f *file) eval(at document.Place) *schema.Case {
	e := &eval{file: f, Place: at}
	c := e.compile()
	f.problems = append(f.problems, e.problems...)
	if schema.HasErrors(e.problems) {
		return nil
	}
	return c
}

func (e *eval) compile() *schema.Case {
	if !e.IsObject() {
		e.fail("wrong-type", "an eval must be an object", "write `id`, `prompt` and `assertions`")
		return nil
	}
	if !e.identify() {
		return nil
	}
	prompt, ok := e.prompt()
	if !ok {
		return nil
	}
	e.Budget.Spend(document.Text, len(prompt))
	e.problems = append(e.problems, unreadFields(e.Place, "eval "+e.id, known, slices.Concat(known, unread))...)
	e.files()
	e.workspace()
	evaluators, unjudged := e.criteria()
	skip := e.skip
	if unjudged != "" {
		skip = "not judged: " + unjudged
	}
	c := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: e.key(e.id), Dialect: schema.DialectSkill, Origin: e.At(), Labels: e.labels(),
			Target: e.target, Weight: 1, Skip: skip, Inputs: e.allInputs(),
		},
		Drive:      schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: prompt}}, Workspace: &schema.Workspace{Staged: e.staged, Skill: e.work}},
		Evaluators: evaluators,
		Policy:     e.policy(),
	}
	if trigger := triggerAlone(evaluators); trigger != "" {
		c.Inputs = e.own
		e.choose(c, trigger)
	}
	return c
}

// policy returns the policy of an eval with criteria.
func (f *file) policy() schema.Policy {
	target := f.Settings.Targets[cmp.Or(f.target, f.Settings.DefaultTarget)]
	return schema.Policy{
		Iterations: max(f.Settings.Iterations, 1), MaxToolRounds: maxToolRounds,
		Timeout: cmp.Or(target.Timeout, f.Settings.Timeout, defaultTimeout),
	}
}

// triggerAlone returns what is wanted of an eval that only asks whether the skill is used;
// empty for others.
func triggerAlone(evaluators []schema.Evaluator) schema.Trigger {
	if len(evaluators) != 1 {
		return ""
	}
	switch spec, ok := evaluators[0].Spec.(evaluator.SkillTrigger); {
	case !ok:
		return ""
	case spec.Never:
		return schema.Unwanted
	}
	return schema.Wanted
}

// identify reads the id, which is a number or a text.
func (e *eval) identify() bool {
	e.id = strings.TrimSpace(e.Text("id"))
	if !e.IsText("id") && e.Has("id") {
		var n json.Number
		if json.Unmarshal(e.JSON("id"), &n) != nil {
			e.fail("wrong-type", "`id` must be a number or a text", "write a number", "id")
			return false
		}
		e.id = n.String()
	}
	if e.id == "" {
		e.fail("missing-field", "the eval has no id", `add "id": … with a number or a text that no other eval of the file has; verdicts are stored by it`)
		return false
	}
	if at, dup := e.first[e.id]; dup {
		e.fail("duplicate-id", fmt.Sprintf("two evals have the id %q", e.id), "the other is in "+at.String()+"; give this one another id", "id")
		return false
	}
	e.first[e.id] = e.At("id")
	return true
}

// prompt reads the prompt as it is: braces in it are text.
func (e *eval) prompt() (string, bool) {
	for _, name := range []string{"prompt", "input"} {
		switch {
		case !e.Has(name):
		case !e.IsText(name):
			e.fail("wrong-type", fmt.Sprintf("`%s` must be a text", name), "write what the user says", name)
			return "", false
		case strings.TrimSpace(e.Text(name)) == "":
			e.fail("empty", fmt.Sprintf("`%s` is empty", name), "write what the user says", name)
			return "", false
		default:
			return e.Text(name), true
		}
	}
	e.fail("missing-field", fmt.Sprintf("the eval %s has no prompt", e.id), `add "prompt": … with what the user says`)
	return "", false
}

// known are the fields that mean something. Each collection of evals has further ones,
// which are kept as metadata.
var known = slices.Concat([]string{
	"id", "prompt", "input", "expected_output", "files", "workspace", "name", "description", "tags", "skill_should_trigger", "execution",
}, positive, negative, private, []string{filesExist, logsContain})

// labels reads what people see, and everything that the format does not know.
func (e *eval) labels() schema.Labels {
	out := schema.Labels{Name: cmp.Or(strings.TrimSpace(e.Text("name")), shortened(cmp.Or(e.Text("prompt"), e.Text("input"))), e.id), Description: strings.TrimSpace(e.Text("description")), Groups: []string{e.skill.key}}
	for _, tag := range e.List("tags") {
		if tag.Text() != "" {
			out.Tags = append(out.Tags, tag.Text())
		}
	}
	slices.Sort(out.Tags)
	out.Tags = slices.Compact(out.Tags)
	extra := map[string]json.RawMessage{}
	for _, key := range e.Keys() {
		if !slices.Contains(known, key) {
			extra[key] = e.JSON(key)
		}
	}
	if raw, err := json.Marshal(extra); err == nil && len(extra) > 0 {
		out.Facts.Metadata, _ = schema.Canonical(raw) // it was parsed before
	}
	return out
}

// allInputs returns every file that the case was built from. Evals without files of their
// own share the list.
func (e *eval) allInputs() []schema.Input {
	if len(e.own) == 0 {
		return e.inputs
	}
	e.Budget.Spend(document.Parts, len(e.inputs)+len(e.own))
	return sorted(slices.Concat(e.inputs, e.own))
}

// sorted sorts inputs by file, without duplicates.
func sorted(all []schema.Input) []schema.Input {
	slices.SortFunc(all, func(a, b schema.Input) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Role, b.Role)) })
	return slices.Clip(slices.Compact(all))
}
