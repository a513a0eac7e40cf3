package load

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// offersTools reports whether a target brings tools for its cases.
func offersTools(settings schema.Settings) bool {
	for _, t := range settings.Targets {
		if len(t.Tools) > 0 {
			return true
		}
	}
	return false
}

// touchesTools reports whether a change can bear on the tools of targets. They
// are in every case, so that all is loaded then.
func touchesTools(changed []string, settings schema.Settings) bool {
	if !offersTools(settings) {
		return false
	}
	var folders []string
	for _, root := range settings.Definitions {
		folders = append(folders, path.Join(root, "tools"), path.Join(path.Dir(path.Clean(root)), "tools"))
	}
	for _, dir := range settings.Tools {
		folders = append(folders, path.Clean(dir))
	}
	return slices.ContainsFunc(changed, func(file string) bool { return slices.Contains(folders, path.Dir(file)) })
}

// offer returns a case the tools of its target that it does not bring itself.
func offer(c *schema.Case, src document.Source, tools map[string]domain.Tool) {
	ids := src.Settings.Targets[cmp.Or(c.Target, src.Settings.DefaultTarget)].Tools
	for _, id := range ids {
		tool, ok := tools[id]
		if !ok {
			c.Inputs = append(c.Inputs, schema.Input{File: path.Join(src.Root, "tools", id+".json"), Role: "tool", Absent: true})
			continue
		}
		c.Inputs = append(c.Inputs, schema.Input{File: tool.File, Role: "tool"})
		if !slices.ContainsFunc(c.Tools, func(own schema.Tool) bool { return own.Name == tool.Name }) {
			c.Tools = append(c.Tools, tool.Tool)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.SortFunc(c.Tools, func(a, b schema.Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.Inputs, func(a, b schema.Input) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Role, b.Role)) })
	c.Inputs = slices.Compact(c.Inputs)
}

// equip gives the cases of a definition the prompt and the tools of their targets.
// It leaves out those that no target serves.
func (l *loader) equip(def *Definition, src document.Source, tools map[string]domain.Tool) []schema.Problem {
	var problems []schema.Problem
	def.Cases = slices.DeleteFunc(def.Cases, func(c *schema.Case) bool {
		l.prompts.Give(c)
		offer(c, src, tools)
		p, lacks := unserved(c, src.Settings)
		if lacks {
			problems = append(problems, p)
		}
		return lacks && p.Severity == schema.Error
	})
	def.IDs = identities(def.Cases)
	return problems
}

// unserved returns the problem of a case without a target, or a warning about one that
// lacks what its declared kind needs. ok is false without such a problem.
func unserved(c *schema.Case, settings schema.Settings) (p schema.Problem, ok bool) {
	if p, ok = targetless(c, settings); ok {
		return p, ok
	}
	return toolless(c, settings)
}

// targetless returns the problem of a case that names no target if there is no usable
// default one. ok is false without such a problem, and if no target is configured, so
// that nothing is known.
func targetless(c *schema.Case, settings schema.Settings) (p schema.Problem, ok bool) {
	if c.Target != "" && c.Target != settings.DefaultTarget || c.Skip != "" || len(settings.Targets)+len(settings.Unusable) == 0 {
		return p, false
	}
	if why := settings.DefaultTargetProblem(); why != nil {
		why.Position = c.Origin
		return *why, true
	}
	return p, false
}

// toolless returns the warning of a case whose target is declared an agent or a
// workflow, and neither offers the case a tool nor an empty list of tools. ok is false
// without such a problem.
func toolless(c *schema.Case, settings schema.Settings) (p schema.Problem, ok bool) {
	name := cmp.Or(c.Target, settings.DefaultTarget)
	t := settings.Targets[name]
	if t.Agent || t.Tools != nil || len(c.Tools) > 0 || c.Skip != "" || t.Kind == "" || t.Kind == "model" {
		return p, false
	}
	return schema.Problem{
		Position: c.Origin, Severity: schema.Warning, Rule: "no-tools",
		Message: fmt.Sprintf("the target %s is declared as kind: %s and offers no tool, so that a bare model is judged", name, t.Kind),
		Hint:    "name its tools under tools: of the target in gavel.yaml, or write tools: [] there if it has none",
	}, true
}

// unknownTools finds the tools of targets that are in no folder of tools.
func (l *loader) unknownTools() []schema.Problem {
	known := map[string]bool{}
	for name := range l.out.Names {
		if name.Kind == "tool" {
			known[name.ID] = true
		}
	}
	var found []schema.Problem
	for _, name := range slices.Sorted(maps.Keys(l.opts.Settings.Targets)) {
		t := l.opts.Settings.Targets[name]
		for _, id := range t.Tools {
			if known[id] {
				continue
			}
			found = append(found, schema.Problem{
				Position: t.ToolsAt, Severity: schema.Error, Rule: "unknown-tool", Message: fmt.Sprintf("unknown tool %q", id),
				Hint: cmp.Or(suggest.DidYouMean(id, slices.Collect(maps.Keys(known))), fmt.Sprintf("add tools/%s.json to the folder of definitions", id)),
			})
		}
	}
	return found
}
