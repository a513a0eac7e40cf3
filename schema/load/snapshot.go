package load

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/skill"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Snapshot describes the definitions of a state of the repository without the cases
// themselves: the files, their cases, the source files of each, and the problems. The
// possible effects of changed files follow from it, so nothing else has to be read.
//
// A Snapshot is read-only and may be shared by goroutines.
type Snapshot struct {
	records  []record // sorted by file
	inputs   [][]string
	asked    []Callee
	problems []schema.Problem // without the problems of the records' other
	names    map[domain.Name]string

	totals Totals
	// loose counts the records with something in other.
	loose int
}

// A record is a Definition in a Snapshot.
type record struct {
	file, dialect string
	cases         []caseRecord
	ids           []string
	// inputs is the set of the files that the cases were built from, this one
	// aside.
	inputs int
	// bad marks a file with errors. The repair is not always in one of
	// its inputs, so it is loaded again with every change.
	bad   bool
	other []schema.Problem
	// why is the reason of the first case that is skipped.
	why string
	// needs are the active cases' needs.
	needs []needRecord
}

type caseRecord struct {
	key     string
	skipped bool
	// listing is the encoded rest of the CaseInfo, and note the note on the case; both
	// are empty without notes.
	listing, note string
}

// Totals count the content of a Snapshot.
type Totals struct {
	Definitions, Cases int
	// Skipped counts the inactive Cases.
	Skipped int
}

// Scan loads all definitions of a repository and keeps only the Snapshot.
func Scan(ctx context.Context, fsys fs.FS, opts Options) (*Snapshot, error) {
	opts.Brief, opts.Files = true, nil
	res, err := Load(ctx, fsys, opts)
	if err != nil {
		return nil, err
	}
	return res.Snapshot(), nil
}

// Snapshot condenses the loaded definitions.
func (r *Result) Snapshot() *Snapshot {
	s := &Snapshot{names: r.Names, problems: r.direct}
	sets, asked := map[string]int{}, map[Callee]int{}
	bad := map[string]bool{}
	for _, p := range r.direct {
		bad[p.File] = bad[p.File] || p.Severity == schema.Error
	}
	s.records = make([]record, 0, len(r.Definitions))
	for i := range r.Definitions {
		d := &r.Definitions[i]
		rec := record{file: d.File, dialect: d.Dialect, other: d.Other, bad: bad[d.File]}
		cases := d.condensed()
		if len(cases) > 0 {
			rec.cases = make([]caseRecord, 0, len(cases))
		}
		for _, c := range cases {
			rec.cases = append(rec.cases, caseRecord{c.key, c.skip != nil, c.listing, c.note})
			if c.skip != nil {
				rec.why = cmp.Or(rec.why, *c.skip)
			}
		}
		for _, id := range d.IDs {
			rec.ids = append(rec.ids, id.Name)
		}
		inputs := otherInputs(cases)
		if suite := r.fragments.Named(d.File); suite != "" {
			inputs = append(inputs, suite) // without whose name for it the file is a definition
		}
		rec.inputs = s.intern(sets, inputs)
		rec.needs = s.needs(asked, cases)
		s.records = append(s.records, rec)
	}
	return s.count()
}

// intern returns the number of a set of files. Most cases share theirs.
func (s *Snapshot) intern(sets map[string]int, files []string) int {
	slices.Sort(files)
	files = slices.Compact(files)
	id := strings.Join(files, "\x00")
	n, known := sets[id]
	if !known {
		n = len(s.inputs)
		sets[id] = n
		s.inputs = append(s.inputs, files)
	}
	return n
}

// Folders returns the folders and files of the repository that affect its definitions,
// besides files that definitions name elsewhere and the folders of skills, see [SkillFolders].
func Folders(settings schema.Settings) []string {
	out := slices.Concat(settings.Definitions, settings.RootFiles, settings.Tools, []string{wildcard.IgnoreFile})
	for _, root := range settings.Definitions {
		out = append(out, path.Join(path.Dir(path.Clean(root)), "tools"))
	}
	return out
}

// Totals counts.
func (s *Snapshot) Totals() Totals { return s.totals }

// count is called when the records are complete.
func (s *Snapshot) count() *Snapshot {
	for i := range s.records {
		s.totals.add(&s.records[i])
		if len(s.records[i].other) > 0 {
			s.loose++
		}
	}
	return s
}

