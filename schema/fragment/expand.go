package fragment

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Set is what a name of tests stands for besides one file.
type Set struct {
	// Files are absolute paths of the repository, sorted.
	Files []string
	// Folder is what is looked at again where a file is added to it.
	Folder string
	// Problems are errors for which there are no files, such as more of them than one name
	// may stand for.
	Problems []schema.Problem
}

// Expand finds the files of a glob, and the case.yaml of each folder in a folder. It reports false
// for a name of one file. written is where the name is.
func Expand(src document.Source, written schema.Position, name string) (Set, bool) {
	name = strings.TrimPrefix(name, "file://")
	at := path.Join(path.Dir(written.File), name)
	if rooted, ok := strings.CutPrefix(name, "/"); ok {
		at = path.Clean(rooted)
	}
	isGlob := strings.ContainsAny(name, "*?[")
	info, err := fs.Stat(src.FS, at)
	if isFolder := err == nil && info.IsDir(); !isGlob && !isFolder || !fs.ValidPath(at) {
		return Set{}, false
	}
	out := Set{Folder: at}
	fits := func(file string) bool {
		dir, base := path.Split(file)
		return path.Dir(path.Clean(dir)) == at && (base == "case.yaml" || base == "case.yml")
	}
	if isGlob {
		for strings.ContainsAny(out.Folder, "*?[") {
			out.Folder = path.Dir(out.Folder)
		}
		fits = func(file string) bool { return wildcard.Match(at, file) }
	}
	out.Files, out.Problems = src.Select(document.Selection{At: written, Name: name, Folder: out.Folder, Fits: fits})
	slices.Sort(out.Files)
	return out, true
}

// Case is a test in a file of its own, which has the name of its folder as its id unless it has
// one.
func Case(doc *document.Document) document.Place {
	if base := path.Base(doc.File); !doc.IsObject() || doc.Has("id") || base != "case.yaml" && base != "case.yml" {
		return document.Place{Doc: doc}
	}
	fields := []document.NamedPiece{{Name: "id", Piece: document.TextPiece(doc.At(), path.Base(path.Dir(doc.File)))}}
	for _, key := range doc.Keys() {
		fields = append(fields, document.NamedPiece{Name: key, Piece: doc.Piece(key)})
	}
	return document.Place{Doc: document.Compose(doc.File, document.ObjectPiece(doc.At(), fields...))}
}
