package controller

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/testcase"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A CaseFilter selects cases. An empty list admits all.
type CaseFilter struct {
	// Keys are globs of keys, or of paths from Folder: a file or a folder selects its
	// cases.
	Keys []string
	// Folder is relative to the repository root; empty for the root itself.
	Folder       string
	Tags         []string
	Difficulties []string
	Domains      []string
	Levels       []string
	// Statuses also activate the cases that they name, see [withStatus].
	Statuses []string
}

// labels are the filtered labels besides keys, in the order of CaseFilter's fields.
var labels = [...]struct {
	name string
	of   func(*schema.CaseInfo) []string
}{
	{"tag", func(c *schema.CaseInfo) []string { return c.Labels.Tags }},
	{"difficulty", func(c *schema.CaseInfo) []string { return []string{c.Labels.Difficulty} }},
	{"domain", func(c *schema.CaseInfo) []string { return groupOf(c, 0) }},
	{"level", func(c *schema.CaseInfo) []string { return groupOf(c, 1) }},
	{"status", func(c *schema.CaseInfo) []string { return []string{cmp.Or(c.Labels.Status, statusActive)} }},
}

// A Choice is a CaseFilter in use. It remembers the properties of the cases that it has
// seen, to find names that match none. It is not safe for concurrent use.
type Choice struct {
	keys   []string
	folder string
	// met are the keys that a case has.
	met    map[string]bool
	wanted [len(labels)][]string
	// had are the cases' names, hadKeys their keys.
	had     [len(labels)]map[string]bool
	hadKeys map[string]bool
	// lacking counts the cases of dialects without a label, by dialect.
	lacking [len(labels)]map[string]map[string]bool
}

// Choose returns a Choice for the filter.
func (f CaseFilter) Choose() *Choice {
	c := &Choice{keys: f.Keys, folder: f.Folder, met: map[string]bool{}, wanted: [...][]string{f.Tags, f.Difficulties, f.Domains, f.Levels, f.Statuses}, hadKeys: map[string]bool{}}
	for i := range c.had {
		c.had[i], c.lacking[i] = map[string]bool{}, map[string]map[string]bool{}
	}
	return c
}

// Func returns the filter as a function, nil if everything is admitted.
func (c *Choice) Func() func(*schema.CaseInfo) bool {
	if len(c.keys)+len(slices.Concat(c.wanted[:]...)) == 0 {
		return nil
	}
	return func(tc *schema.CaseInfo) bool {
		c.hadKeys[tc.Key] = true
		admitted := len(c.keys) == 0
		for _, glob := range c.keys {
			if nameMatches(glob, c.folder, tc) {
				admitted, c.met[glob] = true, true
			}
		}
		for i, label := range labels {
			has := label.of(tc)
			if admitted && !sharesOne(c.wanted[i], has) && tc.Traits().LacksLabel(label.name) {
				if c.lacking[i][tc.Dialect] == nil {
					c.lacking[i][tc.Dialect] = map[string]bool{}
				}
				c.lacking[i][tc.Dialect][tc.Key] = true
			}
			for _, name := range has {
				c.had[i][name] = true
			}
			admitted = admitted && sharesOne(c.wanted[i], has)
		}
		return admitted
	}
}

// Unmatched returns a line, with a suggestion, per name or glob that matched no case.
// Lines of globs that isPath reports to be files or folders are in empty if another
// glob matches a case, all others in wrong.
func (c *Choice) Unmatched(isPath func(glob string) bool) (wrong, empty []string) {
	keys := slices.Sorted(maps.Keys(c.hadKeys))
	for _, glob := range c.keys {
		line := ""
		switch {
		case c.met[glob]:
			continue
		case isFileGlob(glob):
			line = fmt.Sprintf("no case is in the file %q%s", glob, nearKey(strings.TrimSuffix(glob, path.Ext(glob)), keys))
		default:
			line = fmt.Sprintf("no case has a key like %q%s", glob, nearKey(glob, keys))
		}
		if len(c.met) > 0 && isPath(glob) {
			empty = append(empty, line)
			continue
		}
		wrong = append(wrong, line)
	}
	return append(wrong, c.unlabeled()...), empty
}

// unlabeled returns a line per name of a label that no case has.
func (c *Choice) unlabeled() []string {
	var out []string
	for i, label := range labels {
		known := slices.Sorted(maps.Keys(c.had[i]))
		for _, name := range c.wanted[i] {
			if !c.had[i][name] {
				out = append(out, fmt.Sprintf("--%s: no case has the %s %q%s", label.name, label.name, name, nearTag(label.name, name, known)))
			}
		}
	}
	return out
}

// Lacking returns a line per requested label that formats of the cases do not have:
// their cases are left out.
func (c *Choice) Lacking() []string {
	var out []string
	for i, label := range labels {
		for _, dialect := range slices.Sorted(maps.Keys(c.lacking[i])) {
			n := len(c.lacking[i][dialect])
			out = append(out, fmt.Sprintf("--%s leaves out the %d %s of the %s format, which does not have a %s", label.name, n, pluralOf(n), dialect, label.name))
		}
	}
	return out
}

func pluralOf(n int) string {
	if n == 1 {
		return "case"
	}
	return "cases"
}