func (t *Totals) add(r *record) {
	if r.dialect == "" {
		return
	}
	t.Definitions++
	t.Cases += len(r.cases)
	for _, c := range r.cases {
		if c.skipped {
			t.Skipped++
		}
	}
}

// A FileSummary is a definition file with the number of its cases.
type FileSummary struct {
	File, Dialect string
	Cases         int
	// Runnable counts the cases that are not skipped, and Skip is the reason of the first
	// of the others.
	Runnable int
	Skip     string
}

// Definitions returns every definition, by file.
func (s *Snapshot) Definitions(yield func(FileSummary) bool) {
	for i := range s.records {
		r := &s.records[i]
		if r.dialect == "" {
			continue
		}
		out := FileSummary{File: r.file, Dialect: r.dialect, Cases: len(r.cases), Skip: r.why}
		for _, c := range r.cases {
			if !c.skipped {
				out.Runnable++
			}
		}
		if !yield(out) {
			return
		}
	}
}

// Problems are all that is wrong, sorted by place.
func (s *Snapshot) Problems() []schema.Problem {
	var pending []schema.Problem
	for r := range s.strays {
		pending = append(pending, r.other...)
	}
	return schema.SortProblems(slices.Concat(s.problems, counted(pending)))
}

// Unmade reports whether a program did not make a part of a definition. Such a snapshot may be
// wrong for the very same files.
func (s *Snapshot) Unmade() bool {
	return slices.ContainsFunc(s.problems, func(p schema.Problem) bool { return p.Rule == schema.RuleNotMade || p.Rule == schema.RuleWaits })
}

// strays are the records of files that are not definitions, and that no definition
// refers to.
func (s *Snapshot) strays(yield func(*record) bool) {
	if s.loose == 0 {
		return
	}
	used := map[string]bool{}
	s.used(used)
	for i := range s.records {
		if r := &s.records[i]; len(r.other) > 0 && !used[r.file] && !yield(r) {
			return
		}
	}
}

// Strays lists the files that are not definitions, and that no definition refers to.
func (s *Snapshot) Strays() []string {
	var files []string
	for r := range s.strays {
		files = append(files, r.file)
	}
	return files
}

// NameTargets reports whether there are definitions of a format that names
// targets.
func (s *Snapshot) NameTargets() bool {
	return slices.ContainsFunc(s.records, func(r record) bool {
		return r.dialect == schema.DialectPromptval || r.dialect == schema.DialectEvalcase
	})
}

// used collects the files that cases were built from.
func (s *Snapshot) used(into map[string]bool) {
	for _, set := range s.inputs {
		for _, file := range set {
			into[file] = true
		}
	}
}

// Outside lists the files in no definitions folder that definitions build on,
// or would build on if they were there.
func (s *Snapshot) Outside(settings schema.Settings) []string {
	found := map[string]bool{}
	for i := range s.records {
		if r := &s.records[i]; r.dialect == schema.DialectSkill {
			found[r.file] = true
		}
	}
	for _, set := range s.inputs {
		for _, file := range set {
			if !slices.ContainsFunc(settings.Definitions, func(dir string) bool { return file == dir || strings.HasPrefix(file, path.Clean(dir)+"/") }) {
				found[file] = true
			}
		}
	}
	return sortedKeys(found)
}

// find returns the record of a file.
func (s *Snapshot) find(file string) (int, bool) {
	return slices.BinarySearchFunc(s.records, file, func(r record, file string) int { return strings.Compare(r.file, file) })
}

// A Change is the effect of changed files on a Snapshot.
type Change struct {
	// Files are all definition files whose cases the change can affect, on
	// either side of it; nil means all.
	Files []string
	// Result are the definitions of these files after the change.
	Result *Result

	before *Snapshot
}

// Update loads everything that changed files can affect. fsys is the state after the
// change, which has the same settings as the state of s.
func (s *Snapshot) Update(ctx context.Context, fsys fs.FS, opts Options, changed []string) (*Change, error) {
	c := &Change{before: s, Files: s.affected(changed, opts.Settings)}
	for _, root := range opts.Settings.Definitions {
		if _, err := fs.Stat(fsys, path.Clean(root)); errors.Is(err, fs.ErrNotExist) {
			c.Files = nil // a missing folder is not a problem of a file
		}
	}
	for {
		opts.Files = c.Files
		res, err := Load(ctx, fsys, opts)
		if err != nil {
			return nil, err
		}
		c.Result = res
		if c.Files == nil {
			return c, nil
		}
		if givenUp(res.Problems) {
			c.Files = nil
			continue
		}
		more := s.entangled(res, c.Files)
		if len(more) == 0 {
			return c, nil
		}
		c.Files = slices.Compact(slices.Sorted(slices.Values(append(more, c.Files...))))
	}
}

