package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/commits"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ownfolder"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

const (
	// Repository is the name that the pull request's repository has on a forge.
	Repository = "octo/demo"
	// Page is where it would be looked at.
	Page = "https://github.com/" + Repository
	// Branch holds the pull request, which is to main.
	Branch = "friendlier-support"
)

// createDemo makes the repository in a folder: the example with all dialects on
// main, and the pull request on Branch, which is the working tree.
func createDemo(ctx context.Context, dir string) error {
	base, change, err := examples.Mixed()
	if err != nil {
		return err
	}
	base[".gitignore"] = []byte(ownfolder.Name + "/\n")
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return gitrepo.Create(ctx, dir, []gitrepo.NewCommit{
		{Message: "shop assistant with its tests", Write: base, At: start},
		{Branch: Branch, Message: "friendlier support", Write: change, At: start.Add(24 * time.Hour)},
	})
}

// planDemo plans a branch of the repository against another one, or against nothing
// where base is empty. on says with what.
func planDemo(ctx context.Context, on commits.Sides, branch, base string) (*controller.Prepared, error) {
	var err error
	if on.Head, err = on.Repo.Resolve(ctx, branch); err != nil {
		return nil, err
	}
	on.Base = base
	return commits.Prepare(ctx, on)
}

// demoOpening sums up what was judged on main, says why something was not, and
// leads over to what the pull request affects.
func demoOpening(main *report.Report) string {
	var b strings.Builder
	s := main.Summary
	fmt.Fprintf(&b, "On main, %d cases in four dialects are judged: %d pass, %d fail, %d calls.\n", s.Cases, s.Pass, s.Fail, s.Calls)
	for _, row := range main.Cases {
		if row.Error != nil {
			fmt.Fprintf(&b, "%s was not judged: %s\n", row.Name(), *row.Error)
		}
	}
	b.WriteString(`
A pull request edits three prompts and a system prompt that three cases share,
breaks a file, changes a description, lowers a threshold, demands more in a
rubric, and adds, moves and removes a case. This is what that affects:

`)
	return b.String()
}

// demoEnding says where the repository and the comment are, and what to try there.
func demoEnding(program, dir, comment string) string {
	return fmt.Sprintf(`
repository  %[2]s
comment     %[3]s

Try it there:
  %[1]s -C %[2]s plan --base main
  %[1]s -C %[2]s run --base main
  %[1]s -C %[2]s explain support/level_1/test_refund_window
`, program, dir, comment)
}

// demoProgram is what to write for gavel in a shell whose folder is given: what
// was written, unless that was go run, whose program is gone when it ends.
func demoProgram(called, folder string) string {
	if !ofGoRun.MatchString(filepath.ToSlash(called)) {
		return called
	}
	const source = "cmd/gavel"
	if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(source), "main.go")); err == nil {
		return "go run ./" + source
	}
	return "go run " + module + "/" + source + "@latest"
}

const module = "github.com/gavel-evals/gavel"

// ofGoRun matches the folders that go run builds in, and its cache.
var ofGoRun = lazyregexp.New(`/go-build\d*/`)
