package files_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

func TestCheckMakesFoldersAndLeavesFiles(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old.xml"), filepath.Join(dir, "a", "b", "new.md")
	if err := os.WriteFile(old, []byte("of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := files.Check(files.JUnit(old), files.Markdown(fresh)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "of yesterday" {
		t.Errorf("the old file is %q, %v", text, err)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the new file is there before the run: %v", err)
	}
	r := report.Compare(reporttest.Regressions().In)
	if err := files.Write(r, files.JUnit(old), files.Markdown(fresh)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, want string }{{old, "<testsuites name=\"gavel\""}, {fresh, "### ❌ 2 regressions"}} {
		if text, err := os.ReadFile(tt.file); err != nil || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s lacks %q: %v", tt.file, tt.want, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := files.Check(files.JUnit(dir), files.Markdown(filepath.Join(dir, "file", "x.md")))
	for _, want := range []string{"--junit " + dir + ": it is a folder; name a file in it", "--markdown ", "the folder cannot be made; name a file where you may write"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// TestCheckRefusesOneFileForTwo: one result would be in the place of the other.
func TestCheckRefusesOneFileForTwo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	err := files.Check(files.JUnit(file), files.Markdown(filepath.Dir(file)+"/./out"))
	if err == nil || !strings.Contains(err.Error(), "--junit writes this file; give each its own") {
		t.Errorf("the error is %v", err)
	}
	if err := files.Check(files.JUnit(os.DevNull), files.Markdown(os.DevNull), files.Markdown(file)); err != nil {
		t.Error(err)
	}
}

// TestWriteGoesOn: what one file cannot take is in the others all the same.
func TestWriteGoesOn(t *testing.T) {
	dir := t.TempDir()
	full := files.JUnit(filepath.Join(dir, "full.xml"))
	full.Render = func(io.Writer, *report.Report) error { return errors.New("no space left") }
	other := filepath.Join(dir, "comment.md")
	err := files.Write(report.Compare(reporttest.NothingAffected().In), full, files.Markdown(other))
	if err == nil || !strings.Contains(err.Error(), "--junit: write ") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v, want one of --junit about no space left", err)
	}
	if text, err := os.ReadFile(other); err != nil || len(text) == 0 {
		t.Errorf("the other file: %v", err)
	}
}
