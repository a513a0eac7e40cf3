package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A comparison is of the parts of a case with those of an earlier state.
type comparison struct {
	was, is []Part
	// before and after are the cases; nil where only their parts are known.
	before, after *schema.Case
	// changed reports whether a file differs; nil where that is not known.
	changed func(file string) bool
}

// A partKey identifies a part in two states. Evaluators are
// known by their names, so that one more of them changes none of the others.
type partKey struct{ evaluator, name string }

func keyOf(p Part) partKey {
	if p.Number == 0 {
		return partKey{name: p.Name}
	}
	return partKey{p.Of, p.Name}
}

// reasons names the parts that differ, in the order of is, those that are gone
// last. A part that is added or removed as a whole, such as an evaluator, is one
// reason, and a mere consequence of another reason is not one.
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

// alike makes the only evaluator of a case the same one in both states,
// whatever it is called.
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

// evaluators are those that parts belong to, by name.
func evaluators(parts []Part) []string {
	var names []string
	for _, p := range parts {
		if p.Number > 0 && !slices.Contains(names, p.Of) {
			names = append(names, p.Of)
		}
	}
	return names
}

// same reports whether a part is what it was, of which an outline is enough.
func (p Part) same(was Part) bool {
	if len(was.Digest) == OutlineDigits {
		return p.Digest[:OutlineDigits] == was.Digest
	}
	return p.Digest == was.Digest
}

// partsFrom returns the parts of a layer and of those that follow it.
func partsFrom(layer Layer, parts []Part) []Part {
	var out []Part
	for _, p := range parts {
		if layerOrder(p.Layer) >= layerOrder(layer) {
			out = append(out, p)
		}
	}
	return out
}

// wholes are the evaluators and roles that parts belong to.
func wholes(parts []Part) map[string]bool {
	set := map[string]bool{}
	for _, p := range parts {
		set[p.Of] = true
	}
	return set
}

// change words what became of a part that both states have.
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

// title names a part: one of a rule with the evaluator where the case has
// several.
func (c comparison) title(p Part) string {
	if p.Name != evaluatorPart && len(evaluators(c.is)) == 1 && len(evaluators(c.was)) == 1 {
		return p.Name
	}
	return p.Title()
}

// blame returns the files that a reason names: those that changed; and if none is known
// to have changed, the only one that a part comes from. It may have come from others
// before.
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

// sentIn are those of the files of a part that may have changed it. The file of the
// prompt has the change of a row of a matrix where its template differs, and the
// others have it where its variables do.
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

// reasonIn is a reason with the files that it is in.
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

// findings are reasons, each with what it was found by.
type findings []finding

type finding struct {
	Reason
	// follows marks what is only of interest where nothing else is found.
	follows bool
	// whole names the evaluator or the role that is new or gone.
	whole string
}

func (f *findings) add(p Part, files []string, message string) {
	// Other lines of a recording answer a case that asks something else, and
	// weights begin to count where there is a second evaluator.
	follows := strings.HasSuffix(p.Name, " recording") || p.Name == weightPart && !strings.Contains(message, "→")
	*f = append(*f, finding{reasonIn(p.Name, files, message), follows, ""})
}

// whole notes that what the part belongs to is new or gone. A role is needed
// because of something else.
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

// is returns the verb that goes with the name of a part.
func verb(name string) string {
	noun, _, _ := strings.Cut(name, " of ")
	last := noun[strings.LastIndex(noun, " ")+1:]
	if strings.HasSuffix(last, "s") || last == "criteria" {
		return "are"
	}
	return "is"
}

// Summarise joins the reasons of a row to one line.
func Summarise(reasons []Reason) string {
	seen := make([]string, 0, len(reasons))
	for _, r := range reasons {
		if text := r.String(); !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, "; ")
}

// maxNamed is how many files a reason names.
const maxNamed = 4

// String is the message with its files. The messages of some parts are complete
// without one.
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

// specOf is what the evaluator of a part measures; nil where the case has no
// such evaluator.
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
