package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// index is the list of all pages for programs that read them, in the form of llmstxt.org:
// a heading, a summary, and links by section.
const index = "examples/llms.txt"

// sections are the folders with pages, under their headings.
var sections = []struct{ heading, pattern string }{
	{"Pages", "examples/*.md"},
	{"Formats of tests", "examples/formats/*.md"},
	{"Servers", "examples/server/*.md"},
	{"Operating", "examples/deploy/*.md"},
	{"Skills", "examples/skill/*/SKILL.md"},
}

// writeIndex writes the index of the pages in a repository.
func writeIndex(root string) error {
	_, summary, err := firstWords(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Gavel\n\n> %s\n", summary)
	for _, s := range sections {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(s.pattern)))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s matches no page", s.pattern)
		}
		fmt.Fprintf(&b, "\n## %s\n\n", s.heading)
		for _, file := range files {
			title, summary, err := firstWords(file)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(filepath.Join(root, path.Dir(index)), file)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "- [%s](%s): %s\n", title, filepath.ToSlash(rel), summary)
		}
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(index)), b.Bytes(), 0o644)
}

// firstWords returns the heading of a page and the first sentence below it, both without
// links. The error names a page that lacks one.
func firstWords(file string) (title, sentence string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	fenced := false
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
		case title == "":
			title, _ = strings.CutPrefix(line, "# ")
			if title == line {
				title = ""
			}
		case line != "" && !strings.ContainsAny(line[:1], "#|<- "):
			sentence, _, more := strings.Cut(anyLink.ReplaceAllString(line, "$1"), ". ")
			if more {
				sentence += "."
			}
			return anyLink.ReplaceAllString(title, "$1"), sentence, nil
		}
	}
	return "", "", fmt.Errorf("%s has no heading with a sentence below it", file)
}
