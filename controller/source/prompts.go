package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

const (
	// deepest bounds the depth at which folders of prompts are searched, and
	// mostFolders the number of searched folders.
	deepest     = 4
	mostFolders = 5_000
	// mostRead bounds the part of a program that is searched for the names of its
	// files, and the part of a file that is checked for text.
	mostRead = 1 << 20
)

// promptNames are the usual folders of agents' prompts and descriptions.
var promptNames = []string{"prompts", "agents"}

// InPromptFolder reports whether a file is in a folder of prompts that is not hidden.
func InPromptFolder(name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	hidden := func(dir string) bool {
		return len(dir) > 1 && dir[0] == '.' || dir == "node_modules" || dir == "vendor"
	}
	return !slices.ContainsFunc(folders, hidden) && slices.ContainsFunc(folders, func(dir string) bool { return slices.Contains(promptNames, dir) })
}

// PromptFolders lists the outermost folders of prompts.
func PromptFolders(ctx context.Context, fsys fs.FS) ([]string, error) {
	var found []string
	looked := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil || !d.IsDir() || name == ".":
			return err
		case InPromptFolder(name + "/x"):
			found = append(found, name)
			return fs.SkipDir
		}
		looked++
		base := path.Base(name)
		if looked > mostFolders || strings.HasPrefix(base, ".") || base == "node_modules" || base == "vendor" || strings.Count(name, "/")+1 >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

// quoted matches possible names of text files in a program.
var quoted = lazyregexp.New("[\"'`]([\\w./-]+\\.(?:md|txt|j2|jinja2?|prompt|tmpl|mustache|hbs|ya?ml|json|xml))[\"'`]")

// Reads lists the existing text files that the files of a program without inputs name
// by a path, from the root or from the file's folder.
func Reads(fsys fs.FS, t config.Target) []string {
	if !t.Implied {
		return nil
	}
	var found []string
	for _, program := range t.Inputs {
		for _, match := range quoted.FindAllSubmatch(head(fsys, program), -1) {
			name := string(match[1])
			found = append(found, path.Clean(name), path.Join(path.Dir(program), name))
		}
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		info, err := fs.Stat(fsys, name)
		return !fs.ValidPath(name) || err != nil || !info.Mode().IsRegular()
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// IsText reports whether a file exists and contains text.
func IsText(fsys fs.FS, name string) bool {
	data := head(fsys, name)
	return len(data) > 0 && !bytes.ContainsRune(data, 0)
}

// head returns the beginning of a file; nil if it is unreadable.
func head(fsys fs.FS, name string) []byte {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, mostRead))
	if err != nil {
		return nil
	}
	return data
}
