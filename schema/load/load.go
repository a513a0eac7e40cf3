// Package load finds every definition of a repository, tells its dialect, and
// has it compiled to cases.
//
// Most callers want [Load]. A file that cannot be read or is wrong is a
// problem with its place; the rest loads all the same.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/matrix"
	"github.com/gavel-evals/gavel/schema/program"
	"github.com/gavel-evals/gavel/schema/promptval"
	"github.com/gavel-evals/gavel/schema/skill"
	"github.com/gavel-evals/gavel/schema/testcase"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

const (
	// maxFiles bounds the definitions of a repository.
	maxFiles = 200_000
	// maxFolders bounds how deep folders are searched.
	maxFolders = 32
)

// Options select what to load.
type Options struct {
	Settings schema.Settings
	// Files limits loading to these definition files and the ones that they
	// share, such as a domain.json; nil loads all. Files that are not there
	// are left out.
	Files []string
	// Brief keeps no cases: a Snapshot's part of them is recorded while they are
	// loaded.
	Brief bool
	// Note is called for every complete case, possibly concurrently. The Snapshot keeps
	// its result with the listing of the case. nil keeps neither.
	Note func(*schema.Case) string

	// Search is the same repository, and its folders are listed where all of it is searched
	// for skills, or a name is proposed. A caller that notes the folders on which definitions
	// depend leaves them out so. Defaults to the one that is loaded.
	Search fs.FS

	// Maker runs the programs that make parts of definitions; without it these parts are
	// not read, which a warning says.
	Maker schema.Maker

	// New reports which files are new or changed; nil means none. MaxNew bounds their
	// cases together, and everything else about them in proportion; 0 only applies the
	// bound of all cases.
	New    func(file string) bool
	MaxNew int64

	evaluations *cuefile.Budget // of tests; nil for a new one
	most        *bounds         // of tests; nil for defaultBounds
}

// A Definition is one file with its cases.
type Definition struct {
	File string
	// Dialect is empty for a file that is not a definition.
	Dialect string
	Cases   []*schema.Case
	// IDs are unique over the whole repository.
	IDs []ID
	// Other are problems of a file that is not a definition and should be one, or a
	// note about it. They are dropped if a definition refers to it.
	Other []schema.Problem

	notes []string    // parallel to Cases; empty without notes
	brief []briefCase // in place of Cases
}

// An ID is a name that only one test may have.
type ID struct {
	Name string
	At   schema.Position

	number int // of the case in its definition; -1 where the test has errors
}

// A Result has everything found, sorted by file and by key.
type Result struct {
	Definitions []Definition
	Cases       []*schema.Case
	// Problems are all problems. If only some files were loaded, problems of files that
	// are not definitions are left out, since it is unknown whether others refer to
	// them.
	Problems []schema.Problem
	// Names maps the id of an evaluator or a tool to its file.
	Names map[domain.Name]string

	direct    []schema.Problem // without problems of files that are not definitions
	fragments *evalcase.FragmentFinder
}

// Load reads the definition folders of a repository. It returns an error only
// when ctx ends or the file system itself fails. More than is looked at is one
// problem, and nothing else is known then.
func Load(ctx context.Context, fsys fs.FS, opts Options) (*Result, error) {
	return guarded(ctx, fsys, opts, func(ctx context.Context, g *guard) (*Result, error) { return load(ctx, g, opts) })
}

func load(ctx context.Context, fsys *guard, opts Options) (*Result, error) {
	l, err := loadFolders(ctx, fsys, opts)
	if err != nil {
		return nil, err
	}
	if problems := l.overrun(); len(problems) > 0 {
		opts.Settings.Constraints = withoutFaulty(opts.Settings.Constraints, problems)
		if l, err = loadFolders(ctx, fsys, opts); err != nil {
			return nil, err
		}
		l.out.Problems = append(l.out.Problems, problems...)
	}
	return l.result(), nil
}

