package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// CheckFolder reports, without writing anything, why a folder cannot be made or written;
// nil if it can.
func CheckFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		return CheckFolder(filepath.Dir(path))
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case runtime.GOOS == "linux" && (strings.HasPrefix(path+"/", "/proc/") || strings.HasPrefix(path+"/", "/sys/")):
		return fmt.Errorf("%s belongs to the kernel, which keeps no files there", path)
	}
	return mayWrite(path)
}

// CheckFile reports, without writing anything, why a file cannot be made or written; nil
// if it can.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return CheckFolder(filepath.Dir(path))
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	}
	return errors.Join(mayWrite(path), CheckFolder(filepath.Dir(path)))
}
