package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// DriverVersion is incremented when driving a conversation changes the requests to a
// target. It is in every E.
const DriverVersion = 1

// writerVersion is incremented when a program's output is converted to other messages,
// or when it sees other files. It is in the E of cases with a program's prompt.
const writerVersion = 3

// compilerVersions are incremented when a dialect's compiler changes its result for the
// same files in a way that the Case does not show.
var compilerVersions = map[string]int{schema.DialectDomain: 1, schema.DialectTestcase: 1, schema.DialectPromptval: 1, schema.DialectEvalcase: 1, schema.DialectMatrix: 1, schema.DialectSkill: 1}

// Digest condenses a case in its environment into the digests E, J and D and remembers
// the parts' sources. The environment must not change after that. Labels, keys, paths
// and origins are in none.
func Digest(c *schema.Case, env *Environment) Digests {
	d := bareDigesters.Get().(*digester)
	d.c, d.env = c, env
	d.all()
	out := seal(d.parts)
	out.of, out.env = c, env
	d.release()
	return out
}

// Judge returns a digest of everything in the judgement digest about a target that judges the
// case, by the name of the target; empty for digests that [Digest] did not create.
func (d Digests) Judge(target string) string {
	if d.of == nil {
		return ""
	}
	judge := digester{c: d.of, env: d.env, bare: true}
	judge.facts(Judgement, string(schema.Judge), d.env.Targets[target])
	return seal(judge.parts).J
}

// parts returns the inputs of a case's digests.
func parts(c *schema.Case, env *Environment) []Part {
	d := digester{c: c, env: env, parts: make([]Part, 0, 16)}
	d.all()
	return d.parts
}

