//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// coverable reports whether a tree can be covered by a mount: one that has other
// mounts in it would lose those, and one that has the scratch folder in it may
// hide that.
func coverable(tree, scratch string) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || isWithin(scratch, tree) {
		return false
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(mounts)) {
		// proc(5) counts the mount point as the fifth.
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return false
		}
		if at := unescape.Replace(fields[4]); at != tree && isWithin(at, tree) {
			return false
		}
	}
	return true
}

// cover mounts an overlay on the tree in which the hidden names are absent, for
// this mount namespace alone. It costs one mount however large the tree is. A
// kernel that refuses it leaves the hidden files to Landlock.
func (s *spec) cover() error {
	// The upper layer is in the place of the scratch folder, which is mounted
	// over it later.
	if err := syscall.Mount("hidden", s.Scratch, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("hide files: %w", err)
	}
	for _, name := range s.Hidden {
		at := filepath.Join(s.Scratch, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			// A device 0 of no kind represents a missing name.
			err = syscall.Mknod(at, syscall.S_IFCHR, 0)
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", name, err)
		}
	}
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`)
	layers := "lowerdir=" + escape.Replace(s.Scratch) + ":" + escape.Replace(s.Tree)
	if err := syscall.Mount("hidden", s.Tree, "overlay", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_RDONLY, layers); err != nil {
		return fmt.Errorf("hide files: %w", err)
	}
	return nil
}

// allowVisible returns the readable files and folders without what is hidden.
// Landlock has no rule that takes something away, so that everything else is
// named. Folders that have something hidden are given by the names in them: rights
// hold for all that is below.
func (s *spec) allowVisible(allow func(path string, rights uint64) error) error {
	var hidden []string
	for _, name := range s.Hidden {
		hidden = append(hidden, filepath.Join(s.Tree, filepath.FromSlash(name)))
	}
	for _, root := range s.Readable {
		real, err := filepath.EvalSymlinks(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("restrict files: %w", err)
		}
		whole, mixed := visible(real, hidden, namesIn)
		for _, path := range whole {
			// The target of a link has rules of its own.
			if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink != 0 {
				continue
			}
			if err := allow(path, rightsToUse); err != nil {
				return err
			}
		}
		for _, path := range mixed {
			if err := allow(path, landlock.AccessFSReadDir); err != nil {
				return err
			}
		}
	}
	return nil
}

func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return f.Readdirnames(-1)
}
