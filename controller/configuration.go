package controller

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// ConfigurationProblems reports that a valid configuration lacks a target for the
// needs. A missing file is an error if another file was probably meant.
func ConfigurationProblems(fsys fs.FS, file string, cfg *config.Config, needs []load.Need) []schema.Problem {
	if len(cfg.Targets) > 0 {
		return nil
	}
	p := schema.Problem{
		Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Note, Rule: RuleConfig,
		Message: "no targets are configured in " + file + ": gavel run cannot judge anything, and the names of targets in definitions are not checked",
		Hint:    "add them under targets:, such as targets: {bot: {provider: openai, model: …}}",
	}
	if _, err := fs.Stat(fsys, file); err != nil {
		if near := near(fsys, file, cfg.Definitions); near != "" {
			p.File, p.Severity = near, schema.Error
			p.Message = "the file is not read, since the configuration is " + file
			p.Hint = fmt.Sprintf("rename it: git mv %s %s", near, file)
			return []schema.Problem{p}
		}
		p.Message = "no targets are configured in " + file + ": the file does not exist, so that gavel run cannot judge anything and the names of targets in definitions are not checked"
		p.Hint = "run gavel init, which writes it, or write version: 1 and targets: {bot: {provider: openai, model: …}}"
	}
	if len(needs) == 0 {
		return nil // nothing to judge
	}
	return []schema.Problem{p}
}

// HistoryProblems notes that a shallow clone may lack a base. It is not a mistake in a
// definition, so --strict does not make it an error.
func HistoryProblems(repo interface{ Shallow() (bool, error) }) []string {
	if shallow, err := repo.Shallow(); err != nil || !shallow {
		return nil
	}
	return []string{"the clone is shallow, so that gavel run --base may not find the base: run git fetch --unshallow, or set fetch-depth: 0 in the checkout of a CI job"}
}

// Validation lists everything that gavel run would lack for all definitions; wrong are
// the configuration's own problems.
func (r Requirement) Validation(found *load.Snapshot, wrong []schema.Problem) []schema.Problem {
	switch {
	case !schema.HasErrors(wrong):
		needs := found.Needs()
		return append(ConfigurationProblems(r.files, r.file, r.config, needs), r.Problems(needs)...)
	case found.NameTargets():
		return []schema.Problem{invalid(r.file)}
	}
	return nil
}

// invalid reports the checks skipped because the configuration has errors.
func invalid(file string) schema.Problem {
	return schema.Problem{
		Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Note, Rule: "unchecked-names",
		Message: file + " is invalid: whether those that definitions name exist, and take their prompts, images and tools, is not checked",
		Hint:    "correct it first",
	}
}

// maxNear bounds the bytes read to recognize a configuration.
const maxNear = 256 << 10

// near finds a file with a similar name and the look of a configuration, in the
// configuration's folder or in the definitions'; "" without one.
func near(fsys fs.FS, file string, definitions []string) string {
	for _, dir := range append([]string{path.Dir(file)}, definitions...) {
		entries, err := fs.ReadDir(fsys, path.Clean(dir))
		if err != nil {
			continue // a missing folder has no file
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if name != file && e.Type().IsRegular() && namedLike(e.Name(), path.Base(file)) && configures(fsys, name) {
				return name
			}
		}
	}
	return ""
}

// namedLike reports whether a name is the wanted one except for a leading dot,
// capitals, the extension, or a typing error.
func namedLike(name, wanted string) bool {
	name = strings.ToLower(strings.TrimPrefix(name, "."))
	ext := path.Ext(name)
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
		return false
	}
	stem, want := strings.TrimSuffix(name, ext), strings.TrimSuffix(wanted, path.Ext(wanted))
	return stem == want || suggest.Nearest(stem, []string{want}) != ""
}

// configures reports whether a file has a key that every configuration has.
func configures(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	if err != nil || info.Size() > maxNear {
		return false
	}
	doc, _ := document.Open(fsys, name)
	return doc != nil && slices.Contains(doc.Keys(), "targets")
}
