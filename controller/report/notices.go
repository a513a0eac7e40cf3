package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A ConfigChange is the change of gavel.yaml between base and head.
type ConfigChange struct {
	// File is the path of gavel.yaml; empty if neither side has one.
	File string
	// Files are the configuration files that differ between base and head.
	Files []string
	// Base and Head are the gates of both sides; nil for a side without gavel.yaml.
	Base, Head *GateSettings
	// Looser are head's other weakened settings, as name old → new.
	Looser []string
	// Dearer are head's settings that make more calls, in words.
	Dearer []string
	// DecidedBy is a branch, base or head: the source of this run's settings.
	DecidedBy string
	// Added means that head has a gavel.yaml, and the source of the settings has none.
	Added bool
	// Removed means that base has a gavel.yaml, and head has none.
	Removed bool
	// Rules is set if the settings come from the tip of a branch. Since are the
	// configuration files that differ there from base.
	Rules *Rules
	Since []string
	// Targets are the changes of the targets; nil without any.
	Targets *TargetChanges
}

// Rules are the settings at the tip of a branch, which decide about pull requests.
type Rules struct {
	// Branch is without refs/heads/, and Commit is its tip when it was read.
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	// Digest is the digest of their text, independent of environment variables.
	Digest string `json:"digest"`
	// Unvouched is the pull request's target branch, if its settings do not decide
	// because nobody vouches for it.
	Unvouched string `json:"unvouched,omitempty"`
}

// Same reports whether two reports used the same settings.
func (r *Rules) Same(other *Rules) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Branch == other.Branch && r.Digest == other.Digest && r.Unvouched == other.Unvouched
}

// notices lists changes that could hide a failure.
func notices(config ConfigChange, pairs []pair) []Notice {
	out := configNotices(config)
	if !config.Added { // all of its targets are new
		out = append(out, config.Targets.notices()...)
	}
	out = append(out, hidden(pairs)...)
	return append(out, lowered(pairs)...)
}

func configNotices(c ConfigChange) []Notice {
	out := c.rules()
	for _, file := range c.Files {
		removed := c.Removed && file == c.File
		message := "is changed here"
		if removed {
			message = "is removed here"
		}
		if c.Added && file == c.File {
			message = "is new here, and decides about pull requests from the merge on; before, nothing is run without an approval"
		} else if c.DecidedBy != "" {
			message += "; this run was decided by the one at " + c.DecidedBy
		}
		if c.Targets != nil && !c.Added && len(c.Targets.Judged) > 0 && c.DecidedBy != "" && c.DecidedBy != "head" {
			message += ", but with " + c.Targets.says()
		}
		out = append(out, Notice{File: file, Message: message, AtBase: removed})
	}
	if c.Base == nil || c.Head == nil {
		return out
	}
	messages := weaker(*c.Base, *c.Head)
	for _, setting := range c.Looser {
		messages = append(messages, "weakens the gate: "+setting)
	}
	for _, setting := range c.Dearer {
		messages = append(messages, "makes more calls: "+setting)
	}
	for _, message := range messages {
		out = append(out, Notice{File: c.File, Message: message})
	}
	return out
}

// rules explains whose settings decide, if that may surprise.
func (c ConfigChange) rules() []Notice {
	if c.Rules == nil {
		return nil
	}
	var out []Notice
	if from := c.Rules.Unvouched; from != "" {
		out = append(out, Notice{File: c.File, Message: fmt.Sprintf(
			"is that of %s here: this goes to %s, which is neither the default branch nor listed as a base branch", c.Rules.Branch, from)})
	}
	for _, file := range c.Since {
		out = append(out, Notice{File: file, Message: fmt.Sprintf(
			"is another one at %s (%.7s) than at the merge base; that of %[1]s decides for both sides", c.Rules.Branch, c.Rules.Commit)})
	}
	return out
}

