package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// minimalPath is the default PATH of programs.
const minimalPath = "/usr/local/bin:/usr/bin:/bin"

// systemFolders are the folders of a system's interpreters and libraries, and of the
// files that they read at start. Nothing else of /etc and /dev is readable.
func systemFolders() []string {
	folders := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
		"/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group",
		"/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies",
		"/dev/zero", "/dev/random", "/dev/urandom",
	}
	// Glob only fails for a malformed pattern.
	python, _ := filepath.Glob("/etc/python3*")
	return append(folders, python...)
}

// readable lists the paths that a program may read.
func (b *Box) readable(tree string) []string {
	return slices.Concat([]string{tree}, systemFolders(), b.policy.Read, b.policy.Path)
}

// Check returns the reason why a program cannot be started, such as a missing
// interpreter.
func (b *Box) Check(p Program) error {
	p, err := b.complete(p)
	if err == nil {
		_, _, err = b.find(p)
	}
	return err
}

// find returns a program's file and its arguments, and requires that the file and its
// interpreter exist and are readable. A script for python is an argument of python3 where
// its own interpreter is missing.
func (b *Box) find(p Program) (string, []string, error) {
	path, _ := variable(p.Env, "PATH")
	file, _, err := program(p.Argv[0], p.Dir, path)
	if err != nil {
		return "", nil, fmt.Errorf("argv: %w", err)
	}
	if err := b.mayRead(file, p); err != nil {
		return "", nil, fmt.Errorf("argv: %w", err)
	}
	words := interpreter(file)
	if len(words) == 0 {
		return file, p.Argv, nil
	}
	found, isOther, err := program(words[0], "/", path)
	if err == nil {
		err = b.mayRead(found, p)
	}
	if err != nil {
		return "", nil, fmt.Errorf("argv: the interpreter of %s: %w", p.Argv[0], err)
	}
	if isOther {
		return found, slices.Concat([]string{python3}, words[1:], []string{file}, p.Argv[1:]), nil
	}
	return file, p.Argv, nil
}

// python3 is the name of Python's interpreter where python is missing, as on Debian and
// macOS.
const python3 = "python3"

// pythons are what python3 can stand in for. One in another folder, such as a virtual
// environment, has packages of its own.
var pythons = []string{"python", "/usr/bin/python", "/usr/local/bin/python", "/bin/python"}

// program is [lookUp], and finds python3 in the place of a missing python; isOther reports
// that it did.
func program(name, dir, path string) (file string, isOther bool, err error) {
	file, err = lookUp(name, dir, path)
	if err == nil || !slices.Contains(pythons, name) {
		return file, false, err
	}
	if other, missing := lookUp(python3, dir, path); missing == nil {
		return other, true, nil
	}
	return "", false, err
}

// lookUp searches a bare name in path and resolves a name with a slash below dir. It
// ignores the process's own PATH, so that a run finds the same program from everywhere.
func lookUp(name, dir, path string) (string, error) {
	candidates := []string{filepath.Join(dir, name)}
	switch {
	case filepath.IsAbs(name):
		candidates = []string{name}
	case !strings.ContainsAny(name, "/"+string(filepath.Separator)):
		candidates = nil
		for _, folder := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(folder, name))
		}
	}
	for _, file := range candidates {
		// LookPath only checks a path with a slash.
		if found, err := exec.LookPath(file); err == nil {
			return found, nil
		}
	}
	if len(candidates) == 1 && strings.ContainsRune(name, '/') {
		return "", fmt.Errorf("%s is not there or cannot be executed", name)
	}
	return "", &NotFound{name, path}
}

// A NotFound is the error of a program that is in none of the folders in which programs are
// looked for.
type NotFound struct {
	// Name is the program, and Path the folders as in PATH.
	Name, Path string
}

// Error says what to do.
func (e *NotFound) Error() string {
	return fmt.Sprintf("no program %s in %s; correct argv, or add the folder of the program (--sandbox-path, or sandbox.path in the operator's file)", e.Name, e.Path)
}

// mayRead requires that a file is in a folder that programs may read.
func (b *Box) mayRead(file string, p Program) error {
	if b.mode == Off {
		return nil
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	if b.hides(file, p.Tree) || b.hides(real, p.Tree) {
		return fmt.Errorf("%s is hidden from programs in the sandbox%s", file, b.hidden.hint())
	}
	if p.Workspace != "" && isWithin(real, p.Workspace) {
		return nil
	}
	for _, root := range b.readable(p.Tree) {
		if root, err := filepath.EvalSymlinks(root); err == nil && isWithin(real, root) {
			return nil
		}
	}
	return fmt.Errorf("%s is outside of the folders that a program in the sandbox may read; the operator may add %s to them", real, filepath.Dir(real))
}

// isWithin reports whether a clean path is dir or below it.
func isWithin(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// interpreter returns the interpreter in a script's first line, or the program after
// env, with its arguments; nothing without one.
func interpreter(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil // a program may be executable and not readable
	}
	defer f.Close()             //nolint:errcheck // it was only read
	const longestLine = 4 << 10 // more than any kernel reads
	line, _ := bufio.NewReader(io.LimitReader(f, longestLine)).ReadString('\n')
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return nil
	}
	if filepath.Base(words[0]) != "env" {
		return words
	}
	for i, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return words[1+i:]
		}
	}
	return words[:1]
}
