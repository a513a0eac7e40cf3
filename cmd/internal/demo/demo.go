// Package demo holds the pull request that gavel demo judges, and the words
// around it.
//
// [Create] makes its repository. Nothing here judges anything.
package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/reporters"
)

const (
	// Repository is the name that the pull request's repository has on a forge.
	Repository = "octo/demo"
	// Page is where it would be looked at.
	Page = "https://github.com/" + Repository
	// Branch holds the pull request, which is to main.
	Branch = "friendlier-support"
)

// Create makes the repository in a folder: the example with all dialects on
// main, and the pull request on Branch, which is the working tree.
func Create(ctx context.Context, dir string) error {
	base, change, err := examples.Mixed()
	if err != nil {
		return err
	}
	base[".gitignore"] = []byte(controller.OwnFolder + "/\n")
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return gitrepo.Create(ctx, dir, []gitrepo.Change{
		{Message: "shop assistant with its tests", Write: base, At: start},
		{Branch: Branch, Message: "friendlier support", Write: change, At: start.Add(24 * time.Hour)},
	})
}

// Opening sums up what was judged on main, says why something was not, and
// leads over to what the pull request affects.
func Opening(main *reporters.Report) string {
	var b strings.Builder
	s := main.Summary
	fmt.Fprintf(&b, "On main, %d cases in four dialects are judged: %d pass, %d fail, %d calls.\n", s.Cases, s.Pass, s.Fail, s.Calls)
	for _, row := range main.Cases {
		if row.Error != nil {
			fmt.Fprintf(&b, "%s was not judged: %s\n", row.Name(), *row.Error)
		}
	}
	b.WriteString(`
A pull request edits a prompt and a system prompt that three cases share, breaks
a file, changes a description, lowers a threshold, demands more in a rubric, and
adds, moves and removes a case. This is what that affects:

`)
	return b.String()
}

// Ending says where the repository and the comment are, and what to try there.
func Ending(dir, comment string) string {
	return fmt.Sprintf(`
repository  %s
comment     %s

Try it there:
  gavel plan --base main
  gavel run --base main
  gavel explain support/level_1/test_refund_window
`, dir, comment)
}