// all finds the parts of the case and sorts them in the order of sealing.
func (d *digester) all() {
	d.execution()
	d.judgement()
	d.decision()
	d.alternative()
	d.retry()
	slices.SortStableFunc(d.parts, func(a, b Part) int {
		if a.Layer != b.Layer {
			return layerOrder(a.Layer) - layerOrder(b.Layer)
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// layerOrder returns the position of a layer among the digests.
func layerOrder(l Layer) int {
	switch l {
	case Execution:
		return 0
	case Judgement:
		return 1
	}
	return 2
}

// seal hashes the sorted parts so that each digest contains the one before.
func seal(parts []Part) Digests {
	var out Digests
	several := slices.ContainsFunc(parts, func(p Part) bool { return p.Number > 1 })
	text := make([]byte, 0, len(parts)*128) // a name and a digest, each behind its length
	for _, step := range []struct {
		layer Layer
		into  *string
	}{{Execution, &out.E}, {Judgement, &out.J}, {Decision, &out.D}} {
		text = appendString(text, string(step.layer))
		for i := range parts {
			if p := &parts[i]; p.Layer == step.layer {
				text = appendString(text, sealed(p, several))
				text = appendString(text, p.Digest)
			}
		}
		*step.into = digits(sha256.Sum256(text))
	}
	return out
}

// sealed returns the name of a part in a digest: evaluators are distinguished by their
// numbers, since their names are for people.
func sealed(p *Part, several bool) string {
	if several && p.Number > 0 {
		return p.Name + " " + strconv.Itoa(p.Number)
	}
	return p.Name
}

// writeString writes s behind its length, so that no two sequences of strings hash
// alike.
func writeString(h hash.Hash, s string) {
	_, _ = h.Write(appendString(make([]byte, 0, len(s)+8), s)) // a hash accepts everything
}

// appendString appends s behind its length.
func appendString(text []byte, s string) []byte {
	return append(append(strconv.AppendInt(text, int64(len(s)), 10), ':'), s...)
}

type digester struct {
	c     *schema.Case
	env   *Environment
	parts []Part
	// bare omits the source files of parts: no digest covers them.
	bare bool
	// known are the digests of short texts; may be nil.
	known map[string]string
	// sent are the files that messages may be written in, once known.
	sent []string
	// of and number are the owner of the added parts.
	of     string
	number int
}

// The parts of every evaluator, and the parts needed if there are several.
const (
	evaluatorPart = "evaluator"
	weightPart    = "evaluator weight"
)

// perEvaluator adds parts that belong to evaluators.
func (d *digester) perEvaluator(add func(schema.Evaluator)) {
	for i, ev := range d.c.Evaluators {
		d.of, d.number = ev.Name, i+1
		add(ev)
	}
	d.of, d.number = "", 0
}

func (d *digester) execution() {
	c := d.c
	target := d.env.Targets[d.targetName()]
	if c.Drive.Given != nil {
		target = Target{} // not called
	}
	d.messages(target.Agent)
	if target.Workspace {
		d.workspace(Execution)
	}
	if len(c.Drive.Openings) > 0 {
		d.value(Execution, "openings", c.Drive.Openings, c.Origin.File)
	}
	if c.System != "" {
		files := layerFiles(c.Layers)
		if c.Row != nil {
			files = append(files, d.sending()...)
		}
		d.long(Execution, "system prompt", c.System, files...)
	}
	if !target.Agent && len(c.Tools)+len(c.Mocks) > 0 {
		for _, t := range c.Tools {
			d.value(Execution, "tool "+t.Name, t, d.offering(t)...)
		}
		d.mocks(target)
		d.short(Execution, "tool rounds", strconv.Itoa(c.Policy.MaxToolRounds), d.configured()...)
	}
	d.simulation()
	d.kept()
	if c.Drive.Program != nil {
		d.value(Execution, "prompt program", c.Drive.Program, d.writing()...)
		d.short(Execution, "prompt writer version", strconv.Itoa(writerVersion))
		d.unconfined(Execution)
	}
	if len(c.Drive.Row) > 0 {
		d.value(Execution, "row", c.Drive.Row, d.sending()...)
	}
	if c.Drive.CallsAnswer && !target.Agent {
		d.short(Execution, "calls of tools", "end the conversation", d.sending()...)
	}
	if c.Drive.Given != nil {
		d.long(Execution, "given answer", *c.Drive.Given, d.sending()...)
	} else {
		d.short(Execution, "timeout", c.Policy.Timeout.String(), d.configured()...)
	}
	d.facts(Execution, "target", target)
	if slices.ContainsFunc(c.Evaluators, func(ev schema.Evaluator) bool { return evaluator.ReadsFinish(ev.Spec) }) {
		d.short(Execution, "finish reason", "kept") // which earlier stored replies lack
	}
	d.short(Execution, "driver version", strconv.Itoa(DriverVersion))
	d.short(Execution, "compiler version", c.Dialect+" "+strconv.Itoa(compilerVersions[c.Dialect]))
}

// mocks adds the case's prepared answers, a part for each tool.
func (d *digester) mocks(target Target) {
	byTool := map[string][]schema.CallMock{}
	for _, m := range d.c.Mocks {
		byTool[m.Tool] = append(byTool[m.Tool], m)
	}
	for tool, mocks := range byTool {
		d.value(Execution, "mocks of "+tool, mocks, d.c.Origin.File)
		if slices.ContainsFunc(target.Facts, func(f Fact) bool { return f.Tool == tool }) {
			// The case's answer comes before the target's; it was once the other way
			// round.
			d.short(Execution, "order of the mocks of "+tool, "case, target")
		}
	}
}

// simulation adds the simulator, its instructions, and the end of the
// conversation.
func (d *digester) simulation() {
	sim := d.c.Drive.Simulation
	if sim == nil {
		return
	}
	if d.c.Drive.TargetOpens {
		d.short(Execution, "first turn", "agent", d.c.Origin.File)
	}
	d.short(Execution, "max turns", limit(d.c.Policy.MaxTurns), d.c.Origin.File)
	d.short(Execution, "turn cap", limit(d.c.Policy.TurnCap), d.configured()...)
	if ends := d.env.Targets[d.targetName()].Ends; len(ends) > 0 {
		d.short(Execution, "ends conversation", strings.Join(ends, ", "), d.env.Config)
	}
	if d.c.Policy.MaxTurns == 1 && len(d.c.Drive.Messages) > 0 {
		return // the case has all of the user's messages
	}
	if d.value(Execution, "persona", sim.Persona, d.c.Origin.File); sim.Instructions != "" {
		d.long(Execution, "persona context", sim.Instructions, d.c.Origin.File)
	}
	d.value(Execution, "user context", sim.Context, d.c.Origin.File)
	d.facts(Execution, string(schema.Simulator), d.env.Targets[d.env.Roles[schema.Simulator]])
	d.short(Execution, "simulator version", strconv.Itoa(sim.Version()))
}

// limit formats a limit, where 0 means unlimited.
func limit(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

func (d *digester) judgement() {
	shown := false // the workspace, which is in E if the target works in it
	d.perEvaluator(func(ev schema.Evaluator) {
		d.spec(evaluatorPart, ev.Spec, append(d.files(ev), d.sources()...)...)
		d.measures(ev.Spec)
		if len(evaluator.ProgramsOf(ev.Spec)) > 0 && !d.env.Targets[d.targetName()].Workspace {
			shown = true
		}
		if db, ok := ev.Spec.(evaluator.SQLExecutor); ok {
			for n, f := range db.Database {
				d.long(Judgement, "database file "+strconv.Itoa(n+1), string(f.Data), f.Path)
			}
		}
	})
	if shown {
		d.workspace(Judgement)
	}
	if slices.ContainsFunc(d.c.Evaluators, func(ev schema.Evaluator) bool { return len(evaluator.ProgramsOf(ev.Spec)) > 0 }) {
		d.unconfined(Judgement)
	}
	if d.c.Drive.CallsAnswer {
		d.short(Judgement, "calls of tools", "are in the answer") // which they once were not next to a text
	}
	d.selection()
	roles := d.measuredBy()
	for _, r := range []schema.Role{schema.Judge, schema.Simulator, schema.Extractor, schema.Embedder, schema.Classifier, schema.Moderator} {
		if roles[r] {
			d.facts(Judgement, string(r), d.env.Targets[d.env.Roles[r]])
		}
	}
}

func (d *digester) decision() {
	several := len(d.c.Evaluators) > 1
	d.perEvaluator(func(ev schema.Evaluator) {
		files := append(d.files(ev), d.env.Config)
		d.rule(ev, files)
		if several { // the weight of a single evaluator cancels out
			d.short(Decision, weightPart, decimal(ev.Weight), files...)
		}
	})
	d.bands()
	d.short(Decision, "iterations", strconv.Itoa(d.c.Policy.Iterations), d.configured()...)
	if share := d.c.Policy.PassShare; share > 0 {
		d.short(Decision, "pass share", decimal(share), append(d.configured(), d.checked()...)...)
	}
	if d.c.Policy.Best {
		d.short(Decision, "best of samples", "true", d.c.Origin.File)
	}
	if d.c.Policy.Every && d.c.Policy.Iterations > 1 {
		d.short(Decision, "every sample", "true", d.c.Origin.File)
	}
}

// rule adds the rule that turns a measurement into a score and a pass.
func (d *digester) rule(ev schema.Evaluator, files []string) {
	if ev.Rule.Ungated {
		d.short(Decision, "threshold", "none", files...)
	} else {
		d.score("threshold", ev.Rule.Threshold, files...)
	}
	need := "all"
	if ev.Rule.Need > 0 {
		need = strconv.Itoa(ev.Rule.Need)
	}
	d.short(Decision, "match", need, files...)
	if len(ev.Rule.Weights) > 0 {
		d.value(Decision, "criterion weights", ev.Rule.Weights, files...)
	}
	if len(ev.Rule.Required) > 0 {
		d.value(Decision, "required criteria", ev.Rule.Required, files...)
	}
	d.decides(ev, files)
	if ev.Rule.Unanimous {
		d.short(Decision, "required in", "every sample", files...)
	}
}

// facts adds the facts about a target that concern this case.
func (d *digester) facts(layer Layer, role string, t Target) {
	if d.number == 0 {
		d.of = role
		defer func() { d.of = "" }()
	}
	for _, f := range t.Facts {
		if f.Tool != "" && !slices.ContainsFunc(d.c.Tools, func(t schema.Tool) bool { return t.Name == f.Tool }) {
			continue
		}
		file := cmp.Or(f.File, d.env.Config)
		if f.File != "" || len(f.Value) > 60 || strings.HasPrefix(f.Value, "[") || strings.HasPrefix(f.Value, "{") {
			d.long(layer, role+" "+f.Name, f.Value, file)
			continue
		}
		d.short(layer, role+" "+f.Name, f.Value, file)
	}
	if layer == Judgement && t.Images && d.showsImages() {
		d.short(layer, role+" images", "shown", d.env.Config)
	}
	if t.Recorded != nil && d.env.Roots != nil {
		agent := d.env.Targets[d.targetName()].Agent
		lines := ""
		for _, root := range d.env.Roots(d.c, agent) {
			lines += t.Recorded[root] + " "
		}
		lines += t.Recorded[""]
		d.long(layer, role+" recording", lines, t.RecordedFile)
	}
}

// value adds a part by its canonical JSON.
func (d *digester) value(layer Layer, name string, v any, files ...string) {
	raw, err := json.Marshal(v)
	if err != nil {
		// Cases hold only strings, numbers and JSON that was parsed before.
		panic(fmt.Sprintf("digest of %s: part %s: %v", d.c.Key, name, err))
	}
	d.part(layer, name, digits(sha256.Sum256(raw)), files)
}

// short adds a part whose value a reason can show.
func (d *digester) short(layer Layer, name, text string, files ...string) {
	d.long(layer, name, text, files...)
	d.parts[len(d.parts)-1].Show = text
}

// score adds a part that is a score in [0,1]. A reason shows it in the dialect's
// notation.
func (d *digester) score(name string, x float64, files ...string) {
	d.long(Decision, name, decimal(x), files...)
	d.parts[len(d.parts)-1].Show = d.c.Traits().Show(x)
}

// long adds a part by its text.
func (d *digester) long(layer Layer, name, text string, files ...string) {
	d.part(layer, name, d.digestOf(text), files)
}

// part adds a part by the digest of its text.
func (d *digester) part(layer Layer, name, digest string, files []string) {
	p := Part{Layer: layer, Name: name, Of: d.of, Number: d.number, Digest: digest}
	if !d.bare {
		p.Files = d.sorted(files)
	}
	d.parts = append(d.parts, p)
}

// sorted sorts files by name without duplicates. Parts whose files are the messages'
// files share one list.
func (d *digester) sorted(files []string) []string {
	if slices.Equal(files, d.sent) {
		return d.sent
	}
	files = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "" })
	slices.Sort(files)
	return slices.Compact(files)
}

// showsImages reports whether the user shows an image in the case.
func (d *digester) showsImages() bool {
	shows := func(said []schema.Message) bool {
		return slices.ContainsFunc(said, func(m schema.Message) bool {
			return m.Role == schema.RoleUser && slices.ContainsFunc(m.Blocks, func(b schema.Block) bool { return b.Type == "image" })
		})
	}
	return shows(d.c.Drive.Messages) || slices.ContainsFunc(d.c.Drive.Turns(), shows)
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// files returns the files that an evaluator may be written in. A matrix row's file may
// be shared with other rows, and contains the variables and the prompt.
func (d *digester) files(ev schema.Evaluator) []string {
	if d.bare {
		return nil
	}
	if ev.File == "" {
		return slices.Clip(d.sending())
	}
	return append(slices.Clip(d.sending()), ev.File)
}

// configured returns the files that may contain a value which gavel.yaml can set for
// all cases.
func (d *digester) configured() []string {
	if d.bare {
		return nil
	}
	return []string{d.c.Origin.File, d.env.Config}
}

// checked returns the file with the checks of the case, if it has one.
func (d *digester) checked() []string {
	var files []string
	for _, in := range d.c.Inputs {
		if in.Role == "checks" && !in.Absent && !d.bare {
			files = append(files, in.File)
		}
	}
	return files
}

func (d *digester) targetName() string { return cmp.Or(d.c.Target, d.env.DefaultTarget) }

func layerFiles(layers []schema.Layer) []string {
	files := make([]string, len(layers))
	for i, l := range layers {
		files[i] = l.File
	}
	return files
}
