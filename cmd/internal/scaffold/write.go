package scaffold

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// A Written tells what became of files.
type Written struct {
	// Written are new; Kept existed and are as they were.
	Written []File `json:"written"`
	Kept    []File `json:"kept"`
}

// Write writes the files below a folder that do not exist yet, and never changes
// one that does. No link leads it anywhere. The error says which file
// could not be written; those before it are.
func Write(dir string, files []File) (out Written, err error) {
	out = Written{Written: []File{}, Kept: []File{}}
	folder, err := safefile.Open(dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	for _, f := range files {
		switch err := folder.Create(f.Path, []byte(f.Text), 0o644); {
		case errors.Is(err, fs.ErrExist):
			out.Kept = append(out.Kept, f)
		case err != nil:
			return out, fmt.Errorf("write %s: %w", f.Path, err)
		default:
			out.Written = append(out.Written, f)
		}
	}
	return out, nil
}
