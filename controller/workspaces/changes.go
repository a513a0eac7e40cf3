package workspaces

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/schema"
)

const (
	// maxChanged and maxChangedBytes bound what is stored of a workspace.
	maxChanged      = 2000
	maxChangedBytes = 8 << 20
	// maxShown and maxShownAll bound a file, and all files, whose first contents are
	// remembered for the diff.
	maxShown    = 256 << 10
	maxShownAll = 64 << 20
)

// A content is what a file of a workspace holds.
type content struct {
	hash       [sha256.Size]byte
	size       int64
	executable bool
	// shown is what it holds where that is remembered.
	shown []byte
}

func (c content) equal(other content) bool {
	return c.hash == other.hash && c.executable == other.executable
}

// A state is what a workspace holds, by paths with slashes.
type state map[string]content

// readState reads a workspace. Links, .git and special files are left out: an agent could
// lead with them to files that are not its own. It is measured before anything is read,
// since folders without end and files that are all hole cost nothing to make.
func readState(ctx context.Context, dir string) (state, error) {
	err := sandbox.Walk(ctx, dir, sandbox.WorkspaceBounds(), func(sandbox.Entry) error { return nil })
	var passed *sandbox.Exceeded
	if errors.As(err, &passed) {
		return nil, fmt.Errorf("in the workspace %w; have the agent write what it downloads or builds below $TMPDIR", passed)
	}
	if err != nil {
		return nil, err
	}
	out, left := state{}, int64(maxShownAll)
	err = sandbox.Walk(ctx, dir, sandbox.WorkspaceBounds(), func(e sandbox.Entry) error {
		switch {
		case e.Info.IsDir() && e.Info.Name() == ".git":
			return fs.SkipDir
		case !e.Info.Mode().IsRegular():
			return nil
		}
		c, err := read(ctx, e.In, e.Info.Name(), min(left, maxShown))
		if errors.Is(err, fs.ErrPermission) {
			return nil // what the agent closed is its own affair
		}
		left -= int64(len(c.shown))
		out[e.Path] = c
		return err
	})
	return out, err
}

// read reads a file, of which it remembers the contents up to a size.
func read(ctx context.Context, in *os.Root, name string, most int64) (content, error) {
	f, err := in.Open(name)
	if err != nil {
		return content{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return content{}, err
	}
	out := content{size: info.Size(), executable: info.Mode()&0o111 != 0}
	sum, shown := sha256.New(), &bytes.Buffer{}
	to := io.Writer(sum)
	if out.size <= most {
		to = io.MultiWriter(sum, shown)
	}
	// A file that grows is none of an agent that has ended.
	if _, err := io.Copy(to, io.LimitReader(untilDone{ctx, f}, out.size)); err != nil {
		return content{}, err
	}
	if out.size <= most {
		out.shown = append([]byte{}, shown.Bytes()...)
	}
	copy(out.hash[:], sum.Sum(nil))
	return out, nil
}

// An untilDone reader ends with a context.
type untilDone struct {
	ctx context.Context //nolint:containedctx // it lives as long as one read of a file
	io.Reader
}

// Read reads, unless the context has ended.
func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// changed are the paths of what differs between two states, sorted.
func changed(was, is state) []string {
	var names []string
	for name, c := range is {
		if before, there := was[name]; !there || !c.equal(before) {
			names = append(names, name)
		}
	}
	for name := range was {
		if _, there := is[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compare lists what differs between the beginning and what a folder holds now.
func compare(was, is state, dir string) (*schema.WorkspaceChanges, error) {
	names := changed(was, is)
	if len(names) > maxChanged {
		return nil, fmt.Errorf("the agent changed %d files of its workspace, and %d are kept; have it write what it downloads or builds below $TMPDIR", len(names), maxChanged)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	out := &schema.WorkspaceChanges{Files: make([]schema.ChangedFile, 0, len(names))}
	size := int64(0)
	for _, name := range names {
		c, there := is[name]
		if !there {
			out.Files = append(out.Files, schema.ChangedFile{Path: name, Deleted: true})
			continue
		}
		if size += c.size; size > maxChangedBytes {
			return nil, fmt.Errorf("the agent changed more than %d MiB of its workspace, up to %s, which is more than is kept; have it write what it downloads or builds below $TMPDIR", maxChangedBytes>>20, name)
		}
		data := c.shown
		if data == nil {
			if data, err = root.ReadFile(filepath.FromSlash(name)); err != nil {
				return nil, err
			}
		}
		change := schema.ChangedFile{Path: name, Executable: c.executable}
		if utf8.Valid(data) {
			change.Text = string(data)
		} else {
			change.Data = data
		}
		out.Files = append(out.Files, change)
	}
	out.Diff, err = show(was, is, out.Files)
	return out, err
}

// write makes the changes of an agent again.
func write(dir string, changes []schema.ChangedFile) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the files in it are closed
	for _, c := range changes {
		if c.Deleted {
			if err := root.Remove(filepath.FromSlash(c.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := writeFile(root, c.Path, c.Bytes(), c.Executable); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file with the folders that it is in.
func writeFile(root *os.Root, name string, data []byte, executable bool) error {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	file := filepath.FromSlash(name)
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	if err := root.WriteFile(file, data, mode); err != nil {
		return err
	}
	return root.Chmod(file, mode) // which the umask and a file that was there may lack
}
