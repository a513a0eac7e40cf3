package load

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The bounds of a search for definitions outside of the folders that are configured.
const (
	mostLooked    = 2000 // files and folders
	deepestSeen   = 4
	mostElsewhere = 2
)

// withoutFolder returns the advice if there is no folder of definitions: name promptfoo
// files elsewhere, or write a first test.
func withoutFolder(fsys fs.FS) string {
	found := foreignFiles(fsys, func(name string) bool { return !isPromptfoos(name) })
	if len(found) == 0 {
		return "run gavel init, which writes the first test, or set definitions: in gavel.yaml"
	}
	return fmt.Sprintf("%s can be read: write version: 1 and definitions: [%s] into gavel.yaml, or name their folder", strings.Join(found, " and "), strings.Join(found, ", "))
}

// Elsewhere returns a note about the first files of other tools that are outside of the
// configured definitions, and so are not read; empty without one.
func Elsewhere(fsys fs.FS, definitions ...string) string {
	found := foreignFiles(fsys, func(name string) bool {
		return slices.ContainsFunc(definitions, func(of string) bool {
			of = path.Clean(of)
			return of == "." || name == of || strings.HasPrefix(name, of+"/")
		})
	})
	switch len(found) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s is outside of the definitions and is not read; to read it, add it to definitions: in gavel.yaml", found[0])
	}
	return fmt.Sprintf("%s are outside of the definitions and are not read; to read them, add them to definitions: in gavel.yaml", strings.Join(found, " and "))
}

// foreignFiles lists the first files with tests of promptfoo, AgentV or a skill, apart from
// those to skip.
func foreignFiles(fsys fs.FS, skip func(name string) bool) []string {
	var found []string
	looked := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case err != nil || looked > mostLooked || len(found) == mostElsewhere:
			return fs.SkipAll
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "vendor"}, d.Name()) || strings.Count(name, "/") >= deepestSeen):
			return fs.SkipDir
		case d.Type().IsRegular() && (isPromptfoos(name) || isOthers(name)) && !skip(name):
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// isPromptfoos reports whether a file has the name of a configuration of promptfoo.
func isPromptfoos(name string) bool {
	return strings.HasPrefix(path.Base(name), "promptfooconfig") && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// isOthers reports whether a file has the name of a suite of AgentV or of a skill.
func isOthers(name string) bool {
	return strings.HasSuffix(name, ".eval.yaml") || strings.HasSuffix(name, ".eval.yml") || strings.HasSuffix("/"+name, "/evals/evals.json")
}