// loadFolders loads one folder after the other.
func loadFolders(ctx context.Context, fsys *guard, opts Options) (*loader, error) {
	l := &loader{
		fsys: fsys, opts: opts, out: Result{Names: map[domain.Name]string{}, fragments: evalcase.NewFragmentFinder(fsys)}, evaluations: cmp.Or(opts.evaluations, cuefile.NewBudget()),
		functions: javascript.NewBudget(), prompts: document.NewPromptReader(fsys, opts.Settings),
	}
	l.evaluations.Unstarted = func(err error) { fsys.end(&fault{err}) }
	l.functions.Unstarted = l.evaluations.Unstarted
	var err error
	if l.ignore, err = wildcard.ReadIgnore(fsys); err != nil {
		at, hint := schema.Position{File: wildcard.IgnoreFile, Line: 1, Column: 1}, "make it a plain file of at most 256 KiB"
		if long, ok := errors.AsType[*wildcard.PatternError](err); ok {
			at.Line, hint = long.Line, "shorten it"
		}
		l.problem(at, "unreadable", "the file is not applied: "+err.Error(), hint)
	}
	l.programs = programs(fsys, opts.Settings, l.ignore)
	l.programs.Ended = ctx.Err
	l.catalog = l.searchCatalog(ctx)
	if err := l.findSkills(ctx); err != nil {
		return nil, err
	}
	for _, root := range opts.Settings.Definitions {
		if err := l.folder(ctx, path.Clean(root)); err != nil {
			return nil, err
		}
	}
	for _, file := range opts.Settings.RootFiles {
		if !exists(fsys, file) {
			continue
		}
		if err := l.folder(ctx, file); err != nil {
			return nil, err
		}
	}
	return l, l.loadSkills(ctx)
}

func exists(fsys fs.FS, file string) bool {
	_, err := fs.Stat(fsys, file)
	return err == nil
}

// result combines the findings of all folders.
func (l *loader) result() *Result {
	slices.SortFunc(l.out.Definitions, func(a, b Definition) int { return cmp.Compare(a.File, b.File) })
	l.unique()
	if l.opts.Files == nil {
		l.out.Problems = append(l.out.Problems, l.unknownTools()...)
	}
	for _, d := range l.out.Definitions {
		l.out.Cases = append(l.out.Cases, d.Cases...)
	}
	slices.SortFunc(l.out.Cases, func(a, b *schema.Case) int { return cmp.Compare(a.Key, b.Key) })
	l.out.direct = slices.Clone(l.out.Problems)
	if l.opts.Files == nil {
		l.out.Problems = append(l.out.Problems, nonDefinitionProblems(l.out.Definitions)...)
	}
	l.out.Problems = schema.SortProblems(l.out.Problems)
	return &l.out
}

type loader struct {
	fsys   *guard
	opts   Options
	seen   int // entries of definitions folders
	ignore wildcard.IgnoreRules
	rules  []*document.Constraints
	// evaluations bounds the evaluation of .cue files and constraints.
	evaluations *cuefile.Budget
	functions   *javascript.Budget
	prompts     *document.PromptReader
	programs    *program.Finder
	skills      []string // files with the evals of skills, in no definitions folder
	catalog     func() (heads []schema.SkillHead, left []string)
	dialect     string // of the files that are loaded now, see [companions]
	out         Result
}

// folder loads one definitions folder.
func (l *loader) folder(ctx context.Context, root string) error {
	if l.ignore.Exclude(wildcard.Path{Name: root, IsFolder: true}) || l.ignore.ExcludeAbove(root) {
		l.out.Problems = append(l.out.Problems, schema.Problem{
			Position: schema.Position{File: root, Line: 1, Column: 1}, Severity: schema.Warning, Rule: "ignored-folder",
			Message: "the definitions folder is excluded by .gavelignore, and nothing in it is read", Hint: "correct .gavelignore, or definitions: in gavel.yaml",
		})
		return nil
	}
	list := l.walk
	if l.opts.Files != nil {
		list = l.wantedFiles
	}
	files, err := list(ctx, root)
	if err != nil {
		return err
	}
	src := l.source(ctx, root)
	if rules := l.constraints(root); rules != nil {
		src.Constraints = rules
	}
	if l.opts.Settings.Listed || len(l.opts.Settings.Definitions) > 1 {
		src.KeyRoot = "."
	}
	told := l.sortByPlace(root, files)
	tools, err := l.domain(ctx, src, told.domain)
	if err != nil {
		return err
	}
	return l.byContent(ctx, src, told.rest, tools)
}

