package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestCheckoutsOfGit: repositories with what git itself writes into their configuration are
// read; a sparse checkout that leaves definitions out, and a format that is not supported,
// end with a sentence and a repair.
func TestCheckoutsOfGit(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"gavel.yaml":                             "version: 1\ntargets: {bot: {provider: mock, replies: [{echo: true}]}}\n",
		"test_definitions/shop/domain.json":      `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
		"test_definitions/shop/level_1/one.json": `{"id": "one", "name": "One", "prompt": "say hello", "expected": {"keywords": ["hello"]}}`,
		"test_definitions/shop/level_1/two.json": `{"id": "two", "name": "Two", "prompt": "say two", "expected": {"keywords": ["two"]}}`,
		"web/index.html":                         "x", "README.md": "x",
	}
	for _, tt := range []struct {
		name string
		git  [][]string
		says string // empty for a run that passes
	}{
		{"worktree config", [][]string{{"config", "extensions.worktreeConfig", "true"}}, ""},
		{"precious objects", [][]string{{"config", "core.repositoryFormatVersion", "1"}, {"config", "extensions.preciousObjects", "true"}}, ""},
		{"a partial clone", [][]string{{"config", "core.repositoryFormatVersion", "1"}, {"config", "extensions.partialClone", "origin"}}, ""},
		{"all is checked out", [][]string{{"sparse-checkout", "set", "--no-cone", "/*"}}, ""},
		{"without another folder", [][]string{{"sparse-checkout", "set", "test_definitions"}}, ""},
		{"without the definitions", [][]string{{"sparse-checkout", "set", "web"}}, "the sparse checkout leaves out 3 definitions, such as test_definitions/shop/domain.json: run git sparse-checkout add test_definitions"},
		{"without one of them", [][]string{{"sparse-checkout", "set", "--no-cone", "/*", "!two.json"}}, "the sparse checkout leaves out 1 definition, such as test_definitions/shop/level_1/two.json: run"},
		{"a sparse index", [][]string{{"sparse-checkout", "set", "--cone", "--sparse-index", "web"}}, "run git sparse-checkout reapply --no-sparse-index"},
		{"another format", [][]string{{"config", "core.repositoryFormatVersion", "1"}, {"config", "extensions.objectFormat", "sha256"}}, "gavel reads repositories in the format that git makes by default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "r")
			gittest.Run(t, t.TempDir(), "init", "-q", "-b", "main", dir)
			gittest.Commit(t, dir, files)
			gittest.Run(t, dir, "reset", "-q", "--hard")
			for _, args := range tt.git {
				gittest.Run(t, dir, args...)
			}
			for _, args := range [][]string{{"validate"}, {"plan"}, {"run"}} {
				stdout, stderr, code := gavel(t, dir, args...)
				switch {
				case tt.says == "" && (code != exitPass || !strings.Contains(stdout+stderr, "2")):
					t.Errorf("%v ends with %d: %s%s", args, code, stdout, stderr)
				case tt.says != "" && (code != exitUsage || !strings.Contains(stderr, tt.says)):
					t.Errorf("%v ends with %d: %s, want %s", args, code, stderr, tt.says)
				}
			}
		})
	}
}

// TestSparseSkills: evals that a sparse checkout leaves out are missed, and other files in
// folders of skills are not.
func TestSparseSkills(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ left, says string }{
		{"more/csv/evals/evals.json", "the sparse checkout leaves out 1 definition, such as more/csv/evals/evals.json: run git sparse-checkout add test_definitions promptfooconfig.json promptfooconfig.yaml promptfooconfig.yml .gavelignore tools more/csv,"},
		{"skills/notes.md", ""},
	} {
		dir := filepath.Join(t.TempDir(), "r")
		gittest.Run(t, t.TempDir(), "init", "-q", "-b", "main", dir)
		gittest.Commit(t, dir, map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: mock, replies: [{echo: true}]}}\n", "csv/SKILL.md": "x", "csv/evals/evals.json": `{"evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`, tt.left: `{"evals": [{"id": 1, "prompt": "p"}]}`})
		gittest.Run(t, dir, "reset", "-q", "--hard")
		gittest.Run(t, dir, "sparse-checkout", "set", "csv")
		if _, stderr, code := gavel(t, dir, "validate"); !strings.Contains(stderr, tt.says) || (code == exitUsage) != (tt.says != "") {
			t.Errorf("without %s: %d, %s", tt.left, code, stderr)
		}
	}
}
