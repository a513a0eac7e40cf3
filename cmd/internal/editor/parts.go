package editor

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// mostReplaced is how many changed files are loaded without all others.
const mostReplaced = 100

// parts are the definitions of a repository by file.
type catalogParts struct {
	files map[string]part
	// owners are the files that have each key and each id of a test.
	owners map[string]string
	// isClear says that no key and no id is in two places.
	isClear bool
}

// A part is what one file has.
type part struct {
	format string
	names  []string // all keys and ids
}

// newCatalogParts are the parts of everything that was loaded, and the catalog of them.
func newCatalogParts(found *load.Result) (*catalogParts, *catalog) {
	p, out := &catalogParts{files: map[string]part{}, owners: map[string]string{}, isClear: !hasDuplicates(found)}, &catalog{Reader: testcase.NewReader(nil)}
	for i := range found.Definitions {
		d := &found.Definitions[i]
		p.put(d)
		out.Files = append(out.Files, formatFile{d.File, d.Dialect})
		out.Cases = append(out.Cases, casesOf(d)...)
	}
	slices.SortFunc(out.Cases, byKey)
	return p, out
}

func byKey(a, b *schema.CaseInfo) int { return cmp.Compare(a.Key, b.Key) }

// casesOf are the cases of the testcase format.
func casesOf(d *load.Definition) []*schema.CaseInfo {
	var out []*schema.CaseInfo
	for _, c := range d.Cases {
		if c.Dialect == schema.DialectTestcase {
			info := c.CaseInfo
			out = append(out, &info)
		}
	}
	return out
}

// namesOf are the keys and ids that no other file may have.
func namesOf(d *load.Definition) []string {
	var out []string
	for _, c := range d.Cases {
		out = append(out, "key "+c.ID())
	}
	for _, id := range d.IDs {
		out = append(out, "id "+id.Name)
	}
	return out
}

func (p *catalogParts) put(d *load.Definition) {
	made := part{format: d.Dialect, names: namesOf(d)}
	for _, name := range made.names {
		p.owners[name] = d.File
	}
	p.files[d.File] = made
}

func hasDuplicates(found *load.Result) bool {
	return slices.ContainsFunc(found.Problems, func(p schema.Problem) bool { return p.Rule == "duplicate-id" || p.Rule == "duplicate-key" })
}

// isShared reports whether a file says something about its neighbours.
func isShared(file string) bool {
	dir, base := path.Split(file)
	return slices.Contains([]string{"domain", "level"}, strings.TrimSuffix(base, path.Ext(base))) ||
		slices.Contains([]string{"evaluators", "tools"}, path.Base(dir))
}

// isKept reports whether a format is one whose files bear on no case of another file.
func isKept(format string) bool {
	return format == schema.DialectTestcase || format == schema.DialectDomain
}

// replaceable reports whether the changed files are few, and bear on no case of another
// file.
func (p *catalogParts) replaceable(changed []string) bool {
	if p == nil || !p.isClear || len(changed) > mostReplaced {
		return false
	}
	for _, file := range changed {
		_, hasLines := p.files[strings.TrimSuffix(file, path.Ext(file))+".jsonl"]
		old, isKnown := p.files[file]
		switch {
		case !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(file)), !strings.Contains(file, "/"), hasLines,
			isKnown && !isKept(old.format), isShared(file) && !isKnown:
			return false
		}
	}
	return true
}

// replace puts what was loaded of the changed files into the parts, and returns the
// catalog with it. It is nil, and the parts are as they were, where all files have to be
// loaded.
func (p *catalogParts) replace(last *catalog, changed []string, found *load.Result) *catalog {
	var defs []*load.Definition
	isThere := map[string]bool{}
	for i := range found.Definitions {
		if d := &found.Definitions[i]; slices.Contains(changed, d.File) {
			isOther := func(name string) bool {
				owner, taken := p.owners[name]
				return taken && !slices.Contains(changed, owner)
			}
			if !isKept(d.Dialect) || slices.ContainsFunc(namesOf(d), isOther) {
				return nil
			}
			defs, isThere[d.File] = append(defs, d), true
		}
	}
	if hasDuplicates(found) || slices.ContainsFunc(changed, func(file string) bool { return isShared(file) && !isThere[file] }) {
		return nil
	}
	for _, file := range changed {
		for _, name := range p.files[file].names {
			delete(p.owners, name)
		}
		delete(p.files, file)
	}
	out := &catalog{Reader: testcase.NewReader(nil), Files: make([]formatFile, 0, len(last.Files)+len(defs)), Cases: make([]*schema.CaseInfo, 0, len(last.Cases)+len(defs))}
	for _, f := range last.Files {
		if !slices.Contains(changed, f.File) {
			out.Files = append(out.Files, f)
		}
	}
	for _, c := range last.Cases {
		if !slices.Contains(changed, c.Origin.File) {
			out.Cases = append(out.Cases, c)
		}
	}
	for _, d := range defs {
		p.put(d)
		at, _ := slices.BinarySearchFunc(out.Files, d.File, func(f formatFile, file string) int { return cmp.Compare(f.File, file) })
		out.Files = slices.Insert(out.Files, at, formatFile{d.File, d.Dialect})
		out.Cases = append(out.Cases, casesOf(d)...)
	}
	slices.SortFunc(out.Cases, byKey) // nearly in order
	return out
}