// source returns the repository as the definitions below a folder are read from it.
func (l *loader) source(ctx context.Context, root string) document.Source {
	src := document.Source{FS: l.fsys, Near: l.searched(), Root: root, KeyRoot: root, Settings: l.opts.Settings, Evaluations: l.evaluations, Functions: l.functions, Budgets: document.NewBudgets(ctx, l.fsys.open), Programs: l.programs}
	if maker := l.opts.Maker; maker != nil {
		src.Make = func(m schema.Making) ([]byte, error) {
			m.FS = l.fsys
			return maker.Make(ctx, m)
		}
	}
	return src
}

// domain loads the files of the domain dialect, which build on each other, and
// gives the tools that it found.
func (l *loader) domain(ctx context.Context, src document.Source, files []string) (map[string]domain.Tool, error) {
	if len(files) == 0 && !offersTools(src.Settings) {
		return nil, nil // tools next to the folder may then be of another kind
	}
	var mu sync.Mutex
	finished := make(map[string]Definition, len(files))
	condense := l.condense()
	finish := func(d domain.Definition, problems []schema.Problem) []schema.Problem {
		var lacking []schema.Problem
		for i, t := range d.Tests {
			if t.Case == nil {
				continue
			}
			p, lacks := unserved(t.Case, src.Settings)
			if lacks {
				lacking = append(lacking, p)
			}
			if lacks && p.Severity == schema.Error {
				d.Tests[i].Case = nil
			}
		}
		def := domainDefinition(d)
		found := append(lacking, l.finish(src, &def, append(lacking, problems...), condense)...)
		mu.Lock()
		defer mu.Unlock()
		finished[d.File] = def
		return found
	}
	res, err := domain.Load(ctx, domain.Source{Source: src, Files: files, Prompt: l.prompts.Prompt(""), Finish: finish, Each: each})
	if err != nil {
		return nil, err
	}
	l.out.Problems = append(l.out.Problems, res.Problems...)
	maps.Copy(l.out.Names, res.Names)
	for _, d := range res.Definitions {
		def, isTest := finished[d.File]
		if !isTest {
			def = domainDefinition(d)
		}
		l.out.Definitions = append(l.out.Definitions, def)
	}
	return res.Tools, nil
}

// domainDefinition returns a file of the domain dialect as a definition.
func domainDefinition(d domain.Definition) Definition {
	def := Definition{File: d.File, Dialect: schema.DialectDomain}
	for _, t := range d.Tests {
		number := -1
		if t.Case != nil {
			number = len(def.Cases)
			def.Cases = append(def.Cases, t.Case)
		}
		if t.ID != "" {
			def.IDs = append(def.IDs, ID{t.ID, t.At, number})
		}
	}
	return def
}

// finish adds other files' parts to the cases of a definition, and takes notes of them
// before they are condensed. It returns further problems.
func (l *loader) finish(src document.Source, def *Definition, problems []schema.Problem, condense func(*Definition)) []schema.Problem {
	l.fsys.count(def.File, len(def.Cases))
	found := l.addChecks(src, def, schema.HasErrors(problems))
	for _, c := range def.Cases {
		if c.Dialect == schema.DialectPromptval && len(c.Evaluators) == 0 {
			c.Evaluators = promptval.Ungated()
		}
		c.AsksNothing = evaluator.AsksNothing(c)
		if share, ok := passShareOf(src.Settings.PassShares, c.Key); ok {
			c.Policy.Demand(share)
		}
	}
	found = append(found, silent(def, problems)...)
	separate(def.Cases)
	if l.opts.Note != nil {
		for _, c := range def.Cases {
			def.notes = append(def.notes, l.opts.Note(c))
		}
	}
	if condense != nil {
		condense(def)
	}
	return found
}

