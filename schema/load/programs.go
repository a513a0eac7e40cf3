package load

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/program"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// Programs returns a finder of programs' source files in a state of the repository. The
// error is about reading .gavelignore.
func Programs(fsys fs.FS, settings schema.Settings) (*program.Finder, error) {
	rules, err := wildcard.ReadIgnore(fsys)
	return programs(fsys, settings, rules), err
}

func programs(fsys fs.FS, settings schema.Settings, rules wildcard.IgnoreRules) *program.Finder {
	r := &reads{fsys: fsys, settings: settings, ignore: rules, domains: map[string]bool{}}
	finder := &program.Finder{FS: fsys, Inputs: settings.ProgramInputs, Skip: r.noPart}
	for _, root := range settings.Definitions {
		finder.Definitions = append(finder.Definitions, path.Clean(root))
	}
	return finder
}

// reads knows which files are read as definitions.
type reads struct {
	fsys     fs.FS
	settings schema.Settings
	ignore   wildcard.IgnoreRules

	mu      sync.Mutex
	domains map[string]bool // by folder: whether a domain has it
}

// own are folders that never belong to a program, and cached are Python's cache files.
var own = []string{".gavel", ".github", ".git"}

const cached = "__pycache__"

// noPart reports whether a nearby file or folder never belongs to a program.
func (r *reads) noPart(name string, isFolder bool) bool {
	if slices.Contains(own, name) || path.Base(name) == cached || path.Base(path.Dir(name)) == cached || name == wildcard.IgnoreFile || name == configFile || name == r.settings.ConfigFile {
		return true
	}
	if r.ignore.Exclude(wildcard.Path{Name: name, IsFolder: isFolder}) || r.ignore.ExcludeAbove(name) {
		return true
	}
	return !isFolder && r.isDefinition(name)
}

// isDefinition reports whether a file is read as a definition, or by its name as a part
// of definitions.
func (r *reads) isDefinition(name string) bool {
	if slices.Contains(r.settings.RootFiles, name) {
		return true
	}
	root, is := r.rootOf(name)
	if !is || !slices.Contains(extensions, path.Ext(name)) || isNone(path.Base(name)) {
		return false
	}
	dir := path.Dir(name)
	byPlace := path.Ext(name) == ".cue" || strings.HasSuffix(name, checksSuffix) || dir == path.Join(root, "evaluators") || dir == path.Join(root, "tools") ||
		domain.IsLevel(path.Base(dir)) || pinned(r.settings.Dialects, name) != "" || r.ofDomain(dir, root)
	return byPlace || r.holdsTests(name)
}

// rootOf is the definitions folder that a file is in.
func (r *reads) rootOf(name string) (root string, is bool) {
	for _, root := range r.settings.Definitions {
		if root = path.Clean(root); root == "." || strings.HasPrefix(name, root+"/") {
			return root, true
		}
	}
	for _, dir := range r.settings.Tools {
		if path.Dir(name) == path.Clean(dir) {
			return path.Dir(name), true
		}
	}
	return "", false
}

// ofDomain reports whether a folder belongs to a domain.
func (r *reads) ofDomain(dir, root string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; len(dir) >= len(root) && dir != "."; dir = path.Dir(dir) {
		known, asked := r.domains[dir]
		if !asked {
			known = slices.ContainsFunc(extensions, func(ext string) bool { return exists(r.fsys, path.Join(dir, "domain"+ext)) })
			r.domains[dir] = known
		}
		if known {
			return true
		}
	}
	return false
}

// holdsTests reports whether a file is a definition by its content. One with a mistake for
// which it is not read counts as one: somebody is writing it.
func (r *reads) holdsTests(name string) bool {
	if slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)) && exists(r.fsys, stem(name)+".jsonl") {
		return true // the suite of the lines next to it
	}
	hash, err := program.Hash(r.fsys, name)
	if err != nil {
		return true // gone: where it was a part of a program, the other side of a change knows
	}
	key := form{hash, path.Ext(name)}
	if is, known := forms.get(key); known {
		return is
	}
	doc, problems := document.Open(r.fsys, name)
	is := doc == nil && len(problems) > 0
	if doc != nil {
		is = Detect(doc) != "" || len(misfit(doc, "")) > 0
	}
	forms.put(key, is)
	return is
}

// isNone reports whether a file is never a definition, by its name.
func isNone(base string) bool {
	return strings.HasPrefix(base, ".") || base == "package.json" || strings.HasPrefix(base, "tsconfig") || strings.HasSuffix(base, "_output.json") ||
		strings.HasSuffix(base, ".baseline.jsonl") || strings.HasSuffix(base, ".candidate.jsonl")
}

// A form has the facts that decide whether a file is a definition by its content.
type form struct{ hash, ext string }

// forms caches the forms of contents.
var forms = formCache{most: 100_000}

type formCache struct {
	most  int
	mu    sync.Mutex
	known map[form]bool
}

func (c *formCache) get(f form) (is, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is, known = c.known[f]
	return is, known
}

func (c *formCache) put(f form, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= c.most {
		c.known = map[form]bool{}
	}
	c.known[f] = is
}

// separate takes the files that a definition itself reads out of the programs around them:
// an edited prompt, row or document reruns the cases that are sent it.
func separate(cases []*schema.Case) {
	read := map[string]bool{}
	for _, c := range cases {
		for _, in := range c.Inputs {
			if in.Role != "program" && in.Role != "workspace" && program.Language(in.File) == nil {
				read[in.File] = true
			}
		}
	}
	done := map[*schema.ProgramFiles]bool{}
	for _, c := range cases {
		for _, b := range evaluator.Builds(c) {
			if b == nil || done[b] {
				continue
			}
			done[b] = true
			b.Leave(read)
		}
	}
}
