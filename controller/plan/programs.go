package plan

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/program"
)

// messages adds what is sent. Files and images count by what they hold; their
// paths only if the target is an agent, which sees them.
func (d *digester) messages(agent bool) {
	files, paths := slices.Clip(d.sending()), d.attached()
	d.value(Execution, "messages", d.c.Drive.Messages, append(files, paths...)...)
	if d.c.Drive.Script != nil {
		d.value(Execution, "turns", d.c.Drive.Turns(), append(files, paths...)...)
	}
	if d.c.Drive.Window() > 0 {
		d.short(Execution, "turns that are sent", strconv.Itoa(d.c.Drive.Window()), files...)
	}
	if agent && len(paths) > 0 {
		d.value(Execution, "paths of files", paths, append(files, paths...)...)
	}
}

// sending are the files that the messages may be written in. A row of a matrix has
// its prompt, its test and its variables in one file or in several.
func (d *digester) sending() []string {
	if d.bare || d.sent != nil {
		return d.sent
	}
	files := []string{d.c.Origin.File}
	for _, in := range d.c.Inputs {
		if d.c.Dialect == schema.DialectMatrix && slices.Contains([]string{"definition", "prompt", "tests", "variable"}, in.Role) {
			files = append(files, in.File)
		}
	}
	slices.Sort(files)
	d.sent = slices.Compact(files)
	return d.sent
}

// offering are the files that a tool may be written in. A row of a matrix has it where its
// provider is, or in a file with tools that this one names.
func (d *digester) offering(t schema.Tool) []string {
	if d.bare || d.c.Dialect != schema.DialectMatrix || t.File != "" {
		return []string{t.File}
	}
	return append(slices.Clone(d.sending()), d.roles("tool")...)
}

// roles are the files of the case that have a role.
func (d *digester) roles(role string) []string {
	var files []string
	for _, in := range d.c.Inputs {
		if in.Role == role {
			files = append(files, in.File)
		}
	}
	return files
}

// writing are the files that the program of a prompt is made of, and those that name it and
// have its variables.
func (d *digester) writing() []string {
	if d.bare {
		return nil
	}
	return slices.Concat(d.sending(), d.roles("program"), d.c.Drive.Program.Built.Paths())
}

// attached are the files and images of the messages.
func (d *digester) attached() []string { return d.c.Drive.Attached() }

// workspace adds the folder of a case, and the programs that prepare it, to the layer of
// those that are the first to see it: the target, or programs that judge.
func (d *digester) workspace(layer Layer) {
	if d.c.Drive.Workspace == nil {
		return
	}
	files := []string{d.c.Origin.File}
	for _, in := range d.c.Inputs {
		if in.Role == "workspace" || in.Role == "program" || in.Role == "suite" {
			files = append(files, in.File)
		}
	}
	w := *d.c.Drive.Workspace
	hooks := slices.Concat(w.Before, w.After)
	if !d.bare {
		for _, h := range hooks {
			files = append(files, h.Built.Paths()...)
		}
	}
	if len(hooks) > 0 {
		d.unconfined(layer)
	}
	if len(w.Files) <= mostNamed {
		for _, f := range w.Files {
			d.value(layer, "workspace file "+f.Path, f, path.Join(w.Template, f.Path))
		}
		w.Files = nil
	}
	d.value(layer, "workspace", w, files...)
}

// unconfined keeps apart what programs say that are kept from no file: it may rest on files
// that no digest covers.
func (d *digester) unconfined(layer Layer) {
	name := "sandbox of programs"
	if d.env.Unconfined && !slices.ContainsFunc(d.parts, func(p Part) bool { return p.Name == name && p.Layer == layer }) {
		d.short(layer, name, "off")
	}
}

// mostNamed is how many files of a workspace are a part each.
const mostNamed = 32