// weaker names every part of the gate that is weaker at head.
func weaker(base, head GateSettings) []string {
	var out []string
	if base.FailOn != head.FailOn {
		out = append(out, fmt.Sprintf("changes the gate: fail_on %s → %s", orDefault(base.FailOn), orDefault(head.FailOn)))
	}
	if base.MinScore != nil && (head.MinScore == nil || *head.MinScore < *base.MinScore) {
		out = append(out, fmt.Sprintf("weakens the gate: min_score %v → %s", *base.MinScore, orOff(head.MinScore)))
	}
	if base.MaxDrop != nil && (head.MaxDrop == nil || *head.MaxDrop > *base.MaxDrop) {
		out = append(out, fmt.Sprintf("weakens the gate: max_drop %v → %s", *base.MaxDrop, orOff(head.MaxDrop)))
	}
	after := map[string]riseLimit{}
	for _, l := range head.rises() {
		after[l.name] = l
	}
	for _, was := range base.rises() {
		if is, set := after[was.name]; !set {
			out = append(out, fmt.Sprintf("weakens the gate: %s → off", was))
		} else if *is.most > *was.most {
			out = append(out, fmt.Sprintf("weakens the gate: %s → %s", was, percent(*is.most)))
		}
	}
	for i, was := range base.chances() {
		is := head.chances()[i].least
		if was.least != nil && (is == nil || *is < *was.least) {
			out = append(out, fmt.Sprintf("weakens the gate: min_power %s %v → %s", was.name, *was.least, orOff(is)))
		}
	}
	if base.Removed == RemovedFail && head.Removed != RemovedFail {
		out = append(out, "weakens the gate: removed fail → allow")
	}
	if base.FailScores && !head.FailScores {
		out = append(out, "weakens the gate: scores fail → notice")
	}
	if head.PassUnsure && !base.PassUnsure {
		out = append(out, "weakens the gate: unsure undetermined → notice")
	}
	for _, glob := range base.Required {
		if !slices.Contains(head.Required, glob) {
			out = append(out, fmt.Sprintf("weakens the gate: %s is no longer required", glob))
		}
	}
	return out
}

func orDefault(failOn string) string {
	if failOn == "" {
		return "(default)"
	}
	return failOn
}

func orOff(x *float64) string {
	if x == nil {
		return "off"
	}
	return fmt.Sprint(*x)
}

// lowered finds the cases with a weaker rule or a smaller weight. A change with one
// origin that concerns many cases is one notice.
func lowered(pairs []pair) []Notice {
	type change struct{ file, message string }
	cases := map[change][]pair{}
	var order []change
	for _, p := range pairs {
		for _, message := range weakened(p.plan) {
			c := change{ruleFile(p.plan), message}
			if cases[c] == nil {
				order = append(order, c)
			}
			cases[c] = append(cases[c], p)
		}
	}
	out := make([]Notice, 0, len(order))
	for _, c := range order {
		first := cases[c][0].plan
		n := Notice{File: c.file, Message: c.message}
		if len(cases[c]) == 1 {
			n.Case, n.Line = first.Key, first.Head.Origin.Line
			n.File = first.Head.Origin.File
		} else {
			n.Message += " for " + textfmt.Count(len(cases[c]), "case")
		}
		out = append(out, n)
	}
	return out
}

// weakened lists the weaker demands of a case that is active on both sides.
func weakened(row *plan.Row) []string {
	if !active(row.Head) || !active(row.Base) {
		return nil
	}
	var out []string
	if was, is := row.Base.Weight, row.Head.Weight; is < was {
		out = append(out, fmt.Sprintf("weakens the gate: weight %v → %v (this run counts %v)", was, is, was))
	}
	if row.BaseDigests.D != row.HeadDigests.D && row.BaseCase != nil && row.HeadCase != nil {
		if row.BaseCase.Drive.Given == nil && row.HeadCase.Drive.Given != nil {
			out = append(out, "no longer asks the target: the answer is given with the test")
		}
		out = append(out, weakerRules(row.BaseCase, row.HeadCase)...)
	}
	return out
}

// ruleFile returns the file that the plan blames for the changed rule.
func ruleFile(row *plan.Row) string {
	for _, r := range row.Reasons {
		for _, part := range []string{"threshold", "match", "required"} {
			if strings.HasPrefix(r.Part, part) {
				return r.File
			}
		}
	}
	return row.Head.Origin.File
}

func weakerRules(base, head *schema.Case) []string {
	out := append(lighter("", evaluatorWeights(base), evaluatorWeights(head)), lowerBands(base, head)...)
	out = append(out, weakerShare(base, head)...)
	if !base.Policy.Best && head.Policy.Best {
		out = append(out, "takes the result of the best sample")
	}
	for _, was := range base.Evaluators {
		i := slices.IndexFunc(head.Evaluators, func(ev schema.Evaluator) bool { return ev.Name == was.Name })
		if i < 0 {
			out = append(out, fmt.Sprintf("drops the evaluator %s", was.Name))
			continue
		}
		is := head.Evaluators[i].Rule
		if is.Threshold < was.Rule.Threshold {
			out = append(out, fmt.Sprintf("lowers the threshold of %s: %s → %s", was.Name,
				base.Traits().Show(was.Rule.Threshold), head.Traits().Show(is.Threshold)))
		}
		if is.Need > 0 && is.Need < was.Rule.Need || was.Rule.Need == 0 && is.Need > 0 {
			out = append(out, fmt.Sprintf("lowers the matches that %s needs: %s → %d", was.Name, needed(was.Rule.Need), is.Need))
		}
		out = append(out, fewerDemands(was.Name, was.Rule, is)...)
		out = append(out, lighter(" of "+was.Name, was.Rule.Weights, is.Weights)...)
	}
	return out
}

