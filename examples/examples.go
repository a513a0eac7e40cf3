// Package examples holds small repositories that show how tests are written,
// one for each dialect and one with all of them and a pull request, which gavel
// demo judges.
//
// The recorded replies in them were written by hand: no model was asked.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed all:mixed
var mixed embed.FS

//go:embed workflow/gavel.yml
var workflow string

//go:embed workflow/without-forks.yml
var withoutForks string

// Action is the address of the action in every page and workflow: a full commit, since a
// branch or a tag can move.
const Action = "gavel-evals/gavel/.github/actions/gavel@573b08f85da0acc7180276a8c1c26aef1d3cfa2b"

// Workflow returns the text of the workflow for GitHub Actions.
func Workflow() string { return workflow }

// WorkflowWithoutForks returns the text of the one for teams that take no pull requests
// from forks.
func WorkflowWithoutForks() string { return withoutForks }

// Mixed returns the files of the repository with all dialects by their paths, and the
// files that the pull request to it writes; deleted files are nil.
func Mixed() (base, change map[string][]byte, err error) {
	if base, err = files("mixed/main"); err != nil {
		return nil, nil, err
	}
	change, err = files("mixed/pull")
	for name, data := range change {
		if len(data) == 0 {
			change[name] = nil
		}
	}
	return base, change, err
}

func files(dir string) (map[string][]byte, error) {
	root, err := fs.Sub(mixed, dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[name], err = fs.ReadFile(root, name)
		return err
	})
	return out, err
}
