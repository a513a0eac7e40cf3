package config

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// check goes through everything that the schema leaves open.
func (k *checker) check() {
	c := k.config
	c.Definitions, c.Listed = k.folders("definitions", c.Definitions), k.Doc.IsList("definitions")
	c.Tools = k.folders("tools", c.Tools)
	k.wait("defaults", "timeout")
	k.duration("reuse", "max_age")
	k.references()
	for _, name := range slices.Sorted(maps.Keys(c.Targets)) {
		k.target(c.Targets[name])
	}
	k.gate()
	k.noise()
	k.passShares()
	k.quarantine()
	k.skills()
	for i, n := range c.Notify {
		k.variable(n.Variable, "notify", i, "url_env")
	}
	k.budget()
	for i, glob := range c.ProgramInputs {
		if k.glob(glob, "programs", "inputs", i); k.inside(glob, "programs", "inputs", i) && strings.Contains(glob, `\`) {
			k.Fail("path-backslash", fmt.Sprintf("%q has a backslash, which separates no folders here", glob), "write "+strings.ReplaceAll(glob, `\`, "/"), "programs", "inputs", i)
		}
	}
	for _, pin := range c.Dialects {
		k.glob(pin.Glob, "dialects", pin.Glob)
	}
}

// references demands that every name of a target means one.
func (k *checker) references() {
	c := k.config
	k.reference(c.DefaultTarget, "default_target")
	if agents := c.agents(); c.DefaultTarget == "" && len(agents) > 1 {
		k.Fail("missing-field", "`default_target` is missing and there are several targets",
			"add default_target: "+agents[0], "targets")
	}
	k.reference(c.Roles.Judge, "roles", "judge")
	k.reference(c.Roles.Simulator, "roles", "simulator")
	k.reference(c.Roles.Extractor, "roles", "extractor")
	k.reference(c.Roles.Embedder, "roles", "embedder")
	k.reference(c.Roles.Classifier, "roles", "classifier")
	k.reference(c.Roles.Moderator, "roles", "moderator")
	for model, name := range c.Roles.Editors {
		k.reference(name, "roles", "editors", model)
	}
	for alias, name := range c.Aliases {
		k.reference(name, "aliases", alias)
		if _, hides := c.Targets[alias]; hides {
			k.Fail("ambiguous-name", fmt.Sprintf("%q is a target and an alias", alias), "rename the alias", "aliases", alias)
		}
	}
}

func (k *checker) reference(name string, where ...any) {
	if _, ok := k.config.Targets[name]; ok || name == "" {
		return
	}
	hint := suggest.DidYouMean(name, k.names())
	switch {
	case hint != "":
	case len(k.config.Targets) == 0:
		hint = "add it under targets"
	default:
		hint = "there are " + strings.Join(k.names(), ", ")
	}
	k.Fail("unknown-target", fmt.Sprintf("unknown target %q", name), hint, where...)
}

func (k *checker) names() []string { return slices.Sorted(maps.Keys(k.config.Targets)) }

func (k *checker) gate() {
	g := k.config.Gate
	if g.FailOn == "threshold" && g.MinScore == nil && g.MaxDrop == nil {
		k.Fail("missing-field", "`fail_on: threshold` needs a threshold", "add min_score or max_drop next to it", "gate", "fail_on")
	}
	for _, name := range shares {
		k.percent("gate", name)
	}
	for i, glob := range g.Required {
		k.glob(glob, "gate", "required", i)
	}
}

// budget refuses limits in money that could not be kept.
func (k *checker) budget() {
	b := k.config.Budget
	k.money(b.Limits, "budget", "usd")
	k.money(b.PullRequest, "budget", "pull_request", "usd")
	k.money(b.Day, "budget", "day", "usd")
}

func (k *checker) money(l Limits, where ...any) {
	if l.USD == nil {
		return
	}
	for _, name := range k.names() {
		t := k.config.Targets[name]
		if t.Price == nil && t.Provider != Replay && t.Provider != Mock {
			k.Fail("unknown-price", fmt.Sprintf("a budget in usd cannot be kept: target %q has no price", name),
				"add price: {input: …, output: …} to the target, or limit calls or tokens", where...)
		}
	}
}

// folders demands folders of the repository, none inside another, and returns those
// that are inside it. A folder may be named twice.
func (k *checker) folders(field string, dirs []string) []string {
	var good []string
	for i, dir := range dirs {
		at := []any{field, i}
		if k.Doc.Text(field) != "" {
			at = at[:1]
		}
		overlaps := slices.IndexFunc(good, func(other string) bool { return isWithin(dir, other) || isWithin(other, dir) })
		switch {
		case strings.Contains(dir, `\`):
			k.Fail("path-backslash", fmt.Sprintf("%q has a backslash, which separates no folders here", dir), "write "+strings.ReplaceAll(dir, `\`, "/"), at...)
		case !k.inside(dir, at...), slices.Contains(good, dir):
		case overlaps >= 0:
			k.Fail("overlapping-folders", fmt.Sprintf("%s and %s overlap", good[overlaps], dir), "name each folder once", at...)
		default:
			good = append(good, dir)
		}
	}
	return good
}

// isWithin reports whether a folder is the other one or is in it.
func isWithin(dir, other string) bool {
	return other == "." || dir == other || strings.HasPrefix(dir, other+"/")
}

// inside demands a path that does not leave the repository.
func (k *checker) inside(name string, where ...any) bool {
	isInside := fs.ValidPath(path.Clean(name))
	if !isInside {
		k.Fail("path-escapes", fmt.Sprintf("%q is outside of the repository", name), "write it relative to the repository root", where...)
	}
	return isInside
}

func (k *checker) glob(pattern string, where ...any) {
	if len(pattern) > wildcard.MaxPattern {
		k.Fail("bad-glob", fmt.Sprintf("the glob has %d bytes; it may have %d", len(pattern), wildcard.MaxPattern), "shorten it", where...)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		k.Fail("bad-glob", fmt.Sprintf("the glob %q is malformed", pattern), "close every [ and escape with \\", where...)
	}
}

// duration demands a time above zero with a unit, and returns it.
func (k *checker) duration(where ...any) time.Duration {
	if !k.Doc.Has(where...) {
		return 0
	}
	text := k.Doc.Text(where...)
	d, err := ParseDuration(text)
	if err != nil || d <= 0 {
		k.Fail("bad-duration", fmt.Sprintf("`%s` is %q, which is not a duration", where[len(where)-1], text),
			"write it with a unit, such as 60s, 5m, 12h or 30d", where...)
		return 0
	}
	return d
}

// longestWait is the longest that one sample may wait. The formats also limit timeouts
// to a day, since nobody waits longer for an answer.
const longestWait = 24 * time.Hour

// wait demands a duration that somebody can wait for.
func (k *checker) wait(where ...any) {
	if k.duration(where...) > longestWait {
		k.Fail("too-long", fmt.Sprintf("`%s` is %s; it must be at most 24h", where[len(where)-1], k.Doc.Text(where...)),
			"write 24h or less", where...)
	}
}