// weakerShare names a share of the samples that must pass which is smaller, or of fewer
// samples, or which takes the place of the format's rule or leaves it its place.
func weakerShare(base, head *schema.Case) []string {
	text := func(c *schema.Case) string {
		return schema.PassShare{Share: c.Policy.PassShare, Samples: c.Samples()}.String()
	}
	switch was, is := base.Policy.PassShare, head.Policy.PassShare; {
	case was == is && (was == 0 || head.Samples() >= base.Samples()):
		return nil
	case was == 0:
		return []string{"passes with " + text(head) + " samples, where the format decided"}
	case is == 0:
		return []string{"no longer asks for " + text(base) + " samples: the format decides"}
	case is > was && head.Samples() >= base.Samples():
		return nil
	}
	return []string{"lowers the share of samples that must pass: " + text(base) + " → " + text(head)}
}

// lowerBands names the lowered bands of a case's overall score. A case without bands
// passes if each of its evaluators does.
func lowerBands(base, head *schema.Case) []string {
	was, is := base.Policy.Bands, head.Policy.Bands
	switch {
	case is == nil:
		return nil
	case was == nil:
		return []string{fmt.Sprintf("passes with a score of %s, where every evaluator had to pass", head.Traits().Show(is.Pass))}
	}
	var out []string
	for _, band := range []struct {
		name    string
		was, is float64
	}{{"threshold", was.Pass, is.Pass}, {"borderline", was.Borderline, is.Borderline}} {
		if band.is < band.was && (band.name == "threshold" || was.Borderline != was.Pass || is.Borderline != is.Pass) {
			out = append(out, fmt.Sprintf("lowers the %s of the case: %s → %s", band.name,
				base.Traits().Show(band.was), head.Traits().Show(band.is)))
		}
	}
	return out
}

// fewerDemands names an evaluator's removed or weakened demands, except its threshold.
func fewerDemands(name string, was, is schema.Rule) []string {
	var out []string
	for _, id := range was.Required {
		if !slices.Contains(is.Required, id) {
			out = append(out, fmt.Sprintf("no longer requires the criterion %s of %s", id, name))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(was.Least)) {
		if slices.Contains(is.Required, id) && is.Least[id] < was.Least[id] {
			out = append(out, fmt.Sprintf("lowers the least score of the criterion %s of %s: %v → %v", id, name, was.Least[id], is.Least[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(was.Most)) {
		if most, bounded := is.Most[id]; !bounded || most > was.Most[id] {
			out = append(out, fmt.Sprintf("raises the bound of %s of %s", id, name))
		}
	}
	for _, demand := range []struct {
		name    string
		was, is float64
	}{{"gate", was.Gate, is.Gate}, {"least score", was.Floor, is.Floor}} {
		if demand.is < demand.was && (demand.name != "gate" || was.Aggregate == is.Aggregate) {
			out = append(out, fmt.Sprintf("lowers the %s of %s: %v → %v", demand.name, name, demand.was, demand.is))
		}
	}
	for _, demand := range []struct {
		says    string
		dropped bool
	}{
		{"no longer fails with a score of 0 of ", was.NonZero && !is.NonZero},
		{"requires only in most samples what every sample had to meet of ", was.Unanimous && !is.Unanimous},
		{"combines the scores in another way of ", was.Aggregate != is.Aggregate},
		{"turns the score around of ", was.Negate != is.Negate},
	} {
		if demand.dropped {
			out = append(out, demand.says+name)
		}
	}
	return out
}

func evaluatorWeights(c *schema.Case) map[string]float64 {
	out := make(map[string]float64, len(c.Evaluators))
	for _, ev := range c.Evaluators {
		out[ev.Name] = ev.Weight
	}
	return out
}

// lighter names parts with a smaller share of a score than at base. If names were added
// or removed, every share differs, and nothing is compared.
func lighter(of string, base, head map[string]float64) []string {
	var sumBase, sumHead float64
	for name, weight := range base {
		if _, there := head[name]; !there || len(head) != len(base) {
			return nil
		}
		sumBase, sumHead = sumBase+weight, sumHead+head[name]
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(base)) {
		was, is := base[name]/sumBase, head[name]/sumHead
		if round9(is) < round9(was) {
			out = append(out, fmt.Sprintf("lowers the weight of %s%s in the score: %.3g %% → %.3g %%", name, of, 100*was, 100*is))
		}
	}
	return out
}

func needed(n int) string {
	if n == 0 {
		return "all"
	}
	return fmt.Sprint(n)
}
