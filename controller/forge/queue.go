package forge

import (
	"strconv"
	"strings"
)

// A Group is what a merge queue wants to merge next, as its branch says.
type Group struct {
	// Base is the branch that it is merged into, without refs/heads/.
	Base string
	// Number is the last pull request in it; 0 if the branch does not say.
	Number int
	// BaseSHA is its parent: a commit of the base branch, or of the previous
	// group. It is "" if the branch does not say.
	BaseSHA string
}

// queued begins the names of the branches of a merge queue, which nobody but
// the forge can push to.
const queued = "gh-readonly-queue/"

// Queued reads the name of a merge group's branch, without refs/heads/, such as
// gh-readonly-queue/main/pr-7-<commit>. It reports false for every other branch.
func Queued(branch string) (Group, bool) {
	rest, ok := strings.CutPrefix(branch, queued)
	slash := strings.LastIndex(rest, "/")
	if !ok || slash <= 0 {
		return Group{}, false
	}
	g := Group{Base: rest[:slash]}
	number, sha, _ := strings.Cut(strings.TrimPrefix(rest[slash+1:], "pr-"), "-")
	if n, err := strconv.Atoi(number); err == nil && n > 0 {
		g.Number = n
	}
	if shaPattern.MatchString(sha) {
		g.BaseSHA = sha
	}
	return g, true
}
