// Package load finds every definition of a repository, tells its dialect, and
// has it compiled to cases.
//
// Most callers want [Load]. A file that cannot be read or is wrong is a
// problem with its place; the rest loads all the same.
package load

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
)

const (
	// maxFiles bounds the definitions of a repository.
	maxFiles = 200_000
	// maxFolders bounds how deep folders are searched.
	maxFolders = 32
)

// Options say what to load.
type Options struct {
	Settings schema.Settings
	// Changed limits loading to the cases that these files can affect; nil
	// loads all.
	Changed []string
}

// A Definition is one file with its cases.
type Definition struct {
	File    string
	Dialect string
	Cases   []*schema.Case
}

// A Result is what was found, sorted by file and by key.
type Result struct {
	Definitions []Definition
	Cases       []*schema.Case
	Problems    []schema.Problem
}

// Load reads the definition folders of a repository. It returns an error only
// when ctx ends or the file system itself fails.
func Load(ctx context.Context, fsys fs.FS, opts Options) (*Result, error) {
	l := &loader{fsys: fsys, opts: opts}
	var err error
	if l.ignore, err = readIgnore(fsys); err != nil {
		return nil, err
	}
	for _, root := range opts.Settings.Definitions {
		if err := l.folder(ctx, path.Clean(root)); err != nil {
			return nil, err
		}
	}
	l.unique()
	slices.SortFunc(l.out.Definitions, func(a, b Definition) int { return cmp.Compare(a.File, b.File) })
	slices.SortFunc(l.out.Cases, func(a, b *schema.Case) int { return cmp.Compare(a.Key, b.Key) })
	l.out.Problems = schema.SortProblems(l.out.Problems)
	return &l.out, nil
}

type loader struct {
	fsys fs.FS
	opts Options
	out  Result

	ignore []ignoreRule
	ids    []domain.Definition // tests with ids, for uniqueness
}

// folder loads one definitions folder.
func (l *loader) folder(ctx context.Context, root string) error {
	found, err := l.walk(ctx, root)
	if err != nil {
		return err
	}
	sorted := sortByDialect(root, found)
	l.out.Problems = append(l.out.Problems, sorted.problems...)
	keyRoot := root
	if len(l.opts.Settings.Definitions) > 1 {
		keyRoot = "."
	}
	res, err := domain.Load(ctx, domain.Source{
		FS: l.fsys, Root: root, KeyRoot: keyRoot, Files: sorted.domain,
		Settings: l.opts.Settings, Want: l.want(root), Each: each,
	})
	if err != nil {
		return err
	}
	l.out.Problems = append(l.out.Problems, res.Problems...)
	for _, d := range res.Definitions {
		def := Definition{File: d.File, Dialect: schema.DialectDomain}
		if d.Case != nil {
			def.Cases = []*schema.Case{d.Case}
			l.out.Cases = append(l.out.Cases, d.Case)
		}
		if d.ID != "" {
			l.ids = append(l.ids, d)
		}
		l.out.Definitions = append(l.out.Definitions, def)
	}
	return nil
}

// want limits the tests to those that the changed files can affect. A file
// that several tests share widens it: a level.json to its level, a domain.json
// to its domain, anything else that is no test to all.
func (l *loader) want(root string) func(string) bool {
	if l.opts.Changed == nil {
		return nil
	}
	exact := map[string]bool{}
	var folders []string
	for _, file := range l.opts.Changed {
		dir, name := path.Split(file)
		dir = path.Clean(dir)
		base := strings.TrimSuffix(name, path.Ext(name))
		switch {
		case base == "domain" || base == "level":
			folders = append(folders, dir+"/")
		case domain.IsLevel(path.Base(dir)):
			exact[file] = true
		case strings.HasPrefix(file, root+"/") || slices.ContainsFunc(l.opts.Settings.Tools, func(t string) bool { return strings.HasPrefix(file, t) }):
			return nil
		default: // a tool beside the folder, a database elsewhere
			return nil
		}
	}
	return func(file string) bool {
		return exact[file] || slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(file, dir) })
	}
}

// each spreads work over the processors.
func each(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	const chunk = 64
	group.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += chunk {
		group.Go(func() error {
			for i := from; i < min(from+chunk, n); i++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// unique refuses keys and ids that stand twice, naming both places.
func (l *loader) unique() {
	byKey := map[string]*schema.Case{}
	slices.SortFunc(l.out.Cases, func(a, b *schema.Case) int { return cmp.Compare(a.Origin.File, b.Origin.File) })
	l.out.Cases = slices.DeleteFunc(l.out.Cases, func(c *schema.Case) bool {
		first, dup := byKey[c.Key]
		if !dup {
			byKey[c.Key] = c
			return false
		}
		l.problem(c.Origin, "duplicate-key", fmt.Sprintf("the case %s is defined twice", c.Key), "the other is in "+first.Origin.String())
		return true
	})
	slices.SortFunc(l.ids, func(a, b domain.Definition) int { return cmp.Compare(a.File, b.File) })
	byID := map[string]domain.Definition{}
	for _, d := range l.ids {
		first, dup := byID[d.ID]
		if !dup {
			byID[d.ID] = d
			continue
		}
		l.problem(d.IDAt, "duplicate-id", fmt.Sprintf("the id %q stands for two tests", d.ID), "the other is in "+first.IDAt.String())
		l.out.Cases = slices.DeleteFunc(l.out.Cases, func(c *schema.Case) bool { return c.Origin.File == d.File })
	}
}

func (l *loader) problem(at schema.Position, rule, message, hint string) {
	l.out.Problems = append(l.out.Problems, schema.Problem{Position: at, Severity: schema.Error, Rule: rule, Message: message, Hint: hint})
}