// silent is a note about the cases of a file that ask nothing of the answer; none where
// the format itself warned of them.
func silent(def *Definition, said []schema.Problem) []schema.Problem {
	var list []*schema.Case
	for _, c := range def.Cases {
		if c.AsksNothing {
			list = append(list, c)
		}
	}
	if len(list) == 0 || slices.ContainsFunc(said, func(p schema.Problem) bool { return p.Rule == matrix.RuleAsksNothing }) {
		return nil
	}
	message := "the case asks nothing of the answer, so that it passes whatever that is"
	if len(list) > 1 {
		message = fmt.Sprintf("%d cases ask nothing of the answer, so that they pass whatever that is; the first is %s", len(list), list[0].Key)
	}
	return []schema.Problem{{Position: list[0].Origin, Severity: schema.Note, Rule: matrix.RuleAsksNothing, Message: message, Hint: "add an assertion, an expectation or checks"}}
}

// byContent loads the files whose dialect follows from their content.
func (l *loader) byContent(ctx context.Context, src document.Source, files []string, tools map[string]domain.Tool) error {
	defs := make([]Definition, len(files))
	problems := make([][]schema.Problem, len(files))
	condense := l.condense()
	err := each(ctx, len(files), func(i int) error {
		defs[i], problems[i] = compile(src, files[i], l.companions())
		problems[i] = append(problems[i], l.equip(&defs[i], src, tools)...)
		problems[i] = append(problems[i], l.finish(src, &defs[i], problems[i], condense)...)
		return nil
	})
	l.out.Definitions = append(l.out.Definitions, defs...)
	l.out.Problems = slices.Concat(append(problems, l.out.Problems)...)
	return err
}

// companions are what compiling a file needs besides its source.
type companions struct {
	fragments *evalcase.FragmentFinder
	// ignored reports what .gavelignore excludes.
	ignored func(name string, isFolder bool) bool
	// skills are the skills that agents choose from.
	skills func() (heads []schema.SkillHead, left []string)
	// dialect is the one of files that gavel.yaml pins to none; empty for the one that
	// follows from their content.
	dialect string
}

func (l *loader) companions() companions {
	return companions{l.out.fragments, func(name string, isFolder bool) bool {
		return l.ignore.Exclude(wildcard.Path{Name: name, IsFolder: isFolder})
	}, l.catalog, l.dialect}
}

// compile loads one file that does not depend on others.
func compile(src document.Source, file string, from companions) (Definition, []schema.Problem) {
	def := Definition{File: file, Dialect: cmp.Or(pinned(src.Settings.Dialects, file), from.dialect)}
	doc, problems := src.Open(file)
	switch {
	case doc == nil && def.Dialect == "":
		def.Other = problems // it may be a file that a definition refers to
		return def, nil
	case doc == nil:
		return def, problems
	case def.Dialect == "":
		def.Dialect = Detect(doc)
	}
	if def.Dialect == schema.DialectEvalcase && from.fragments.Suite(doc) != "" {
		return def, nil
	}
	if (def.Dialect == "" || def.Dialect == schema.DialectTestcase) && def.isSidecar(src) {
		def.Dialect = schema.DialectEvalcase
		return def, nil
	}
	if def.Dialect == "" {
		def.Other = append(problems, misfit(doc, src.Root)...)
		if len(def.Other) == 0 {
			other, looksLike := resemblance(doc, src.Root)
			if !looksLike {
				other = doc.Problem(schema.RuleNoDefinition, "the file is not a definition", "")
				other.Severity = schema.Note
			}
			def.Other = []schema.Problem{other}
		}
		return def, nil
	}
	var found []schema.Problem
	switch def.Dialect {
	case schema.DialectTestcase:
		def.Cases, found = testcase.Load(src, doc)
	case schema.DialectPromptval:
		def.Cases, found = promptval.Load(src, doc)
	case schema.DialectEvalcase:
		def.Cases, found = evalcase.Load(src, doc)
	case schema.DialectMatrix:
		def.Cases, found = matrix.Load(src, doc)
	case schema.DialectSkill:
		def.Cases, found = skill.Load(skill.Source{Source: src, Ignored: from.ignored, Skills: from.skills}, doc)
	default:
		p := doc.Problem("not-read", fmt.Sprintf("definitions of the %s format are not read, and their cases are not run", def.Dialect), "name the file in .gavelignore")
		p.Severity = schema.Warning
		found = []schema.Problem{p}
	}
	found = append(found, inlineChecks(&def, doc)...)
	return def, append(problems, found...)
}