// affected lists the definition files that changed files can affect; nil means
// that all are to be loaded.
func (s *Snapshot) affected(changed []string, settings schema.Settings) []string {
	if len(changed) == 0 {
		return []string{}
	}
	if slices.Contains(changed, wildcard.IgnoreFile) || slices.ContainsFunc(changed, unnamed) || slices.ContainsFunc(s.problems, hidesFiles) || givenUp(s.problems) || touchesTools(changed, settings) {
		return nil
	}
	hit := map[string]bool{}
	var folders []string
	files := slices.Clone(changed)
	for _, file := range changed {
		for at := file; ; at = path.Dir(at) {
			if hit[at] = true; at == "." {
				break
			}
		}
		base := path.Base(stem(file))
		if base == "domain" { // it decides about the dialect of everything below
			folders = append(folders, path.Dir(file)+"/")
		}
		// A file may be the suite of the lines next to it, or a test by another
		// name of the same key.
		for _, ext := range extensions {
			if other := stem(file) + ext; other != file {
				files = append(files, other)
			}
		}
		// Checks belong to the definition next to them.
		files = append(append(files, definitionsOf(file)...), stem(file)+checksSuffix)
	}
	files = append(files, s.witnesses(changed, settings)...)
	isSkill := slices.ContainsFunc(changed, func(file string) bool { return path.Base(file) == skill.File })
	sets := make([]bool, len(s.inputs))
	for i, set := range s.inputs {
		sets[i] = slices.ContainsFunc(set, func(file string) bool { return hit[file] })
	}
	for i := range s.records {
		r := &s.records[i]
		// A skill that comes or goes is one more or less for agents to choose from.
		if r.bad || sets[r.inputs] || isSkill && r.dialect == schema.DialectSkill || len(folders) > 0 && slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(r.file, dir) }) {
			files = append(files, r.file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// unnamed reports a name that is not text: such a file is found only by going
// through its folder.
func unnamed(file string) bool { return !fs.ValidPath(file) }

// witnesses returns a file of the domain dialect for every definitions folder
// whose tools are, among other places, in a folder outside where something
// changed: loading it shows whether a name is another tool's now.
func (s *Snapshot) witnesses(changed []string, settings schema.Settings) []string {
	var out []string
	for _, root := range settings.Definitions {
		root = path.Clean(root)
		folders := append([]string{path.Join(path.Dir(root), "tools")}, settings.Tools...)
		if !slices.ContainsFunc(changed, func(file string) bool { return slices.Contains(folders, path.Dir(file)) }) {
			continue
		}
		i := slices.IndexFunc(s.records, func(r record) bool {
			return r.dialect == schema.DialectDomain && strings.HasPrefix(r.file, root+"/")
		})
		if i >= 0 {
			out = append(out, s.records[i].file)
		}
	}
	return out
}

// hidesFiles reports whether a problem hides files.
func hidesFiles(p schema.Problem) bool {
	return slices.Contains([]string{"missing-folder", "unreadable-folder", "too-deep", "too-many-files", "too-many-entries", "too-many-bytes", "too-many-cases"}, p.Rule)
}

// entangled lists the files outside of the loaded ones whose cases changed
// nevertheless: they share a key or an id with a loaded one, or an evaluator or a tool
// now comes from another file.
func (s *Snapshot) entangled(res *Result, loaded []string) []string {
	var keys, ids names
	for _, d := range res.Definitions {
		for _, c := range d.Cases {
			keys.add(c.Key)
		}
		for _, id := range d.IDs {
			ids.add(id.Name)
		}
	}
	roots := s.renamed(res.Names)
	var more []string
	for i := range s.records {
		r := &s.records[i]
		clash := len(roots) > 0 && r.dialect == schema.DialectDomain &&
			slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(r.file, root) })
		for _, c := range r.cases {
			clash = clash || keys.hasName(c.key)
		}
		for _, id := range r.ids {
			clash = clash || ids.hasName(id)
		}
		if !clash {
			continue
		}
		if _, is := slices.BinarySearch(loaded, r.file); !is {
			more = append(more, r.file)
		}
	}
	return more
}

