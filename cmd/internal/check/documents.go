package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// architecture is the document that has a tree of all packages.
const architecture = "controller/ARCHITECTURE.md"

var (
	// link is a relative link of Markdown, up to its fragment.
	link = regexp.MustCompile(`\]\(([^)#\s:]+)(?:#[^)\s]*)?\)`)
	// inCode is code within a line.
	inCode = regexp.MustCompile("`([^`\n]+)`")
	// treeFolder and treeNames are lines of a tree of folders.
	treeFolder = regexp.MustCompile(`^([a-z]+(?:/[a-z]+)*) {2,}\S`)
	treeNames  = regexp.MustCompile(`^  ([a-z0-9]+(?: [a-z0-9]+)*) {2,}\S`)
	// ownPath is a path of this repository as documents write it, perhaps a glob.
	ownPath = regexp.MustCompile(`^(?:cmd|controller|schema|reporters|\.github|\.ci)(?:/[\w.*-]+)+/?$`)
)

// documents checks that every link and path in a document leads to a file of
// the repository, and that the page on the architecture has every package.
func documents(ctx context.Context, root string, _ io.Writer) error {
	list, err := output(ctx, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md")
	if err != nil {
		return err
	}
	var found []finding
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if strings.Contains(name, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		exists := func(file string) bool {
			matches, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(file)))
			return err == nil && len(matches) > 0
		}
		found = append(found, pathsIn(name, string(text), exists)...)
		if name == architecture {
			files, err := readSource(root)
			if err != nil {
				return err
			}
			found = append(found, missingPackages(string(text), foldersOf(files))...)
		}
	}
	return report(found)
}

// pathsIn returns a finding for each link and path of a document that leads to
// no file. Links are relative to the document, paths in code to the root.
func pathsIn(name, text string, exists func(file string) bool) []finding {
	var found []finding
	for i, line := range strings.Split(text, "\n") {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if file := path.Join(path.Dir(name), m[1]); !exists(file) {
				found = append(found, finding{name, i + 1, fmt.Sprintf("links to %s, which does not exist", file)})
			}
		}
		for _, m := range inCode.FindAllStringSubmatch(line, -1) {
			if ownPath.MatchString(m[1]) && !exists(m[1]) {
				found = append(found, finding{name, i + 1, fmt.Sprintf("names %s, which does not exist", m[1])})
			}
		}
	}
	return found
}

// missingPackages returns a finding for each folder with Go files that the tree on the page
// about the architecture neither names nor covers by a folder above it. The folders
// controller, schema and reporters cover none.
func missingPackages(text string, dirs []string) []finding {
	named := inTree(text)
	top := func(dir string) bool {
		return dir == "controller" || dir == "schema" || dir == "reporters" || dir == "."
	}
	var found []finding
	for _, dir := range dirs {
		covered := named[dir]
		for parent := path.Dir(dir); !top(parent) && !covered; parent = path.Dir(parent) {
			covered = named[parent]
		}
		if !covered {
			found = append(found, finding{architecture, 0, fmt.Sprintf("does not name %s in its tree", dir)})
		}
	}
	return found
}

// inTree returns the folders that the tree of a page names. A line of it is a folder, or
// indented names of folders in the last one, and then two spaces or more before what is in
// them.
func inTree(text string) map[string]bool {
	named := map[string]bool{}
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := treeFolder.FindStringSubmatch(line); m != nil {
			last = m[1]
			named[last] = true
		} else if m := treeNames.FindStringSubmatch(line); m != nil {
			for name := range strings.FieldsSeq(m[1]) {
				named[last+"/"+name] = true
			}
		}
	}
	return named
}
