// Package files writes the result files of a run, one Go file per format: JUnit XML,
// SARIF, the results of AgentV and promptfoo, and pages of Markdown and HTML.
//
// Most callers [Check] the files before the run and [Write] them after. Results of
// AgentV and promptfoo have only the cases of their own format, without skipped and
// inactive ones; their report needs rows with a Result.
package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/html"
)

// A File is one result file of a run.
type File struct {
	// Flag is the command line flag of the file, such as --junit. Path is its place on
	// disk.
	Flag, Path string
	// Render writes the report in the format of the file.
	Render func(io.Writer, *report.Report) error
	// RenderAll, if set, makes Path a folder and returns the files in it.
	RenderAll func(*report.Report) ([]Part, error)
}

// A Part is a file in a folder of results. Its name is relative to it, with slashes.
type Part struct {
	Name string
	Data []byte
}

// JUnit returns the file with the report as JUnit XML.
func JUnit(path string) File { return File{Flag: "--junit", Path: path, Render: WriteJUnit} }

// Markdown returns the file with a pull request's comment.
func Markdown(path string) File {
	return File{Flag: "--markdown", Path: path, Render: func(w io.Writer, r *report.Report) error {
		_, err := io.WriteString(w, comment.Markdown(r, comment.Options{}))
		return err
	}}
}

// Results returns the file with the results of evalcase suites, a line of JSON per case.
func Results(path string, now func() time.Time) File {
	return File{Flag: "--results", Path: path, Render: func(w io.Writer, r *report.Report) error {
		return WriteAgentEvals(w, r, now())
	}}
}

// Promptfoo returns the file with the results of the matrix format in promptfoo's form.
func Promptfoo(path string, now func() time.Time) File {
	return File{Flag: "--results", Path: path, Render: func(w io.Writer, r *report.Report) error {
		return WritePromptfoo(w, r, now())
	}}
}

// Summary returns the file that sums up the results of evalcase suites.
func Summary(path string, now func() time.Time) File {
	return File{Flag: "--summary", Path: path, Render: func(w io.Writer, r *report.Report) error {
		return WriteAgentEvalsSummary(w, r, now())
	}}
}

// HTML returns the file with the report as one self-contained page. recall adds earlier
// verdicts and stored replies of the cases; a nil recall adds none.
func HTML(path string, o html.Options, recall func(*report.Report, *html.Options) error) File {
	return File{Flag: "--html", Path: path, Render: func(w io.Writer, r *report.Report) error {
		if recall != nil {
			if err := recall(r, &o); err != nil {
				return err
			}
		}
		return html.Write(w, r, o)
	}}
}

// WithPaths returns the files with a path. at converts each path to the place on disk.
func WithPaths(at func(string) string, files ...File) (named []File) {
	for _, f := range files {
		if f.Path != "" {
			f.Path = at(f.Path)
			named = append(named, f)
		}
	}
	return named
}

// Check creates the folders of the files and opens each file for writing, so that no
// paid run ends at an unwritable path, or with one file in the place of two. It does not
// change their content. Its errors name the flag and the repair.
func Check(files ...File) error {
	var errs []error
	for i, f := range files {
		if n := slices.IndexFunc(files[:i], func(o File) bool { return filepath.Clean(o.Path) == filepath.Clean(f.Path) }); n >= 0 && f.Path != os.DevNull {
			errs = append(errs, fmt.Errorf("%s %s: %s writes this file; give each its own", f.Flag, f.Path, files[n].Flag))
			continue
		}
		if err := f.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", f.Flag, f.Path, err))
		}
	}
	return errors.Join(errs...)
}

func (f File) check() error {
	if f.RenderAll != nil {
		if err := safefile.MkdirAll(f.Path, 0o755); err != nil {
			return fmt.Errorf("the folder cannot be made; name a folder where you may write: %w", err)
		}
		if err := safefile.Probe(filepath.Join(f.Path, "results")); err != nil {
			return fmt.Errorf("the folder cannot be written; name one where you may write: %w", err)
		}
		return nil
	}
	if info, err := os.Stat(f.Path); err == nil && info.IsDir() {
		return fmt.Errorf("it is a folder; name a file in it, such as %s", filepath.Join(f.Path, "report"))
	}
	if err := safefile.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return fmt.Errorf("the folder cannot be made; name a file where you may write: %w", err)
	}
	if err := safefile.Probe(f.Path); err != nil {
		return fmt.Errorf("it cannot be written; name a file where you may write: %w", err)
	}
	return nil
}

// Write writes the files. It writes the others even if one cannot be written.
func Write(r *report.Report, files ...File) error {
	var errs []error
	for _, f := range files {
		if err := f.write(r); err != nil {
			errs = append(errs, fmt.Errorf("%s: write %s: %w", f.Flag, f.Path, err))
		}
	}
	return errors.Join(errs...)
}

func (f File) write(r *report.Report) error {
	if f.RenderAll != nil {
		return f.writeAll(r)
	}
	return safefile.Replace(f.Path, 0o644, func(out *os.File) error { return f.Render(out, r) })
}

// writeAll writes the files of a folder.
func (f File) writeAll(r *report.Report) error {
	parts, err := f.RenderAll(r)
	if err != nil {
		return err
	}
	for _, part := range parts {
		name := filepath.Join(f.Path, filepath.FromSlash(part.Name))
		if err := safefile.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := safefile.WriteFile(name, part.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
