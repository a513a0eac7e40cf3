package report

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// Errors counts the cases that ended in an error. Those that were not run and
// those whose definitions are invalid are spoken of as that.
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
// depend on how much had to be judged, since that depends on what is stored.
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

// InvalidFiles counts the files with an error, since a file with ten mistakes
// is one definition that nobody can run.
func InvalidFiles(problems []schema.Problem) int {
	files := map[string]bool{}
	for _, p := range problems {
		if p.Severity == schema.Error {
			files[p.File] = true
		}
	}
	return len(files)
}

// OutOfBounds reports whether nothing of the commit was read, because it is
// larger than what is looked at.
func OutOfBounds(problems []schema.Problem) bool {
	return slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Rule == schema.RuleOutOfBounds })
}
