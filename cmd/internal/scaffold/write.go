package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// A Written tells what became of files.
type Written struct {
	// Written are new; Kept existed and are as they were.
	Written []File `json:"written"`
	Kept    []File `json:"kept"`
}

// Write writes the files below a folder that do not exist yet, and never changes
// one that does. No link leads it out of the folder. The error says which file
// could not be written; those before it are.
func Write(dir string, files []File) (out Written, err error) {
	out = Written{Written: []File{}, Kept: []File{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, f := range files {
		switch err := write(root, f); {
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

func write(root *os.Root, f File) error {
	if folder := path.Dir(f.Path); folder != "." {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	to, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = to.WriteString(f.Text)
	return errors.Join(err, to.Close())
}