// measures adds what an evaluator measures by besides its spec: the bytes of
// programs, the models that are asked in place of the judge, and the price.
func (d *digester) measures(spec schema.Spec) {
	d.programs(evaluator.ProgramsOf(spec))
	if s, ok := spec.(interface{ ReadsCost() bool }); ok && s.ReadsCost() && d.c.Drive.Given == nil {
		d.short(Judgement, "price", cmp.Or(d.env.Targets[d.targetName()].Price, "none"), d.env.Config)
	}
	if s, ok := spec.(interface{ Targets() []string }); ok {
		for n, name := range s.Targets() {
			d.facts(Judgement, "own judge "+strconv.Itoa(n+1), d.env.Targets[name])
		}
	}
}

// programs adds the files that programs are made of and those that they are
// sent, by the names that they know them by: a program that moves along with
// them stays the same.
func (d *digester) programs(programs []evaluator.Program) {
	known := map[string]string{} // programs may have files in common
	for k, p := range programs {
		d.built(p.Built, known)
		var seen []string
		for _, path := range d.attached() {
			seen = append(seen, p.Sees(path))
		}
		if len(seen) > 0 {
			d.value(Judgement, "program input "+strconv.Itoa(k+1), seen, d.c.Origin.File)
		}
	}
}

// built adds the files that a program is made of: a part each or, where they are many,
// one for all.
func (d *digester) built(b *program.Build, known map[string]string) {
	// isNew says that a part is not there yet, and finds a name for it.
	isNew := func(name *string, what string) bool {
		for known[*name] != "" && known[*name] != what {
			*name += " again"
		}
		was := known[*name]
		known[*name] = what
		return was == ""
	}
	if b == nil {
		return
	}
	if name := "program files"; len(b.Files) > mostNamed {
		if isNew(&name, b.Sum) {
			var files []string
			if !d.bare {
				files = b.Paths()
			}
			d.part(Judgement, name, d.digestOf(b.Sum), files)
		}
		return
	}
	for _, f := range b.Files {
		if name := "program file " + program.Sees(b.Dir, f.Path); isNew(&name, f.Path+" "+f.Hash) {
			d.long(Judgement, name, f.Hash, f.Path)
		}
	}
}

// decides adds the parts of the rule that only some evaluators have.
func (d *digester) decides(ev schema.Evaluator, files []string) {
	if len(ev.Rule.Least) > 0 {
		d.value(Decision, "least scores", ev.Rule.Least, files...)
	}
	if len(ev.Rule.Most) > 0 {
		d.value(Decision, "bounds", ev.Rule.Most, files...)
	}
	if ev.Rule.Aggregate != "" {
		d.short(Decision, "aggregation", string(ev.Rule.Aggregate), files...)
	}
	if ev.Rule.Gate > 0 {
		d.short(Decision, "least score of a gate", decimal(ev.Rule.Gate), files...)
	}
	if ev.Rule.NonZero {
		d.short(Decision, "required", "true", files...)
	}
	if ev.Rule.Negate {
		d.short(Decision, "negation", "true", files...)
	}
	if ev.Rule.Contained {
		d.short(Decision, "demands that do not hold", "make the score 0", files...)
	}
	if ev.Rule.Floor > 0 {
		d.short(Decision, "least score of the evaluator", decimal(ev.Rule.Floor), files...)
	}
	if ev.Rule.Zeroes {
		d.short(Decision, "a demand that does not hold", "makes the score of the case 0", files...)
	}
	if c, ok := ev.Spec.(evaluator.Composite); ok {
		d.value(Decision, "rules of members", c.Rules(), files...)
	}
}

// bands adds the scores that pass and that are borderline.
func (d *digester) bands() {
	if b := d.c.Policy.Bands; b != nil {
		d.score("passing score", b.Pass, d.configured()...)
		d.score("borderline score", b.Borderline, d.configured()...)
	}
}

// sources are the files that the evaluators of a case may be written in
// besides the definition.
func (d *digester) sources() []string {
	var files []string
	if d.bare {
		return files
	}
	for _, in := range d.c.Inputs {
		if in.Role == "prompt" || in.Role == "suite" {
			files = append(files, in.File)
		}
	}
	return files
}
