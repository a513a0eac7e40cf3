package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

const (
	// Repository is the name of the pull request's repository on a forge.
	Repository = "octo/demo"
	// Page is its page on the forge.
	Page = "https://github.com/" + Repository
	// Branch is the head of the pull request; the base is main.
	Branch = "friendlier-support"
)

// createDemo creates the repository in a folder: the example with all dialects on main,
// and the pull request on Branch, which is checked out.
func createDemo(ctx context.Context, dir string) error {
	base, change, err := examples.Mixed()
	if err != nil {
		return err
	}
	base[".gitignore"] = []byte(gitrepo.OwnFolder + "/\n")
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return gitrepo.Create(ctx, dir, []gitrepo.NewCommit{
		{Message: "shop assistant with its tests", Write: base, At: start},
		{Branch: Branch, Message: "friendlier support", Write: change, At: start.Add(24 * time.Hour)},
	})
}

// planDemo plans a branch of the repository against another one, or against nothing if
// base is empty. on has the rest of the setup.
func planDemo(ctx context.Context, on controller.CommitSides, branch, base string) (*controller.Prepared, error) {
	var err error
	if on.Head, err = on.Repo.Resolve(ctx, branch); err != nil {
		return nil, err
	}
	on.Base = base
	return controller.PrepareCommits(ctx, on)
}

// demoOpening summarizes the results of main, explains missing ones, and introduces the
// pull request's affected cases.
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

// demoEnding names the paths of the repository and the comment, and suggests what to
// try there.
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

// demoProgram returns how to call gavel in a shell in the given folder: as it was
// called, unless that was go run, whose program is deleted when it ends.
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

// ofGoRun matches the build folders of go run, and its cache.
var ofGoRun = lazyregexp.New(`/go-build\d*/`)
