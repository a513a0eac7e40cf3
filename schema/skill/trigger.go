package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

const (
	// queryRuns is how often a query is sent by default.
	queryRuns = 3
	// mostTold is how many items are looked at to tell what a list is.
	mostTold = 100
	// shortKey is how long the words of a query are in the key of its case.
	shortKey = 48
)

// The fields of a trigger list.
var (
	queryLists = append([]string{"queries"}, listNames...)
	queryTexts = []string{"query", "prompt", "input"}
	queryFlags = []string{"should_trigger", "expected_trigger"}
)

// triggerLists are the lists of texts that say for all of them what is wanted.
var triggerLists = map[string]schema.Trigger{"should_trigger": schema.Wanted, "should_not_trigger": schema.Unwanted}

// IsTriggerList reports whether a file has a name by which trigger lists are found: one
// that begins with trigger or has quer in it, in a folder evals.
func IsTriggerList(file string) bool {
	name := strings.ToLower(path.Base(file))
	return path.Base(path.Dir(file)) == "evals" && path.Ext(name) == ".json" && (strings.HasPrefix(name, "trigger") || strings.Contains(name, "quer"))
}

// FitsTriggers reports whether a document is a trigger list.
func FitsTriggers(doc *document.Document) bool {
	at := document.Place{Doc: doc}
	for name := range triggerLists {
		if at.IsList(name) {
			return true
		}
	}
	items := queryItems(at)
	return slices.ContainsFunc(items[:min(len(items), mostTold)], isQuery)
}

// queryItems returns the items of the first list that may have queries.
func queryItems(at document.Place) []document.Place {
	if at.IsList() {
		return at.List()
	}
	for _, name := range queryLists {
		if at.IsList(name) {
			return at.List(name)
		}
	}
	return nil
}

func isQuery(item document.Place) bool {
	has := func(name string) bool { return item.Has(name) }
	return item.IsObject() && slices.ContainsFunc(queryTexts, has) && slices.ContainsFunc(queryFlags, has)
}

// A query is a text that a user sends, and whether the agent should load the skill for it.
type query struct {
	document.Place
	text string
	// textAt is where the text is.
	textAt  []any
	trigger schema.Trigger
	id      string
}

// queries compiles a trigger list: a case for each query.
func (f *file) queries() []*schema.Case {
	all := f.readQueries()
	short, counted := map[string]int{}, map[string]bool{}
	for _, q := range all {
		if !counted[q.text] {
			counted[q.text] = true
			short[shortOf(q.text)]++
		}
	}
	first := map[string]schema.Position{}
	var cases []*schema.Case
	for _, q := range all {
		f.Budget.Go()
		f.Budget.Found(len(f.problems))
		f.Budget.Spend(document.Text, len(q.text))
		q.id = cmp.Or(q.id, keyOf(q.text, short))
		same, known := first[q.id]
		if !known {
			same, known = first["\x00"+q.text]
		}
		if known {
			f.problems = append(f.problems, q.Problem("duplicate-id", fmt.Sprintf("two queries are %q", q.id), "the other is in "+same.String()+"; remove one, or give each an id", q.textAt...))
			continue
		}
		first[q.id], first["\x00"+q.text] = q.At(), q.At()
		cases = append(cases, f.queryCase(q))
	}
	return cases
}

// readQueries reads the queries of all forms.
func (f *file) readQueries() []query {
	doc := document.Place{Doc: f.doc}
	var all []query
	add := func(item document.Place, trigger schema.Trigger) {
		if q, ok := f.readQuery(item, trigger); ok {
			all = append(all, q)
		}
	}
	for _, item := range queryItems(doc) {
		add(item, "")
	}
	for _, name := range []string{"should_trigger", "should_not_trigger"} {
		for _, item := range doc.List(name) {
			add(item, triggerLists[name])
		}
	}
	if len(all) == 0 && len(f.problems) == 0 {
		f.problems = append(f.problems, doc.Problem("no-cases", "the list has no queries", `write [{"query": …, "should_trigger": true}], or remove the file`))
	}
	return all
}

// readQuery reads one query. trigger is what the list says about it; empty if it says so
// itself.
func (f *file) readQuery(item document.Place, trigger schema.Trigger) (query, bool) {
	q := query{Place: item, trigger: trigger, text: item.Text()}
	fail := func(message, hint string, at ...any) (query, bool) {
		f.problems = append(f.problems, item.Problem("wrong-type", message, hint, at...))
		return query{}, false
	}
	for _, name := range queryTexts {
		if item.IsObject() && item.Has(name) {
			q.text, q.textAt = item.Text(name), []any{name}
			break
		}
	}
	if q.text = strings.TrimSpace(q.text); q.text == "" {
		return fail("the query has no text", `write "query": … with what the user says`, q.textAt...)
	}
	q.id = strings.TrimSpace(item.Text("id"))
	if item.IsObject() && item.Has("id") && q.id == "" {
		q.id = strings.TrimSpace(string(item.JSON("id")))
	}
	for _, name := range queryFlags {
		if trigger != "" || !item.IsObject() || !item.Has(name) {
			continue
		}
		switch string(item.JSON(name)) {
		case "true":
			q.trigger = schema.Wanted
		case "false":
			q.trigger = schema.Unwanted
		default:
			return fail("`"+name+"` must be true or false", "write true or false", name)
		}
	}
	if q.trigger == "" {
		for _, key := range item.Keys() {
			if meant := near(key, queryFlags); meant != "" {
				return fail("the query does not say whether the skill should be loaded, and `"+key+"` is not known", suggest.Question(meant), key)
			}
		}
		return fail("the query does not say whether the skill should be loaded", `write "should_trigger": true or false`)
	}
	return q, true
}