// names is a set that mostly says no, and does so by the length and the end of
// a name: it is asked for every case of the repository.
type names struct {
	set  map[string]bool
	ends [16]uint64
}

func (n *names) add(name string) {
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[name] = true
	word, bit := end(name)
	n.ends[word] |= bit
}

func (n *names) hasName(name string) bool {
	word, bit := end(name)
	return n.ends[word]&bit != 0 && n.set[name]
}

// end places a name by its length and its last letters.
func end(name string) (word int, bit uint64) {
	h := uint(len(name))
	for i := max(0, len(name)-3); i < len(name); i++ {
		h = h*31 + uint(name[i])
	}
	return int(h / 64 % 16), 1 << (h % 64)
}

// renamed lists the folders in which a name means another file than
// before. Folders that were not looked at have no names now.
func (s *Snapshot) renamed(now map[domain.Name]string) []string {
	seen, out := map[string]bool{}, map[string]bool{}
	for name, file := range now {
		seen[name.Root] = true
		if s.names[name] != file {
			out[name.Root+"/"] = true
		}
	}
	for name := range s.names {
		if _, still := now[name]; !still && seen[name.Root] {
			out[name.Root+"/"] = true
		}
	}
	return slices.Collect(maps.Keys(out))
}

// Before counts the affected files' content before the change, so that the rest is the
// difference to the Totals of the Snapshot.
func (c *Change) Before() Totals {
	if c.Files == nil {
		return c.before.Totals()
	}
	var t Totals
	for _, file := range c.Files {
		if i, ok := c.before.find(file); ok {
			t.add(&c.before.records[i])
		}
	}
	return t
}

// Problems are all that is wrong after the change, sorted by place.
func (c *Change) Problems() []schema.Problem {
	if c.Files == nil {
		return c.Result.Problems
	}
	now := c.Result.Snapshot()
	if c.before.loose+now.loose == 0 {
		return schema.SortProblems(c.problems(now))
	}
	return c.Snapshot().Problems()
}

// Strays lists the files that are not definitions after the change, and that no
// definition refers to.
func (c *Change) Strays() []string {
	if c.Files == nil {
		return c.Result.Strays()
	}
	if c.before.loose+c.Result.Snapshot().loose == 0 {
		return nil
	}
	return c.Snapshot().Strays()
}

// problems returns the problems of files that are definitions.
func (c *Change) problems(now *Snapshot) []schema.Problem {
	out := slices.Clone(now.problems)
	for _, p := range c.before.problems {
		if !c.replaced(p.File, now) && !isConstraintProblem(p) {
			out = append(out, p)
		}
	}
	return out
}

// replaced reports whether the old data about a file is invalid.
func (c *Change) replaced(file string, now *Snapshot) bool {
	if _, affected := slices.BinarySearch(c.Files, file); affected {
		return true
	}
	if _, loaded := now.find(file); loaded {
		return true
	}
	return slices.ContainsFunc(definitionsOf(file), func(definition string) bool { return c.replaced(definition, now) })
}

// Snapshot is the state after the change.
func (c *Change) Snapshot() *Snapshot {
	now := c.Result.Snapshot()
	if c.Files == nil {
		return now
	}
	out := &Snapshot{
		names: maps.Clone(c.before.names), inputs: slices.Concat(c.before.inputs, now.inputs),
		problems: c.problems(now),
		records:  make([]record, 0, len(c.before.records)+len(now.records)),
	}
	maps.Copy(out.names, now.names)
	out.asked = now.askLike(c.before.asked)
	rest := now.records
	for _, r := range c.before.records {
		for len(rest) > 0 && rest[0].file < r.file {
			out.moveRecord(&rest, len(c.before.inputs))
		}
		if !c.replaced(r.file, now) {
			out.records = append(out.records, r)
		}
	}
	for len(rest) > 0 {
		out.moveRecord(&rest, len(c.before.inputs))
	}
	return out.count()
}

// moveRecord moves the first record into s, where its sets of inputs are numbered from
// offset on here.
func (s *Snapshot) moveRecord(from *[]record, offset int) {
	r := (*from)[0]
	*from = (*from)[1:]
	r.inputs += offset
	s.records = append(s.records, r)
}
