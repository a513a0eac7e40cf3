package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A comparison compares the parts of a case with an earlier state.
type comparison struct {
	was, is []Part
	// before and after are the cases; nil if only their parts are known.
	before, after *schema.Case
	// changed reports whether a file differs; nil if unknown.
	changed func(file string) bool
}

// A partKey identifies a part in two states. Evaluators are identified by their names,
// so an additional one changes none of the others.
type partKey struct{ evaluator, name string }

func keyOf(p Part) partKey {
	if p.Number == 0 {
		return partKey{name: p.Name}
	}
	return partKey{p.Of, p.Name}
}

// reasons names the differing parts, in the order of is, removed ones last. A part that
// is added or removed as a whole, such as an evaluator, is one reason, and a mere
// consequence of another reason is not one.
func (c comparison) reasons() []Reason {
	c.alike()
	old := map[partKey]Part{}
	for _, p := range c.was {
		old[keyOf(p)] = p
	}
	wholesWas, wholesIs := wholes(c.was), wholes(c.is)
	var found findings
	for _, p := range c.is {
		was, there := old[keyOf(p)]
		delete(old, keyOf(p))
		switch {
		case there && p.same(was):
		case p.Of != "" && !wholesWas[p.Of]:
			found.whole(p, c.blame(p.Files), "new")
		case !there:
			found.add(p, c.blame(p.Files), c.title(p)+" "+verb(p.Name)+" new")
		default:
			found.add(p, c.blame(c.sentIn(p, p.Files), c.sentIn(p, was.Files)...), c.change(was, p))
		}
	}
	for _, p := range c.was {
		switch _, gone := old[keyOf(p)]; {
		case !gone:
		case p.Of != "" && !wholesIs[p.Of]:
			found.whole(p, c.blame(p.Files), "gone")
		default:
			found.add(p, c.blame(p.Files), c.title(p)+" "+verb(p.Name)+" gone")
		}
	}
	return found.reasons()
}

// alike identifies the only evaluator of a case in both states, whatever its name.
func (c *comparison) alike() {
	was, is := evaluators(c.was), evaluators(c.is)
	if len(was) != 1 || len(is) != 1 || was[0] == is[0] {
		return
	}
	c.was = slices.Clone(c.was)
	for i := range c.was {
		if c.was[i].Number > 0 {
			c.was[i].Of = is[0]
		}
	}
}

// evaluators returns the parts' evaluators by name.
func evaluators(parts []Part) []string {
	var names []string
	for _, p := range parts {
		if p.Number > 0 && !slices.Contains(names, p.Of) {
			names = append(names, p.Of)
		}
	}
	return names
}

// same reports whether a part is unchanged, which an outline is enough to decide.
func (p Part) same(was Part) bool {
	if len(was.Digest) == OutlineDigits {
		return p.Digest[:OutlineDigits] == was.Digest
	}
	return p.Digest == was.Digest
}

// partsFrom returns the parts of a layer and of later layers.
func partsFrom(layer Layer, parts []Part) []Part {
	var out []Part
	for _, p := range parts {
		if layerOrder(p.Layer) >= layerOrder(layer) {
			out = append(out, p)
		}
	}
	return out
}

// wholes returns the evaluators and roles that own parts.
func wholes(parts []Part) map[string]bool {
	set := map[string]bool{}
	for _, p := range parts {
		set[p.Of] = true
	}
	return set
}

// change describes the change of a part that both states have.
func (c comparison) change(was, is Part) string {
	switch {
	case was.Show != "" && is.Show != "" && was.Show != is.Show:
		return fmt.Sprintf("%s %s → %s", c.title(is), was.Show, is.Show)
	case is.Name == evaluatorPart && c.before != nil && c.after != nil:
		if text := specChange(specOf(c.before, was), specOf(c.after, is)); text != "" {
			return is.Title() + ": " + text
		}
	}
	return c.title(is) + " changed"
}

// title names a part: with the evaluator for a part of a rule if the case has several.
func (c comparison) title(p Part) string {
	if p.Name != evaluatorPart && len(evaluators(c.is)) == 1 && len(evaluators(c.was)) == 1 {
		return p.Name
	}
	return p.Title()
}

// blame returns the files that a reason names: the changed ones; and if none is known
// to have changed, the only source of a part. Its earlier sources may be others.
func (c comparison) blame(files []string, before ...string) []string {
	if c.changed != nil {
		all := slices.Concat(files, before)
		slices.Sort(all)
		all = slices.DeleteFunc(slices.Compact(all), func(f string) bool { return !c.changed(f) })
		if len(all) > 0 {
			return all
		}
	}
	if len(files) == 1 {
		return files
	}
	return nil
}

