package report

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// Errors counts the cases that ended in an error, without cases that were not run or
// whose definition is invalid, which are reported separately.
func Errors(r *Report) int {
	n := r.Summary.Error - r.Summary.NotRun
	for i := range r.Cases {
		if r.Cases[i].Invalid() {
			n--
		}
	}
	return n
}

// NothingAffected reports whether every case is the same on both sides. It does not
// depend on the number of judged cases, which depends on the stored results.
func NothingAffected(r *Report) bool {
	switch s := r.Summary; {
	case r.Base == nil:
		return false
	case s.Affected == nil: // a commit was judged again
		return Due(r)+s.Removed+r.Diff.Moved == 0
	default:
		return *s.Affected+s.ChangedUnrun == 0
	}
}

// Due counts the cases that had to be judged in this run.
func Due(r *Report) int { return r.Summary.Run + r.Summary.Rejudged + r.Summary.Redecided }

// InvalidFiles counts the files with an error, since a file with ten mistakes is one
// unusable definition. One that waits for approval is not known to be invalid.
func InvalidFiles(problems []schema.Problem) int {
	invalid, _ := unusable(problems)
	return invalid
}

// WaitingFiles counts the files that are not wholly read before the head is approved, without
// invalid ones.
func WaitingFiles(problems []schema.Problem) int {
	_, waiting := unusable(problems)
	return waiting
}

// waits reports whether a case was not read since its definition waits for approval.
func waits(reasons []plan.Reason) bool {
	return slices.ContainsFunc(reasons, func(r plan.Reason) bool { return r.Message == plan.Waits })
}

func unusable(problems []schema.Problem) (invalid, waiting int) {
	waits := map[string]bool{}
	for _, p := range problems {
		if p.Severity == schema.Error {
			before, known := waits[p.File]
			waits[p.File] = p.Rule == schema.RuleWaits && (before || !known)
		}
	}
	for _, is := range waits {
		if is {
			waiting++
		} else {
			invalid++
		}
	}
	return invalid, waiting
}

// OutOfBounds reports whether nothing of the commit was read because it exceeds the
// bounds.
func OutOfBounds(problems []schema.Problem) bool {
	return slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Rule == schema.RuleOutOfBounds })
}

// allAsked reports whether people asked for every case, affected or not.
func allAsked(r *Report) bool {
	return slices.ContainsFunc(r.Cases, func(row Row) bool {
		return slices.ContainsFunc(row.Reasons, func(why plan.Reason) bool { return why.Part == plan.AllAsked })
	})
}
