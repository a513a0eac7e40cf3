package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// traceCriterion is the id of the one criterion of a measurement.
const traceCriterion = "calls"

// skillTools are the tools by which agents use a skill; the skill's name is an
// argument.
var skillTools = []string{"skill", "use_skill", "load_skill", "read_skill", "activate_skill"}

// traceCalls checks a transcript's calls against a rule. The criterion scores 1 if the
// rule holds, else 0, and its note gives the reason. An error means that the calls are
// unknown.
func traceCalls(spec evaluator.Calls, t *verdict.Transcript) (verdict.Criterion, error) {
	if !t.Traced {
		return verdict.Criterion{}, errors.New("the target does not report its tool calls")
	}
	made := Made(t.Messages)
	wrong, err := violation(spec, made, t.Tools)
	if err != nil {
		return verdict.Criterion{}, err
	}
	out := verdict.Criterion{ID: traceCriterion}
	switch {
	case spec.Not && wrong == "":
		out.Note = spec.Type + " holds, and must not"
	case !spec.Not && wrong != "":
		out.Note = wrong + "; called: " + called(made)
		contrastRule(&out, spec, made)
	default:
		out.Score = 1
	}
	return out, nil
}

// contrastRule adds to a criterion the calls that a rule asks for, and the calls that were
// made. Rules without a list of calls add nothing.
func contrastRule(c *verdict.Criterion, spec evaluator.Calls, made []Call) {
	var wanted, actual []string
	for _, m := range made {
		actual = append(actual, m.Name)
	}
	switch spec.Type {
	case evaluator.CallsWithArgs:
		want := Call{Name: spec.Tools[0].Pattern, Text: string(spec.Args)}
		of := slices.DeleteFunc(slices.Clone(made), func(m Call) bool { return !fitsCalls(want.Name, m.Name) })
		if len(of) == 0 {
			of = made
		}
		contrastOrder(c, []Call{want}, of)
		return
	case evaluator.CallsInSequence:
		for _, tool := range spec.Tools {
			wanted = append(wanted, tool.Pattern)
		}
	case evaluator.CallsUsed, evaluator.CallsCounted, evaluator.CallsOfSkills:
		for _, tool := range spec.Tools {
			wanted = append(wanted, tool.Pattern+", "+numberOf(tool))
		}
		if spec.Type == evaluator.CallsOfSkills {
			actual = skills(made)
		}
	}
	contrast(c, strings.Join(wanted, "\n"), strings.Join(actual, "\n"))
}

// numberOf returns the bounds of a tool's calls in words.
func numberOf(tool evaluator.CallName) string {
	switch {
	case tool.Most == nil && tool.Least == 0:
		return "any number of times"
	case tool.Most == nil:
		return "at least " + times(tool.Least)
	case tool.Least == *tool.Most:
		return times(tool.Least)
	case tool.Least == 0:
		return "at most " + times(*tool.Most)
	}
	return fmt.Sprintf("%d to %s", tool.Least, times(*tool.Most))
}

// violation describes the mistake in the calls; empty if the rule holds.
func violation(spec evaluator.Calls, made []Call, offered []schema.Tool) (string, error) {
	switch spec.Type {
	case evaluator.CallsUsed:
		return counts(spec.Tools, func(pattern string) int { return count(made, pattern) }, "called"), nil
	case evaluator.CallsOfSkills:
		used := skills(made)
		return counts(spec.Tools, func(pattern string) int { return len(matching(used, pattern)) }, "used"), nil
	case evaluator.CallsCounted:
		return counts(spec.Tools, func(pattern string) int { return count(made, pattern) }, "called"), nil
	case evaluator.CallsInSequence:
		return sequence(spec, made), nil
	case evaluator.CallsWithArgs:
		return args(spec, made)
	case evaluator.CallsAreValid:
		return valid(made, offered), nil
	}
	return "", fmt.Errorf("the rule %q is not known", spec.Type)
}

// fitsCalls reports whether a name fits a pattern, ignoring case.
func fitsCalls(pattern, name string) bool {
	return wildcard.Match(strings.ToLower(pattern), strings.ToLower(name))
}

func count(made []Call, pattern string) int {
	n := 0
	for _, c := range made {
		if fitsCalls(pattern, c.Name) {
			n++
		}
	}
	return n
}

func matching(names []string, pattern string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !fitsCalls(pattern, name) })
}

