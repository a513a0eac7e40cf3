package plan

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// messages adds the requests. Files and images count by their content; their paths only
// if the target is an agent, which sees them.
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

// sending returns the files that the messages may be written in. A row of a matrix has
// its prompt, its test and its variables in one file or in several.
func (d *digester) sending() []string {
	if d.bare || d.sent != nil {
		return d.sent
	}
	files := []string{d.c.Origin.File}
	for _, in := range d.c.Inputs {
		if d.c.Row != nil && slices.Contains([]string{"definition", "prompt", "tests", "variable"}, in.Role) {
			files = append(files, in.File)
		}
	}
	slices.Sort(files)
	d.sent = slices.Compact(files)
	return d.sent
}

// offering returns the files that a tool may be written in. A row of a matrix has it in
// its provider's file, or in a file of tools named there.
func (d *digester) offering(t schema.Tool) []string {
	if d.bare || d.c.Row == nil || t.File != "" {
		return []string{t.File}
	}
	return append(slices.Clone(d.sending()), d.roles("tool")...)
}

// roles returns the files of the case with a role.
func (d *digester) roles(role string) []string {
	var files []string
	for _, in := range d.c.Inputs {
		if in.Role == role {
			files = append(files, in.File)
		}
	}
	return files
}

// writing returns the files of a prompt's program, and the files that name it and have
// its variables.
func (d *digester) writing() []string {
	if d.bare {
		return nil
	}
	return slices.Concat(d.sending(), d.roles("program"), d.c.Drive.Program.Built.Paths())
}

// attached returns the files and images of the messages.
func (d *digester) attached() []string { return d.c.Drive.Attached() }

// workspace adds the folder of a case, and the programs that prepare it, to the first
// layer that sees it: the target's, or the judging programs'.
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
	if w.Skill != nil {
		d.skill(layer, &w)
	}
	if w.Choice != nil {
		w.Choice = d.choice(layer, *w.Choice)
	}
	d.value(layer, "workspace", w, files...)
}

// choice adds the skills that an agent chooses from, and returns the rest.
func (d *digester) choice(layer Layer, c schema.SkillChoice) *schema.SkillChoice {
	if len(c.Skills) > mostNamed {
		return &c
	}
	for _, s := range c.Skills {
		d.long(layer, "description of the skill "+s.Name, s.Text, path.Join(s.Dir, "SKILL.md"))
	}
	c.Sum = ""
	return &c
}

// skill adds the skill in a workspace and the files of the case, and takes them out of it.
func (d *digester) skill(layer Layer, w *schema.Workspace) {
	skill := *w.Skill
	if len(skill.Files) <= mostNamed {
		for _, f := range skill.Files {
			d.value(layer, "skill file "+f.Path, f, path.Join(skill.Dir, f.Path))
		}
		skill.Files = nil
	}
	for _, f := range w.Staged {
		d.value(layer, "workspace file "+f.Path, f, f.From)
	}
	w.Skill, w.Staged = &skill, nil
}

// unconfined separates results of programs that can see every file: they may depend on
// files that are in no digest.
func (d *digester) unconfined(layer Layer) {
	name := "sandbox of programs"
	if d.env.Unconfined && !slices.ContainsFunc(d.parts, func(p Part) bool { return p.Name == name && p.Layer == layer }) {
		d.short(layer, name, "off")
	}
}

// mostNamed bounds the files of a workspace that are separate parts.
const mostNamed = 32

// measures adds the inputs of an evaluator besides its spec: the bytes of programs, the
// models that replace the judge, and the price.
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

// programs adds the source files of programs and the files that they are sent, by the
// names that they see: a program that moves along with them stays the same.
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

// built adds the source files of a program: a part each or, if there are many, one for
// all.
func (d *digester) built(b *schema.ProgramFiles, known map[string]string) {
	// isNew reports that a part does not exist yet, and finds a name for it.
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
		if name := "program file " + schema.RelativePath(b.Dir, f.Path); isNew(&name, f.Path+" "+f.Hash) {
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
	if ev.Rule.Weightless {
		d.short(Decision, "evaluators without a weight", "make the score of the case 0", files...)
	}
	if c, ok := ev.Spec.(evaluator.Composite); ok {
		d.value(Decision, "rules of members", c.Rules(), files...)
	}
}

// bands adds the bands of passing and borderline scores.
func (d *digester) bands() {
	if b := d.c.Policy.Bands; b != nil {
		d.score("passing score", b.Pass, d.configured()...)
		d.score("borderline score", b.Borderline, d.configured()...)
	}
}

// sources returns the files, besides the definition, that the evaluators of a case may
// be written in.
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