// nearTag completes a line about a label with a similar name, or with the known ones.
// Unused tags are suggested if the format knows them.
func nearTag(label, name string, known []string) string {
	if meant := suggest.DidYouMean(name, testcase.Tags()); meant != "" && label == "tag" {
		return "; " + cmp.Or(suggest.DidYouMean(name, known), meant)
	}
	return nearName(name, known)
}

// MatchNames returns a function that reports whether one of the globs matches a case: those
// of CaseFilter.Keys, from a folder. It is safe for concurrent use.
func MatchNames(globs []string, folder string) func(*schema.CaseInfo) bool {
	return func(tc *schema.CaseInfo) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return nameMatches(glob, folder, tc) })
	}
}

func nameMatches(glob, folder string, tc *schema.CaseInfo) bool {
	return matchesKey(glob, tc.Key) || MatchesFile(path.Join(folder, glob), tc.Origin.File)
}

// matchesKey lets a glob also name the folder or the file of a case.
func matchesKey(glob, key string) bool {
	glob = strings.TrimSuffix(glob, "/")
	return wildcard.Match(glob, key) || wildcard.Match(glob+"/**", key) || !strings.Contains(glob, "#") && wildcard.Match(glob+"#*", key)
}

// MatchesFile reports whether a glob of paths selects the cases of a file: it is the
// file, a folder above, the checks next to it, or the domain.json or level.json that
// applies to it. Both are relative to the repository root.
func MatchesFile(glob, file string) bool {
	glob = path.Clean(glob)
	base := strings.TrimSuffix(path.Base(glob), path.Ext(glob))
	stem, isChecks := strings.CutSuffix(strings.TrimSuffix(glob, path.Ext(glob)), ".checks")
	switch {
	case glob == ".":
		return true
	case isChecks:
		return stem == strings.TrimSuffix(file, path.Ext(file))
	case isFileGlob(glob) && (base == "domain" || base == "level"):
		return wildcard.Match(path.Dir(glob)+"/**", file)
	}
	return wildcard.Match(glob, file) || wildcard.Match(glob+"/**", file)
}

// isFileGlob reports whether a glob looks like the path of a definition.
func isFileGlob(glob string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml", ".jsonl", ".cue"}, path.Ext(glob))
}

// nearName completes a line with a similar name, or with the known ones.
func nearName(name string, known []string) string {
	known = slices.DeleteFunc(known, func(s string) bool { return s == "" })
	_, err := strconv.Atoi(name) // levels have no similar names
	if near := suggest.DidYouMean(name, known); near != "" && err != nil {
		return "; " + near
	}
	const most = 8
	switch {
	case len(known) == 0:
		return "; none has any"
	case len(known) > most:
		return fmt.Sprintf("; there are %s and %d more", strings.Join(known[:most], ", "), len(known)-most)
	}
	return "; there are " + strings.Join(known, ", ")
}

// nearKey finds a key, a file, a folder, or the last part of one, similar to the part
// of a glob before its wildcards.
func nearKey(glob string, keys []string) string {
	literal := strings.TrimRight(glob, "*/")
	meant := map[string]string{} // suggestion by similar name
	var folders []string
	for _, key := range keys {
		first, _, _ := strings.Cut(key, "/")
		folders = append(folders, first)
		file, local, isLocal := strings.Cut(key, "#")
		if isLocal {
			meant[key], meant[local] = key, key
			key = file + "#*"
		}
		if !strings.Contains(glob, "#") {
			meant[file], meant[path.Base(file)] = key, key
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			meant[dir], meant[path.Base(dir)] = dir, dir
		}
	}
	near := meant[literal]
	if near == "" {
		near = meant[suggest.Nearest(literal, slices.Collect(maps.Keys(meant)))]
	}
	if near == "" {
		return nearName(glob, slices.Compact(folders))
	}
	if !strings.HasSuffix(near, "*") {
		near += glob[len(literal):]
	}
	return fmt.Sprintf("; did you mean `%s`?", near)
}

func sharesOne(wanted, has []string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(has, w) })
}

// groupOf returns the i-th group of a case of the domain dialect.
func groupOf(c *schema.CaseInfo, i int) []string {
	if !c.Traits().Levels || i >= len(c.Labels.Groups) {
		return nil
	}
	return c.Labels.Groups[i : i+1]
}

// statusActive is the status of the cases that run.
const statusActive = "active"

// withStatus keeps the cases with one of the statuses and activates them. A dialect
// without statuses has running cases and disabled ones, which no status activates.
func withStatus(cases []*schema.Case, statuses []string) []*schema.Case {
	var kept []*schema.Case
	for _, c := range cases {
		status := c.Labels.Status
		if status == "" && c.Skip == "" {
			status = statusActive
		}
		if !slices.Contains(statuses, status) {
			continue
		}
		if c.Skip != "" {
			awake := *c
			awake.Skip = ""
			c = &awake
		}
		kept = append(kept, c)
	}
	return kept
}

// withSamples returns the cases with another number of samples.
func withSamples(cases []*schema.Case, samples int) []*schema.Case {
	out := make([]*schema.Case, len(cases))
	for i, c := range cases {
		one := *c
		one.Policy.Iterations = samples
		out[i] = &one
	}
	return out
}
