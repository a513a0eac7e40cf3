package evaluate

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// traces looks for files in the workspace as the target left it, and for texts in what
// the target said, called and got back. A text that is not in the answer of a target
// whose calls are unknown is an error.
func traces(spec evaluator.Traces, in suiteInput) (suiteFinding, error) {
	var out suiteFinding
	var missed []string
	ids := spec.IDs()
	add := func(holds bool) {
		c := verdict.Criterion{ID: ids[len(out.Criteria)], Score: share(holds)}
		if !holds {
			c.Note = "there is none"
			missed = append(missed, c.ID)
		}
		out.Criteria = append(out.Criteria, c)
	}
	left := in.leftFiles()
	for _, name := range spec.Files {
		add(endsWith(left, name))
	}
	log := strings.ToLower(in.log())
	for _, text := range spec.Logs {
		found := strings.Contains(log, strings.ToLower(text))
		if !found && !in.Transcript.Traced {
			return suiteFinding{}, errUntraced
		}
		add(found)
	}
	if out.Reason = "all of its traces are there"; len(missed) > 0 {
		out.Reason = "missing: " + strings.Join(missed, "; ")
	}
	return out, nil
}

// leftFiles lists the files of the workspace that the case laid out or the target wrote.
func (in suiteInput) leftFiles() []string {
	left := map[string]bool{}
	if w := in.Case.Drive.Workspace; w != nil {
		for _, f := range w.Files {
			left[f.Path] = true
		}
		for _, f := range w.Staged {
			left[f.Path] = true
		}
	}
	if changes := in.Transcript.Changes; changes != nil {
		for _, f := range changes.Files {
			left[f.Path] = !f.Deleted
		}
	}
	var names []string
	for name, is := range left {
		if is {
			names = append(names, name)
		}
	}
	return names
}

// endsWith reports whether the last segments of a path are those of a name.
func endsWith(paths []string, name string) bool {
	name = "/" + strings.Trim(strings.TrimPrefix(name, "./"), "/")
	for _, path := range paths {
		if strings.HasSuffix("/"+path, name) {
			return true
		}
	}
	return false
}

// log returns what the target said, called and got back.
func (in suiteInput) log() string {
	var b strings.Builder
	for _, m := range in.output() {
		b.WriteString(m.Content + "\n")
		for _, call := range m.ToolCalls {
			b.WriteString(call.Function.Name + " " + call.Function.Arguments + "\n")
		}
	}
	return b.String()
}
