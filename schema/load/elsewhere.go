package load

import (
	"fmt"
	"io/fs"
	"path"
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
	var found []string
	looked := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch ext := path.Ext(name); {
		case err != nil || looked > mostLooked || len(found) == mostElsewhere:
			return fs.SkipAll
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || strings.Count(name, "/") >= deepestSeen):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasPrefix(d.Name(), "promptfooconfig") && (ext == ".yaml" || ext == ".yml" || ext == ".json"):
			found = append(found, name)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return "run gavel init, which writes the first test, or set definitions: in gavel.yaml"
	}
	return fmt.Sprintf("%s can be read: write version: 1 and definitions: [%s] into gavel.yaml, or name their folder", strings.Join(found, " and "), strings.Join(found, ", "))
}