// queryCase returns the case of a query.
func (f *file) queryCase(q query) *schema.Case {
	c := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: f.key(q.id), Dialect: schema.DialectSkill, Origin: q.At(), Target: f.target, Weight: 1, Skip: f.skip,
			Labels: schema.Labels{Name: shortened(q.text), Description: q.reason(), Groups: []string{f.skill.key}},
		},
		Drive:  schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: q.text}}},
		Policy: f.policy(),
	}
	f.choose(c, q.trigger)
	return c
}

// reason returns why the author wants the reaction.
func (q query) reason() string {
	for _, name := range []string{"reason", "why", "note"} {
		if q.IsObject() && q.Text(name) != "" {
			return strings.TrimSpace(q.Text(name))
		}
	}
	return ""
}

// choose makes a case ask whether an agent loads the skill. The case passes if the agent
// does what is wanted in more than half of the runs.
func (f *file) choose(c *schema.Case, trigger schema.Trigger) {
	heads, inputs := f.heads()
	if f.choice == nil {
		f.choice = schema.NewSkillChoice(f.skill.name, heads)
	}
	work := schema.Workspace{Choice: f.choice}
	if c.Drive.Workspace != nil {
		work.Staged = c.Drive.Workspace.Staged
	}
	c.Drive.Workspace, c.Trigger = &work, trigger
	if len(c.Inputs) == 0 {
		c.Inputs = inputs // which all queries share
	} else {
		c.Inputs = sorted(slices.Concat(c.Inputs, inputs))
	}
	c.Evaluators = []schema.Evaluator{{
		Name: "skill", Weight: 1, Rule: schema.Rule{Threshold: 1},
		Spec: evaluator.SkillTrigger{Skill: f.skill.name, Never: trigger == schema.Unwanted, Loaded: true},
	}}
	c.Policy.Iterations = cmp.Or(f.Settings.Iterations, queryRuns)
	c.Policy.PassShare = float64(c.Policy.Iterations/2+1) / float64(c.Policy.Iterations)
}

// heads returns the skills that the agent chooses from, with the skill under test in the
// place of others of its name, and the files that they are read from.
func (f *file) heads() ([]schema.SkillHead, []schema.Input) {
	if f.allHeads != nil {
		return f.allHeads, f.headInputs
	}
	var all []schema.SkillHead
	if f.Skills != nil {
		heads, left := f.Skills()
		all = slices.Clone(heads)
		if len(left) > 0 {
			p := f.doc.Problem("left-out", fmt.Sprintf("the agent chooses from the other skills without %d of them, such as %s", len(left), left[0]),
				fmt.Sprintf("make each SKILL.md a plain file with at most %d KiB before its body, or name it in .gavelignore", longestHead>>10))
			p.Severity = schema.Warning
			f.problems = append(f.problems, p)
		}
	}
	if own := f.skill; own.name != "" {
		data, err := schema.ReadFile(f.FS, path.Join(own.dir, File), 0)
		head, ok := HeadOf(string(data), own.dir, own.name)
		if err != nil || !ok {
			f.problems = append(f.problems, f.doc.Problem("unreadable", "the name and the description in "+path.Join(own.dir, File)+" cannot be read", fmt.Sprintf("make it a plain file, with at most %d KiB before its body", longestHead>>10)))
		}
		head.Name = own.name
		for _, other := range all {
			// A copy, such as one for another agent, is the same skill.
			if other.Name == own.name && other.Dir != own.dir && other.Text != head.Text {
				f.problems = append(f.problems, f.twoOfOneName(own.name, own.dir, other.Dir))
				break
			}
		}
		all = append([]schema.SkillHead{head}, all...) // the first of a name counts
	}
	slices.SortStableFunc(all, func(a, b schema.SkillHead) int { return strings.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b schema.SkillHead) bool { return a.Name == b.Name })
	inputs := []schema.Input{{File: f.doc.File, Role: "definition"}}
	for _, h := range all {
		inputs = append(inputs, schema.Input{File: path.Join(h.Dir, File), Role: role})
	}
	f.allHeads, f.headInputs = all, slices.Clip(sorted(inputs))
	return f.allHeads, f.headInputs
}

// shortened returns the begin of a text in one line.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return text
}

// shortOf returns the first words of a query as they are in its key.
func shortOf(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	short := ""
	for i, word := range words {
		if i > 0 && len(short)+1+len(word) > shortKey {
			break
		}
		short = strings.TrimPrefix(short+"-"+word, "-")
	}
	if runes := []rune(short); len(runes) > shortKey {
		short = string(runes[:shortKey])
	}
	return short
}

// keyOf returns the part of a key that names a query: its words, and a digest where they
// are not all of it. The places of queries in their file do not count.
func keyOf(text string, short map[string]int) string {
	words := shortOf(text)
	plain := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	if words == strings.Join(plain, "-") && short[words] == 1 && words != "" {
		return words
	}
	sum := sha256.Sum256([]byte(text))
	return strings.TrimPrefix(words+"-"+hex.EncodeToString(sum[:3]), "-")
}