// counts checks numbers of occurrences against bounds.
func counts(bounds []evaluator.CallName, of func(pattern string) int, done string) string {
	for _, b := range bounds {
		switch n := of(b.Pattern); {
		case n < b.Least && b.Least == 1:
			return fmt.Sprintf("%s is never %s", b.Pattern, done)
		case n < b.Least:
			return fmt.Sprintf("%s is %s %d of at least %d times", b.Pattern, done, n, b.Least)
		case b.Most != nil && n > *b.Most && *b.Most == 0:
			return fmt.Sprintf("%s is %s %s, and may not be", b.Pattern, done, times(n))
		case b.Most != nil && n > *b.Most:
			return fmt.Sprintf("%s is %s %s, and may be %s", b.Pattern, done, times(n), times(*b.Most))
		}
	}
	return ""
}

// skills returns the names of the skills that calls use.
func skills(made []Call) []string {
	var used []string
	for _, c := range made {
		if !slices.Contains(skillTools, strings.ToLower(c.Name)) {
			continue
		}
		arguments, _ := c.Args.(map[string]any)
		for _, key := range []string{"skill", "name", "skill_name", "command"} {
			if name, ok := arguments[key].(string); ok {
				used = append(used, name)
				break
			}
		}
	}
	return used
}

// sequence looks for the tools in order.
func sequence(spec evaluator.Calls, made []Call) string {
	at := 0
	for _, c := range made {
		switch {
		case at < len(spec.Tools) && fitsCalls(spec.Tools[at].Pattern, c.Name):
			at++
		case spec.Exact:
			return fmt.Sprintf("the call of %s is not in the sequence", c.Name)
		}
	}
	if at < len(spec.Tools) {
		return fmt.Sprintf("the sequence ends before %s", spec.Tools[at].Pattern)
	}
	return ""
}

// args looks for a call with the wanted arguments.
func args(spec evaluator.Calls, made []Call) (string, error) {
	wanted, err := object(spec.Args)
	if err != nil {
		return "", err
	}
	defaults, err := object(spec.Defaults)
	if err != nil {
		return "", err
	}
	tool := spec.Tools[0].Pattern
	for _, c := range made {
		if got, ok := c.Args.(map[string]any); ok && fitsCalls(tool, c.Name) && same(spec, wanted, got, defaults) {
			return "", nil
		}
	}
	return fmt.Sprintf("no call of %s has the arguments %s", tool, clip(string(spec.Args))), nil
}

func object(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	decoded, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	out, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are not an object")
	}
	return out, nil
}

// same compares the wanted arguments or, for an exact rule, all of them.
func same(spec evaluator.Calls, wanted, got, defaults map[string]any) bool {
	names := []string{}
	for name := range wanted {
		names = append(names, name)
	}
	if spec.Exact {
		for name := range got {
			names = append(names, name)
		}
	}
	for _, name := range names {
		value, there := got[name]
		if !there {
			value, there = defaults[name]
		}
		want, listed := wanted[name]
		if !listed {
			want, listed = defaults[name]
		}
		if !slices.Contains(spec.Ignore, name) && (!there || !listed || !reflect.DeepEqual(value, want)) {
			return false
		}
	}
	return true
}

// valid checks calls against the offered tools.
func valid(made []Call, offered []schema.Tool) string {
	if len(made) == 0 {
		return "no tool is called"
	}
	for _, c := range made {
		i := slices.IndexFunc(offered, func(t schema.Tool) bool { return t.Name == c.Name })
		if i < 0 && len(offered) > 0 {
			return fmt.Sprintf("%s is not a tool that was offered", c.Name)
		}
		if i < 0 || len(offered[i].Parameters) == 0 {
			continue
		}
		form, err := jsonschema.Compile(offered[i].Parameters)
		if err != nil {
			return fmt.Sprintf("the parameters of %s are not a JSON Schema", c.Name)
		}
		if err := form.Check([]byte(c.Text)); err != nil {
			return fmt.Sprintf("the arguments of %s do not fit: %s", c.Name, clip(err.Error()))
		}
	}
	return ""
}

// called lists the called tools in order.
func called(made []Call) string {
	if len(made) == 0 {
		return "none"
	}
	names := make([]string, len(made))
	for i, m := range made {
		names[i] = m.Name
	}
	return clip(strings.Join(names, ", "))
}