// identities are the ids that cases bring from where they were exported.
func identities(cases []*schema.Case) []ID {
	var ids []ID
	for i, c := range cases {
		if c.Labels.ID != "" {
			ids = append(ids, ID{c.Labels.ID, c.Origin, i})
		}
	}
	return ids
}

// isSidecar reports whether a file that has no cases yet holds the suite of a
// .jsonl file next to it. One that has a name alone looks like a testcase.
func (d *Definition) isSidecar(src document.Source) bool {
	ext := path.Ext(d.File)
	if ext != ".yaml" && ext != ".yml" || len(d.Cases) > 0 || pinned(src.Settings.Dialects, d.File) != "" {
		return false
	}
	doc, _ := document.Open(src.FS, stem(d.File)+".jsonl")
	return doc != nil && Detect(doc) == schema.DialectEvalcase
}

// nonDefinitionProblems returns the problems of files that are not definitions: the
// mistakes of those that nothing refers to, and one note for the rest.
func nonDefinitionProblems(defs []Definition) []schema.Problem {
	var found []schema.Problem
	for _, d := range strays(defs) {
		found = append(found, d.Other...)
	}
	return counted(found)
}

// strays are the files that are not definitions, and that no definition refers to.
func strays(defs []Definition) []Definition {
	isDefinition := func(d Definition) bool { return len(d.Other) == 0 }
	pending := slices.DeleteFunc(slices.Clone(defs), isDefinition)
	if len(pending) == 0 {
		return nil
	}
	used := map[string]bool{}
	for i := range defs {
		for _, file := range otherInputs(defs[i].condensed()) {
			used[file] = true
		}
	}
	return slices.DeleteFunc(pending, func(d Definition) bool { return used[d.File] })
}

// Strays lists the files that are not definitions, and that no definition of the result
// refers to.
func (r *Result) Strays() []string {
	var files []string
	for _, d := range strays(r.Definitions) {
		files = append(files, d.File)
	}
	return files
}

// mostNamed is how many files that look like definitions are named.
const mostNamed = 10

// counted names the first files that look like definitions and counts the rest,
// and makes one note of all notes.
func counted(found []schema.Problem) []schema.Problem {
	var more []schema.Problem
	named := 0
	found = slices.DeleteFunc(found, func(p schema.Problem) bool {
		if p.Rule != schema.RuleLooksLike {
			return false
		}
		if named++; named > mostNamed {
			more = append(more, p)
		}
		return named > mostNamed
	})
	if len(more) > 0 {
		rest := more[0]
		rest.Message = fmt.Sprintf("%d more files look like definitions and are not read; the first of them is %s", len(more), rest.File)
		if len(more) == 1 {
			rest.Message = "1 more file looks like a definition and is not read: " + rest.File
		}
		found = append(found, rest)
	}
	return oneNote(found)
}

// oneNote makes one note of all notes.
func oneNote(found []schema.Problem) []schema.Problem {
	isNote := func(p schema.Problem) bool { return p.Severity == schema.Note }
	first := slices.IndexFunc(found, isNote)
	if first < 0 {
		return found
	}
	note := found[first]
	all := len(found)
	found = slices.DeleteFunc(found, isNote)
	note.Message, note.Hint = "1 file is not a definition: "+note.File, "name it in .gavelignore, or its dialect under dialects: in gavel.yaml"
	if n := all - len(found); n > 1 {
		note.Message = fmt.Sprintf("%d files are not definitions; the first is %s", n, note.File)
		note.Hint = "name them in .gavelignore, or their dialect under dialects: in gavel.yaml"
	}
	return append(found, note)
}

