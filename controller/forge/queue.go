package forge

import (
	"strconv"
	"strings"
)

// A Group is a merge queue's next merge, according to its branch name.
type Group struct {
	// Base is the target branch, without refs/heads/.
	Base string
	// Number is the last pull request in it; 0 if the branch name lacks it.
	Number int
	// BaseSHA is its parent: a commit of the base branch, or of the previous group. It
	// is "" if the branch name lacks it.
	BaseSHA string
}

// queued is the prefix of a merge queue's branches, which only the forge can push to.
const queued = "gh-readonly-queue/"

// Queued parses the name of a merge group's branch, without refs/heads/, such as
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
