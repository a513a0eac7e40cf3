package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A ProgramFile identifies a file by its content.
type ProgramFile struct {
	// Path is relative to the repository root.
	Path string
	// Hash is git's hash of the content.
	Hash string
}

// ProgramFiles are the files of a program in one state of the repository. They are what the sandbox
// shows the program, and what the digests of its cases cover: a program cannot depend on a file
// that does not count.
type ProgramFiles struct {
	// Dir is the folder that the program runs in, relative to the repository root.
	Dir string
	// Files are sorted by path.
	Files []ProgramFile
	// Named are the paths of the Files that a command or an input names, sorted.
	Named []string
	// Sum is a digest of the Files and of the names by which the program knows them. It stays the
	// same if the program moves along with them.
	Sum string
}

// NewProgramFiles returns the files of a program that runs in a folder. Both lists are sorted.
func NewProgramFiles(dir string, named []string, files []ProgramFile) *ProgramFiles {
	p := &ProgramFiles{Dir: dir, Named: named, Files: files}
	p.seal()
	return p
}

// MarshalJSON returns the Sum, which is all that counts.
func (p *ProgramFiles) MarshalJSON() ([]byte, error) { return json.Marshal(p.Sum) }

// Paths returns the paths of the files; nil has none.
func (p *ProgramFiles) Paths() []string {
	if p == nil {
		return nil
	}
	paths := make([]string, len(p.Files))
	for i, f := range p.Files {
		paths[i] = f.Path
	}
	return paths
}

// Has reports whether the program has a file.
func (p *ProgramFiles) Has(name string) bool {
	_, has := slices.BinarySearchFunc(p.Files, name, func(f ProgramFile, name string) int { return strings.Compare(f.Path, name) })
	return has
}

// Leave removes the files of a set that are not Named.
func (p *ProgramFiles) Leave(set map[string]bool) {
	out := func(f ProgramFile) bool {
		if !set[f.Path] {
			return false
		}
		_, named := slices.BinarySearch(p.Named, f.Path)
		return !named
	}
	if slices.ContainsFunc(p.Files, out) {
		p.Files = slices.DeleteFunc(slices.Clone(p.Files), out)
		p.seal()
	}
}

func (p *ProgramFiles) seal() {
	sum := sha256.New()
	for _, f := range p.Files {
		name := RelativePath(p.Dir, f.Path)
		fmt.Fprintf(sum, "%d:%s%s", len(name), name, f.Hash)
	}
	p.Sum = hex.EncodeToString(sum.Sum(nil))
}

// RelativePath returns the path of a file of the repository relative to a folder, as a program that
// runs there knows it.
func RelativePath(dir, file string) string {
	dir, up := path.Clean(dir), ""
	for dir != "." && !strings.HasPrefix(file, dir+"/") {
		dir, up = path.Dir(dir), up+"../"
	}
	return up + strings.TrimPrefix(file, dir+"/")
}
