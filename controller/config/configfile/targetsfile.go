package configfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// targetsFile is the path of the file below the folder that it is for.
const targetsFile = ".agentv/targets.yaml"

// maxFile bounds a file.
const maxFile = 1 << 20

// TargetsFilePaths returns where the file may be: in each folder with definitions and in the
// folders above it, the innermost first.
func TargetsFilePaths(definitions []string) []string {
	var dirs []string
	for _, dir := range definitions {
		for dir = path.Clean(dir); dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(a, b))
	})
	var out []string
	for _, dir := range append(slices.Compact(dirs), ".") {
		out = append(out, path.Join(dir, targetsFile))
	}
	return out
}

// AddTargets gives a configuration the targets of the files in a state of the repository. A
// target that gavel.yaml names wins. A target that cannot be used is a problem only if
// a case names it; the returned problems concern whole files. lookup finds the
// variables that c.Environment lists; with nil a target that takes one cannot be used.
// The error says that a file cannot be read.
func AddTargets(fsys fs.FS, c *config.Config, lookup func(string) (string, bool)) ([]schema.Problem, error) {
	r := reader{fsys: fsys, own: c, lookup: lookup, targets: map[string]config.Target{}, unusable: map[string]schema.Problem{}, from: map[string]string{}}
	for _, file := range TargetsFilePaths(c.Definitions) {
		for _, name := range []string{file, path.Join(path.Dir(file), "providers.yaml"), path.Join(path.Dir(file), "config.yaml")} {
			info, err := fs.Stat(fsys, name)
			if err != nil && schema.IsFault(err) {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			data, err := schema.ReadFile(fsys, name, maxFile)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			r.read(name, data)
		}
	}
	byDefault := r.byDefault()
	matrices, suites, err := namingFiles(fsys, c)
	if err != nil {
		return nil, err
	}
	for _, file := range suites {
		r.suite(file)
	}
	r.follow()
	for _, file := range matrices {
		data, err := schema.ReadFile(fsys, file, maxFile)
		if err != nil && schema.IsFault(err) {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if err != nil {
			continue // which is a problem of the definition
		}
		if doc, _ := document.Parse(file, data); doc != nil {
			// The tests in the file are not configuration, so that they do not count.
			if said := r.matrix(doc); len(said) > 0 {
				r.note(file, said)
			}
		}
	}
	if len(r.files) > 0 {
		r.judges()
		c.AddTargets(r.targets, r.unusable, r.files, byDefault)
	}
	return r.problems, nil
}

// byDefault returns the target of tests that name none, once the files of projects are
// read: the one in .agentv/config.yaml, else the one that is called default; empty if
// there is neither. It is returned even if it cannot be used.
func (r *reader) byDefault() string {
	for _, name := range []string{r.standard, "default"} {
		_, own := r.own.Targets[name]
		_, usable := r.targets[name]
		_, unusable := r.unusable[name]
		isLink := slices.ContainsFunc(r.links, func(l link) bool { return l.name == name })
		if name != "" && (own && name == r.standard || usable || unusable || isLink) {
			return name
		}
	}
	return ""
}

// note counts a file among those that were read.
func (r *reader) note(file string, data []byte) {
	sum := sha256.Sum256(data)
	r.files = append(r.files, config.TargetsFile{File: file, Sum: hex.EncodeToString(sum[:])})
}

type reader struct {
	fsys     fs.FS
	said     []byte // the providers of the file of the matrix format that is read
	own      *config.Config
	lookup   func(string) (string, bool)
	files    []config.TargetsFile
	targets  map[string]config.Target
	unusable map[string]schema.Problem
	from     map[string]string // file and form of each target that is read
	judged   []judged
	links    []link
	standard string // the target of tests that name none, from .agentv/config.yaml
	problems []schema.Problem
}

// judged is a target whose replies another one judges.
type judged struct {
	name, judge string
	at          schema.Problem
}

func (r *reader) read(file string, data []byte) {
	doc, problems := document.Parse(file, data)
	isProject := path.Base(file) == "config.yaml" // which has many other fields
	if doc != nil && isProject {
		r.standard = cmp.Or(r.standard, doc.Text("defaults", "provider"))
	}
	list, ok := listed(doc)
	if ok || !isProject {
		r.note(file, data)
	}
	switch {
	case ok:
		r.list(doc, list...)
	case isProject:
		if named, isFile := strings.CutPrefix(doc.Text("providers"), "file://"); isFile {
			r.filedList(doc, named)
		}
	default:
		if doc != nil {
			problems = []schema.Problem{doc.Problem("wrong-type", "`targets` is not a list", "write targets: [{name: …, provider: …}]")}
		}
		problems[0].Severity = schema.Warning // the targets of gavel.yaml are there
		r.problems = append(r.problems, problems[0])
	}
}

// listed returns where a file has its list: at the top level, or under targets or
// providers.
func listed(doc *document.Document) ([]any, bool) {
	switch {
	case doc == nil:
		return nil, false
	case doc.IsList():
		return nil, true
	case doc.IsList("providers"):
		return []any{"providers"}, true
	}
	return []any{"targets"}, doc.IsList("targets")
}

// list takes the targets of a list.
func (r *reader) list(doc *document.Document, at ...any) {
	for i := range doc.Items(at...) {
		r.target(target{Complaints: document.Complaints{Doc: doc}, at: append(slices.Clip(at), i), environment: environment{r.own.Environment, r.lookup}})
	}
}

// outputVersion increases when the output of AgentV's programs is read differently. It
// is in the E of cases whose target is such a program.
const outputVersion = 4

// target takes a target unless gavel.yaml has one with its name. In the folders above
// the definitions the nearest file wins. If there are several folders with definitions,
// two targets that differ are both left out, since a name holds for all folders.
func (r *reader) target(t target) {
	name := t.name()
	_, known := r.own.Targets[name]
	if _, alias := r.own.Aliases[name]; known || alias || name == "" {
		return
	}
	if to := t.linked(); to != "" {
		r.links = append(r.links, link{name, to, t.Doc.Problem("unknown-target", fmt.Sprintf("%q is not a target", to), "add it to this file, or to targets: in gavel.yaml", t.at...), t.Problems})
		return
	}
	form, written := t.form(), name
	raw, err := json.Marshal(map[string]any{"version": 1, "targets": map[string]any{name: form}})
	if err != nil {
		t.Fail("decode", err.Error(), "", t.at...)
	}
	judge := cmp.Or(t.text("judge_target"), t.text("grader_target"))
	before, ok := r.from[name]
	if file, same, _ := strings.Cut(before, "\x00"); ok && t.scoped && same != string(raw)+judge && file != t.Doc.File {
		name = schema.QualifiedTarget(name, t.Doc.File) // for the tests of this file alone
		_, ok = r.from[name]
	}
	if ok {
		if file, same, _ := strings.Cut(before, "\x00"); !t.scoped && same != string(raw)+judge && len(r.own.Definitions) > 1 {
			t.Fail("ambiguous-target", fmt.Sprintf("the target %q is another one in %s", name, file), "write the target in gavel.yaml, which wins", t.path("name")...)
			r.unusable[name] = t.Problems[0]
			delete(r.targets, name)
		}
		return
	}
	r.from[name] = t.Doc.File + "\x00" + string(raw) + judge
	if len(t.Problems) == 0 {
		parsed, problems := config.Parse(t.Doc.File, raw)
		for _, p := range problems {
			if p.Severity == schema.Error {
				t.Fail(p.Rule, p.Message, p.Hint, t.at...)
			}
		}
		read := parsed.Targets[written]
		read.File = t.Doc.File
		if t.isProgram {
			read.OutputVersion = outputVersion
		}
		r.targets[name] = read
	}
	if len(t.Problems) > 0 {
		delete(r.targets, name)
		r.unusable[name] = t.Problems[0]
		return
	}
	if judge != "" {
		r.judged = append(r.judged, judged{name, judge, t.Doc.Problem("unknown-target", fmt.Sprintf("the judge_target %q is not a target", judge),
			"add it to this file, or to targets: in gavel.yaml", t.path(t.either("judge_target", "grader_target"))...)})
	}
}

// judges finds the targets that judge others.
func (r *reader) judges() {
	for _, j := range r.judged {
		judge := cmp.Or(r.own.Aliases[j.judge], j.judge)
		_, own := r.own.Targets[judge]
		_, ok := r.targets[judge]
		if why, bad := r.unusable[judge]; bad {
			r.unusable[j.name] = why
		} else if !own && !ok {
			r.unusable[j.name] = j.at
		}
		if t, there := r.targets[j.name]; there {
			t.JudgeTarget = judge
			r.targets[j.name] = t
		}
	}
	maps.DeleteFunc(r.targets, func(name string, _ config.Target) bool { _, bad := r.unusable[name]; return bad })
}