// sentIn returns the files of a part that may have changed it. In a row of a matrix,
// the prompt's file has the change if its template differs, and the others have it if
// their variables do.
func (c comparison) sentIn(p Part, files []string) []string {
	if p.Name != "messages" && p.Name != "system prompt" || c.changed == nil ||
		c.before == nil || c.after == nil || c.before.Row == nil || c.after.Row == nil {
		return files
	}
	was, is := c.before.Row, c.after.Row
	samePrompt, isOrigin := was.Prompt == is.Prompt, is.PromptFile == c.after.Origin.File
	switch sameVars := was.SameVars(is); {
	case sameVars && !samePrompt && c.changed(is.PromptFile):
		return []string{is.PromptFile}
	case samePrompt && !sameVars && !isOrigin:
		return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == is.PromptFile })
	}
	return files
}

// reasonIn returns a reason with its files.
func reasonIn(part string, files []string, message string) Reason {
	r := Reason{Part: part, Message: message}
	if len(files) > 0 {
		r.File = files[len(files)-1]
	}
	if len(files) > 1 {
		r.Files = files
	}
	return r
}

// findings are reasons with the conditions of their discovery.
type findings []finding

type finding struct {
	Reason
	// follows marks a reason that only matters without other reasons.
	follows bool
	// whole names a new or removed evaluator or role.
	whole string
}

func (f *findings) add(p Part, files []string, message string) {
	// Other lines of a recording answer a case with a different request, and weights
	// begin to count with a second evaluator.
	follows := strings.HasSuffix(p.Name, " recording") || p.Name == weightPart && !strings.Contains(message, "→")
	*f = append(*f, finding{reasonIn(p.Name, files, message), follows, ""})
}

// whole records that the owner of a part is new or removed. A role is needed because of
// something else.
func (f *findings) whole(p Part, files []string, what string) {
	if slices.ContainsFunc(*f, func(x finding) bool { return x.whole == p.Of }) {
		return
	}
	reason := reasonIn(p.Of, files, p.Of+" is "+what)
	if p.Number > 0 {
		reason.Part, reason.Message = evaluatorPart, "evaluator "+reason.Message
	}
	*f = append(*f, finding{reason, p.Number == 0, p.Of})
}

func (f findings) reasons() []Reason {
	all := !slices.ContainsFunc(f, func(x finding) bool { return !x.follows })
	var out []Reason
	for _, x := range f {
		if all || !x.follows {
			out = append(out, x.Reason)
		}
	}
	return out
}

// verb returns the verb for the name of a part.
func verb(name string) string {
	noun, _, _ := strings.Cut(name, " of ")
	last := noun[strings.LastIndex(noun, " ")+1:]
	if strings.HasSuffix(last, "s") || last == "criteria" {
		return "are"
	}
	return "is"
}

// Summarise joins the reasons of a row in one line.
func Summarise(reasons []Reason) string {
	seen := make([]string, 0, len(reasons))
	for _, r := range reasons {
		if text := r.String(); !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, "; ")
}

// maxNamed bounds the files named in a reason.
const maxNamed = 4

// String returns the message with its files. The messages of some parts are complete
// without a file.
func (r Reason) String() string {
	switch r.Part {
	case "moved", "ledger", "samples", "all", "rerun", GateAsks:
		return r.Message
	case "removed":
		return r.Message + " from " + r.File
	}
	switch n := len(r.Files); {
	case n > maxNamed:
		return fmt.Sprintf("%s in %s and %d more files", r.Message, strings.Join(r.Files[:maxNamed-1], ", "), n-maxNamed+1)
	case n > 1:
		return r.Message + " in " + strings.Join(r.Files[:n-1], ", ") + " and " + r.Files[n-1]
	case r.File == "" || strings.Contains(r.Message, r.File): // an input of a target is named by its file
		return r.Message
	}
	return r.Message + " in " + r.File
}

// specOf returns the spec of a part's evaluator, or nil if the case has no such
// evaluator.
func specOf(c *schema.Case, p Part) schema.Spec {
	if p.Number > len(c.Evaluators) || p.Number == 0 {
		return nil
	}
	return c.Evaluators[p.Number-1].Spec
}

// Title names the part by itself: "threshold of tone", "evaluator tone".
func (p Part) Title() string {
	switch {
	case p.Number == 0:
		return p.Name
	case p.Name == evaluatorPart:
		return p.Name + " " + p.Of
	}
	return p.Name + " of " + p.Of
}
