package controller

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A Filter says which cases a request is about. An empty list admits all.
type Filter struct {
	Keys         []string // globs
	Tags         []string
	Difficulties []string
	Domains      []string
	Levels       []string
}

// Func gives the filter as a function, nil when everything is admitted.
func (f Filter) Func() func(*schema.Case) bool {
	if len(f.Keys)+len(f.Tags)+len(f.Difficulties)+len(f.Domains)+len(f.Levels) == 0 {
		return nil
	}
	return func(c *schema.Case) bool {
		return matchesKey(f.Keys, c.Key) &&
			sharesOne(f.Tags, c.Labels.Tags) &&
			sharesOne(f.Difficulties, []string{c.Labels.Difficulty}) &&
			sharesOne(f.Domains, group(c, 0)) &&
			sharesOne(f.Levels, group(c, 1))
	}
}

// matchesKey lets a glob also name the folder that a case lies in.
func matchesKey(globs []string, key string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool {
		glob = strings.TrimSuffix(glob, "/")
		return schema.MatchGlob(glob, key) || schema.MatchGlob(glob+"/**", key)
	})
}

func sharesOne(wanted, has []string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(has, w) })
}

// group is the i-th group of a case of the domain dialect.
func group(c *schema.Case, i int) []string {
	if c.Dialect != schema.DialectDomain || i >= len(c.Labels.Groups) {
		return nil
	}
	return c.Labels.Groups[i : i+1]
}
