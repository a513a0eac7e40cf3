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
		_, err = b.find(p)
	}
	return err
}

// find returns a program's file, and requires that the file and its interpreter exist
// and are readable.
func (b *Box) find(p Program) (string, error) {
	path, _ := variable(p.Env, "PATH")
	file, err := lookUp(p.Argv[0], p.Dir, path)
	if err != nil {
		return "", fmt.Errorf("argv: %w", err)
	}
	if err := b.mayRead(file, p); err != nil {
		return "", fmt.Errorf("argv: %w", err)
	}
	interpreter := interpreter(file)
	if interpreter == "" {
		return file, nil
	}
	found, err := lookUp(interpreter, "/", path)
	if err == nil {
		err = b.mayRead(found, p)
	}
	if err != nil {
		return "", fmt.Errorf("argv: the interpreter of %s: %w", p.Argv[0], err)
	}
	return file, nil
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
	if name == "python" { // Debian and macOS have it under its full name alone
		if found, err := lookUp("python3", dir, path); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("no program %s in %s; correct argv, or add the folder of the program (--sandbox-path, or sandbox.path in the operator's file)", name, path)
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
// env; empty without one.
func interpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return "" // a program may be executable and not readable
	}
	defer f.Close()             //nolint:errcheck // it was only read
	const longestLine = 4 << 10 // more than any kernel reads
	line, _ := bufio.NewReader(io.LimitReader(f, longestLine)).ReadString('\n')
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return word
		}
	}
	return words[0]
}
