package setup

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// configName is the usual name of the configuration.
const configName = "gavel.yaml"

// A Survey lists the findings of [Explore]. An empty field means that nothing was found.
type Survey struct {
	// Config is gavel.yaml if it exists. Misspelt is a file with a similar name, such as
	// gavel.yml.
	Config, Misspelt string
	// Definitions are the files that are read as definitions, sorted by path.
	Definitions []load.FileSummary
	Foreign     []Foreign
	// Unreadable has the first error of each unreadable definition.
	Unreadable []schema.Problem
	// Providers are the sorted names of targets in definitions of the matrix format.
	Providers []string
	// Models are the ones that are models of known vendors.
	Models []Model
	// Prompts are folders that likely have the prompts of an agent.
	Prompts  []string
	APIs     []API
	Packages []Package
	Servers  []Server
}

// SurveyOptions say where to look.
type SurveyOptions struct {
	// Definitions are the folders with definitions. RootFiles are definitions outside of
	// them.
	Definitions, RootFiles []string
	// Ports are asked on loopback; none means that nothing is asked.
	Ports []int
}

// The bounds of a search.
const (
	maxFolders = 2000
	maxDepth   = 5
	maxFile    = 4 << 20
)

// Explore surveys a repository and servers on loopback. It fails only if ctx ends or the
// root of the file system cannot be read.
func Explore(ctx context.Context, fsys fs.FS, opts SurveyOptions) (*Survey, error) {
	out := &Survey{}
	if err := out.root(fsys); err != nil {
		return nil, err
	}
	found, err := load.Scan(ctx, fsys, load.Options{Settings: schema.Settings{Definitions: opts.Definitions, RootFiles: opts.RootFiles, Skills: schema.SkillSettings{Find: true}}})
	if err != nil {
		return nil, err
	}
	out.Unreadable = unreadable(found)
	for d := range found.Definitions {
		if d.Dialect != "" {
			out.Definitions = append(out.Definitions, d)
		}
		if d.Dialect == schema.DialectMatrix {
			out.Providers = append(out.Providers, providers(fsys, d.File)...)
			out.Models = append(out.Models, models(fsys, d.File)...)
		}
	}
	slices.Sort(out.Providers)
	out.Providers = slices.Compact(out.Providers)
	if err := out.walk(ctx, fsys, opts.Definitions); err != nil {
		return nil, err
	}
	out.Foreign = slices.DeleteFunc(out.Foreign, func(f Foreign) bool {
		return slices.ContainsFunc(out.Definitions, func(d load.FileSummary) bool { return d.File == f.File })
	})
	out.Unreadable = slices.DeleteFunc(out.Unreadable, func(p schema.Problem) bool {
		return slices.ContainsFunc(out.Foreign, func(f Foreign) bool { return p.File == f.File })
	})
	out.Servers = probe(ctx, opts.Ports)
	return out, ctx.Err()
}

// unreadable returns the first error of each file that has no format. A missing folder of
// definitions is not an error here, since init makes it.
func unreadable(found *load.Snapshot) []schema.Problem {
	known := map[string]bool{}
	for d := range found.Definitions {
		known[d.File] = d.Dialect != ""
	}
	var out []schema.Problem
	for _, p := range found.Problems() {
		if p.Severity == schema.Error && p.Line > 0 && p.Rule != "missing-folder" && !known[p.File] {
			known[p.File] = true
			out = append(out, p)
		}
	}
	return out
}

// root looks for the configuration.
func (s *Survey) root(fsys fs.FS) error {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := strings.ToLower(e.Name()); {
		case e.Name() == configName:
			s.Config = e.Name()
		case name == configName, name == "gavel.yml", name == ".gavel.yaml", name == ".gavel.yml", name == "gavel.json":
			s.Misspelt = e.Name()
		}
	}
	return nil
}

// walk visits the files of the repository that the survey knows by name.
func (s *Survey) walk(ctx context.Context, fsys fs.FS, definitions []string) error {
	folders := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			folders++
			if folders > maxFolders || name != "." && skipped(name) || slices.Contains(definitions, name) {
				return fs.SkipDir
			}
			return nil
		case d.Type().IsRegular():
			s.file(fsys, name)
		}
		return nil
	})
	return err
}

// skipped reports whether a folder has nothing of the repository's own.
func skipped(name string) bool {
	base := path.Base(name)
	dependencies := []string{"node_modules", "vendor", "venv", "__pycache__", "dist", "build", "target"}
	return strings.Count(name, "/") >= maxDepth || slices.Contains(dependencies, base) ||
		strings.HasPrefix(base, ".") && base != ".agentv"
}

// file looks at one file by its name.
func (s *Survey) file(fsys fs.FS, name string) {
	base := strings.ToLower(path.Base(name))
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch {
	case base == "package.json" || base == "pyproject.toml" || base == "requirements.txt":
		if p, ok := readPackage(fsys, name); ok {
			s.Packages = append(s.Packages, p)
		}
	case stem == "openapi" || stem == "swagger":
		if doc := read(fsys, name); doc != nil {
			s.APIs = append(s.APIs, apisOf(name, doc)...)
		}
	default:
		if f, ok := foreign(fsys, name); ok {
			s.Foreign = append(s.Foreign, f)
		}
	}
}

// read parses a JSON or YAML file into maps and lists. It returns nil for any other file.
func read(fsys fs.FS, name string) map[string]any {
	data, err := schema.ReadFile(fsys, name, maxFile)
	if err != nil {
		return nil
	}
	return parse(data)
}

// parse reads a text as YAML, which JSON is a part of.
func parse(data []byte) map[string]any {
	var doc map[string]any
	if yaml.Unmarshal(data, &doc) != nil {
		return nil
	}
	return doc
}

// own reports whether the definitions of other tools name what they test.
func (s *Survey) own() bool {
	return len(s.Providers) > 0 || slices.ContainsFunc(s.Foreign, func(f Foreign) bool { return f.Configures })
}