// each spreads work over the processors. A panic of f becomes an error: the loaded
// files are a stranger's, and must not end the process that reads it.
func each(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	const chunk = 64
	group.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += chunk {
		group.Go(func() (err error) {
			defer func() {
				if fault := recover(); fault != nil {
					err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
				}
			}()
			for i := from; i < min(from+chunk, n); i++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(i); err != nil {
					return err
				}
			}
			return ctx.Err() // which may have ended a definition half-way
		})
	}
	return group.Wait()
}

// unique refuses duplicate keys and ids, naming both positions. The
// one that comes first by file and place stays. Keys that only look alike are warned of.
func (l *loader) unique() {
	keys, ids := map[string]schema.Position{}, map[string]schema.Position{}
	var odd []string // keys that are shown in another way than they are written
	for i := range l.out.Definitions {
		d := &l.out.Definitions[i]
		var dropped []int
		for _, id := range d.IDs {
			if first, dup := ids[id.Name]; dup {
				l.problem(id.At, "duplicate-id", fmt.Sprintf("two tests have the id %q", id.Name), "the other is in "+first.String()+"; rename one")
				dropped = append(dropped, id.number)
				continue
			}
			ids[id.Name] = id.At
		}
		d.drop(func(number int, id string, at schema.Position) bool {
			first, dup := keys[id]
			if dup {
				key, _, _ := strings.Cut(id, "\x00")
				l.problem(at, "duplicate-key", fmt.Sprintf("the case %s is defined twice", key), "the other is in "+first.String())
				return true
			}
			keys[id] = at
			if shown(id) != id {
				odd = append(odd, id)
			}
			return slices.Contains(dropped, number)
		})
	}
	l.alike(keys, odd)
}

// alike warns of keys that people cannot tell apart: what they read is the same.
func (l *loader) alike(keys map[string]schema.Position, odd []string) {
	first := map[string]schema.Position{}
	for _, id := range odd {
		read := shown(id)
		other, same := keys[read]
		if !same {
			other, same = first[read]
		}
		if !same {
			first[read] = keys[id]
			continue
		}
		key, _, _ := strings.Cut(id, "\x00")
		l.out.Problems = append(l.out.Problems, schema.Problem{
			Position: keys[id], Severity: schema.Warning, Rule: "alike-key",
			Message: fmt.Sprintf("the case %+q looks like another one, whose name is made of other characters", key),
			Hint:    "rename one of them; the other is in " + other.String(),
		})
	}
}

// shown returns a key as people read it: composed, with one space for white space. The
// separator of its target stays.
func shown(id string) string {
	if !strings.ContainsFunc(id, func(r rune) bool { return r >= utf8.RuneSelf || r != 0 && unicode.IsSpace(r) }) {
		return id
	}
	return strings.Join(strings.Fields(norm.NFC.String(id)), " ")
}

// drop removes cases with their notes.
func (d *Definition) drop(unwanted func(number int, id string, at schema.Position) bool) {
	kept := d.brief[:0]
	for i, c := range d.brief {
		if !unwanted(i, c.id, c.at) {
			kept = append(kept, c)
		}
	}
	d.brief = kept
	cases, notes := d.Cases[:0], d.notes[:0]
	for i, c := range d.Cases {
		if unwanted(i, c.ID(), c.Origin) {
			continue
		}
		cases = append(cases, c)
		if len(d.notes) > 0 {
			notes = append(notes, d.notes[i])
		}
	}
	d.Cases, d.notes = cases, notes
}

func (l *loader) problem(at schema.Position, rule, message, hint string) {
	l.out.Problems = append(l.out.Problems, schema.Problem{Position: at, Severity: schema.Error, Rule: rule, Message: message, Hint: hint})
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
