package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// finish compares the finish reason of the target's last reply with the wanted one,
// ignoring case. The error means that the target does not report a reason.
func finish(spec evaluator.Finish, t *verdict.Transcript) (verdict.Criterion, error) {
	out := verdict.Criterion{ID: spec.Kind()}
	if t.Finish == "" {
		return out, errors.New("the target does not say why its reply ended")
	}
	holds := strings.EqualFold(t.Finish, spec.Reason)
	if holds != spec.Not {
		out.Score = 1
		return out, nil
	}
	out.Note = "the reply ended with " + quote(t.Finish)
	if holds {
		out.Note += ", and must not"
	} else {
		out.Note += ", not with " + quote(spec.Reason)
	}
	return out, nil
}

// cutNote is a part of every reason about a reply that was cut off.
const cutNote = "the answer was cut off at the limit of its tokens (max_tokens)"

// isCut reports whether the answer is only the beginning of what the target would have said.
func isCut(t *verdict.Transcript) bool { return t.Finish == verdict.FinishLength }

// inverted returns the name of an evaluator that wants something not to be so and found
// that it is not; empty for every other one.
func inverted(spec schema.Spec, f finding) string {
	name, not, decides := "", false, true // whether the first criterion alone decides
	switch s := spec.(type) {
	case evaluator.Assertion:
		name, not = s.Type, s.Not
	case evaluator.Graded:
		name, not = cmp.Or(s.Type, s.Kind()), s.Not
	case evaluator.JavaScript:
		name, not = s.Kind(), s.Not
	case evaluator.Function:
		name, not = s.Kind(), s.Not
	case evaluator.Calls:
		name, not = s.Type, s.Not
	case evaluator.Similar:
		name, not, decides = s.Kind(), s.Not, false // its threshold does
	case evaluator.Classified:
		name, not, decides = s.Kind(), s.Not, false
	}
	if !not || decides && (len(f.criteria) == 0 || f.criteria[0].Score < 1) {
		return ""
	}
	return "not-" + name
}

// errLacks is the error of a check that something is not in an answer that was cut off:
// the rest may have it.
func errLacks(what string) error {
	return fmt.Errorf("%s, so that it is not known whether %s: raise max_tokens of the target", cutNote, what)
}
