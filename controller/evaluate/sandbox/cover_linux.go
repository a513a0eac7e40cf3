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

// coverable reports whether a mount can cover a tree: it would hide other mounts in the
// tree, and perhaps the scratch folder.
func coverable(tree, scratch string) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || isWithin(scratch, tree) {
		return false
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(mounts)) {
		// proc(5) numbers the mount point as the fifth field.
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

// cover mounts an overlay on the tree in which the hidden names are absent, for this
// mount namespace alone. It costs one mount however large the tree is. If the kernel
// refuses it, Landlock hides the files.
func (s *spec) cover() error {
	// The upper layer uses the scratch folder's place; the scratch folder is mounted
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

// allowVisible returns the readable files and folders without the hidden ones. No
// Landlock rule removes rights, so everything else is listed. A folder with hidden
// entries is replaced by its visible entries, since rights apply to everything below.
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
			// The target of a link has its own rules.
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
