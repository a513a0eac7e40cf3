// Package targetsfile reads the targets that a repository has in the file of the
// evalcase format, .agentv/targets.yaml, and that gavel.yaml does not name.
//
// Most callers want [Add]. The files are configuration: callers hand Add the state
// of the repository that decides.
package targetsfile

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
)

// Name is the path of the file below the folder that it is for.
const Name = ".agentv/targets.yaml"

// maxFile bounds a file.
const maxFile = 1 << 20

// Paths are where the file may be: in each folder with definitions and in those
// above it, the innermost first.
func Paths(definitions []string) []string {
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
		out = append(out, path.Join(dir, Name))
	}
	return out
}

// Add gives a configuration the targets of the files in a state of the repository. A
// target that gavel.yaml names wins. A target that cannot be used is a problem only
// where a case names it; what is returned is wrong with a whole file. lookup finds the
// variables that c.Environment lists; with nil a target that takes one cannot be used.
// The error is that of a file that cannot be read.
func Add(fsys fs.FS, c *config.Config, lookup func(string) (string, bool)) ([]schema.Problem, error) {
	r := reader{fsys: fsys, own: c, lookup: lookup, targets: map[string]config.Target{}, unusable: map[string]schema.Problem{}, from: map[string]string{}}
	for _, file := range Paths(c.Definitions) {
		for _, name := range []string{file, path.Join(path.Dir(file), "providers.yaml")} {
			if info, err := fs.Stat(fsys, name); err != nil || !info.Mode().IsRegular() {
				continue
			}
			data, err := schema.ReadFile(fsys, name, maxFile)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			r.note(name, data)
			r.read(name, data)
		}
	}
	for _, file := range matrixFiles(fsys, c) {
		data, err := schema.ReadFile(fsys, file, maxFile)
		if err != nil {
			continue // which is a problem of the definition
		}
		if doc, _ := schema.Parse(file, data); doc != nil {
			// The tests in the file are not configuration, so that they do not count.
			if said := r.matrix(doc); len(said) > 0 {
				r.note(file, said)
			}
		}
	}
	if len(r.files) > 0 {
		r.judges()
		c.AddTargets(r.targets, r.unusable, r.files)
	}
	return r.problems, nil
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
	problems []schema.Problem
}

// judged is a target whose replies another one judges.
type judged struct {
	name, judge string
	at          schema.Problem
}

func (r *reader) read(file string, data []byte) {
	doc, problems := schema.Parse(file, data)
	list := "targets"
	if doc != nil && doc.IsList("providers") {
		list = "providers"
	}
	if doc == nil || !doc.IsList(list) {
		if doc != nil {
			problems = []schema.Problem{doc.Problem("wrong-type", "`targets` is not a list", "write targets: [{name: …, provider: …}]")}
		}
		problems[0].Severity = schema.Warning // the targets of gavel.yaml are there
		r.problems = append(r.problems, problems[0])
		return
	}
	for i := range doc.Items(list) {
		r.target(target{Complaints: schema.Complaints{Doc: doc}, at: []any{list, i}, environment: environment{r.own.Environment, r.lookup}})
	}
}

// target takes a target unless gavel.yaml has one of its name. In the folders above
// the definitions the nearest file wins. Where there are several folders with
// definitions, two targets that differ are not taken, since a name is for all of them.
func (r *reader) target(t target) {
	name := cmp.Or(t.text("name"), t.text("label"), t.text("id"))
	_, known := r.own.Targets[name]
	if _, alias := r.own.Aliases[name]; known || alias || name == "" {
		return
	}
	form := t.form()
	raw, err := json.Marshal(map[string]any{"version": 1, "targets": map[string]any{name: form}})
	if err != nil {
		t.Fail("decode", err.Error(), "", t.at...)
	}
	if before, ok := r.from[name]; ok {
		if file, same, _ := strings.Cut(before, "\x00"); same != string(raw)+t.text("judge_target") && len(r.own.Definitions) > 1 {
			t.Fail("ambiguous-target", fmt.Sprintf("the target %q is another one in %s", name, file), "write the target in gavel.yaml, which wins", t.path("name")...)
			r.unusable[name] = t.Problems[0]
			delete(r.targets, name)
		}
		return
	}
	r.from[name] = t.Doc.File + "\x00" + string(raw) + t.text("judge_target")
	if len(t.Problems) == 0 {
		parsed, problems := config.Parse(t.Doc.File, raw)
		for _, p := range problems {
			if p.Severity == schema.Error {
				t.Fail(p.Rule, p.Message, p.Hint, t.at...)
			}
		}
		read := parsed.Targets[name]
		read.File = t.Doc.File
		r.targets[name] = read
	}
	if len(t.Problems) > 0 {
		delete(r.targets, name)
		r.unusable[name] = t.Problems[0]
		return
	}
	if judge := t.text("judge_target"); judge != "" {
		r.judged = append(r.judged, judged{name, judge, t.Doc.Problem("unknown-target", fmt.Sprintf("the judge_target %q is not a target", judge),
			"add it to this file, or to targets: in gavel.yaml", t.path("judge_target")...)})
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
