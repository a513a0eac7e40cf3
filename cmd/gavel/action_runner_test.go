package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// inAJob is the command line of a job, for which waiting takes no time.
func inAJob() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	fake := &forgetest.Clock{}
	a := &App{Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Dir: dir, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, AfterFunc: never}}
	code := execute(ctx, a, os.Args[1:])
	stop()
	os.Exit(code)
}

// A composite is the content of an action.yml.
type composite struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID, If, Uses, Shell, Run string
	Env, With                map[string]string
}

const actionFile = "../../.github/actions/gavel/action.yml"

// actionFolder is the folder of the action in a tree that has as few files more as the
// action needs: it takes a digest over all of them.
func actionFolder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"go.mod", "cmd/gavel/main.go", ".github/actions/gavel/action.yml"} {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, ".github/actions/gavel")
}

func readAction(t *testing.T) composite {
	t.Helper()
	data, err := os.ReadFile(actionFile)
	if err != nil {
		t.Fatal(err)
	}
	var action composite
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&action); err != nil {
		t.Fatal(err)
	}
	return action
}

// A machine is one on which a job runs: its disk is empty at first and gone
// afterwards. It does with the steps of the action what the runner of GitHub
// does, and fails the test on any that it does not know.
type machine struct {
	t      *testing.T
	ctx    context.Context // done when somebody cancels the job
	inputs map[string]string
	cache  *cache
	// scope is the ref that the job runs for; readOnly says that it may save
	// nothing.
	scope    string
	readOnly bool
	// action is the folder of action.yml.
	action string
	env    map[string]string // of the job
	temp   string

	outputs map[string]map[string]string // by step
	failed  int                          // exit code of the first step that failed
	log     bytes.Buffer
	// restored and saved are keys, without the keys of the program.
	restored, saved []string
	// artifacts are the files that were uploaded, by their names.
	artifacts map[string]string
}

// run carries out the steps.
func (m *machine) run(action composite) {
	m.t.Helper()
	m.temp, m.outputs = m.t.TempDir(), map[string]map[string]string{}
	given := m.inputs
	m.inputs = map[string]string{}
	for name, in := range action.Inputs {
		m.inputs[name] = m.expand(in.Default)
	}
	maps.Copy(m.inputs, given)
	for _, s := range action.Runs.Steps {
		m.outputs[s.ID] = map[string]string{} // also of a step that is left out
	}
	for _, s := range action.Runs.Steps {
		if !m.wants(s.If) {
			continue
		}
		with := map[string]string{}
		for name, value := range s.With {
			with[name] = m.expand(value)
		}
		uses, _, _ := strings.Cut(s.Uses, "@")
		switch uses {
		case "":
			m.shell(s)
		case "actions/setup-go":
			if _, err := os.Stat(with["go-version-file"]); err != nil {
				m.t.Error(err)
			}
		case "actions/setup-python":
			python, err := exec.LookPath("python3")
			if err != nil || with["python-version"] == "" {
				m.t.Fatalf("python %q: %v", with["python-version"], err)
			}
			m.outputs[s.ID] = map[string]string{"python-path": python}
		case "actions/cache/restore":
			m.outputs[s.ID] = m.restore(with)
		case "actions/cache/save":
			m.save(with)
		case "actions/upload-artifact":
			m.upload(with)
		default:
			m.t.Fatalf("the runner of the test does not know %q", s.Uses)
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{\s*([^}]*?)\s*\}\}`)

// expand puts values in the place of expressions.
func (m *machine) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		return m.value(expression.FindStringSubmatch(found)[1])
	})
}

// value returns the value of a name.
func (m *machine) value(name string) string {
	fixed := map[string]string{"github.token": m.env["TOKEN"], "github.event.repository.default_branch": "main", "runner.os": "Linux", "runner.arch": "X64"}
	if v, ok := fixed[name]; ok {
		return v
	}
	parts := strings.Split(name, ".")
	switch {
	case len(parts) == 2 && parts[0] == "inputs":
		if v, ok := m.inputs[parts[1]]; ok {
			return v
		}
	case len(parts) == 4 && parts[0] == "steps" && parts[2] == "outputs":
		if outputs, ok := m.outputs[parts[1]]; ok {
			return outputs[parts[3]]
		}
	}
	m.t.Fatalf("the runner of the test does not know %q", name)
	return ""
}

var comparison = regexp.MustCompile(`^([a-z.-]+) (==|!=) '([^']*)'$`)

// wants evaluates a condition. Without always() it is false after a failure.
func (m *machine) wants(condition string) bool {
	whatever := strings.Contains(condition, "always()")
	if m.failed != 0 && !whatever {
		return false
	}
	for term := range strings.SplitSeq(condition, "&&") {
		switch term = strings.TrimSpace(term); term {
		case "", "always()":
			continue
		}
		c := comparison.FindStringSubmatch(term)
		if c == nil {
			m.t.Fatalf("the runner of the test does not know the condition %q", term)
		}
		if (m.value(c[1]) == c[3]) != (c[2] == "==") {
			return false
		}
	}
	return true
}

// shell runs a script as the runner does.
func (m *machine) shell(s step) {
	m.t.Helper()
	if s.Shell != "bash" {
		m.t.Fatalf("the shell is %q", s.Shell)
	}
	if expression.MatchString(s.Run) {
		m.t.Fatalf("an expression stands in a script, where its value is a part of the program:\n%s", s.Run)
	}
	script, output := filepath.Join(m.temp, "script.sh"), filepath.Join(m.temp, "output")
	if err := errors.Join(os.WriteFile(script, []byte(s.Run), 0o600), os.WriteFile(output, nil, 0o600)); err != nil {
		m.t.Fatal(err)
	}
	env := map[string]string{
		"PATH": m.tools() + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME": m.temp, "TMPDIR": m.temp,
		"GIT_CONFIG_SYSTEM": "/dev/null", "RUNNER_TEMP": m.temp, "GITHUB_OUTPUT": output, "GITHUB_ACTION_PATH": m.action, "GITHUB_ACTIONS": "true", "CI": "true",
		"GORACE": raceOptions,
	}
	maps.Copy(env, m.env)
	delete(env, "TOKEN") // is given by the step, or not at all
	for name, value := range s.Env {
		env[name] = m.expand(value)
	}
	cmd := exec.CommandContext(m.ctx, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	// A runner interrupts only the shell, of all that the step started.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir = m.temp
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		m.failed = exit.ExitCode()
	} else if err != nil {
		m.t.Fatal(err)
	}
	m.outputs[s.ID] = m.output(output)
}

// output reads what a step handed on.
func (m *machine) output(file string) map[string]string {
	data, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || out[name] != "" {
			m.t.Errorf("the output %q", line)
		}
		out[name] = value
	}
	return out
}

// compiler is a Go that builds the command of this test. It fails unless the
// package that it is asked for exists.
const compiler = `#!/bin/sh
[ "$1 $2 $3 $4 $6" = "build -trimpath -buildvcs=false -o ./cmd/gavel" ] && [ "$CGO_ENABLED" = 0 ] || { echo "go $*" >&2; exit 1; }
grep -q '^module github.com/gavel-evals/gavel$' go.mod && [ -f cmd/gavel/main.go ] || { echo "$PWD" >&2; exit 1; }
mkdir -p "${5%/*}" && printf '#!/bin/sh\nexec gavel-in-a-job "$@"\n' >"$5" && chmod +x "$5"
`

func (m *machine) tools() string {
	dir := filepath.Join(m.temp, "tools")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "go"), []byte(compiler), 0o755)); err != nil {
		m.t.Fatal(err)
	}
	return dir
}

// A cache is the cache of a repository.
type cache struct{ entries []entry }

// An entry is found by its key and by the path that it was saved from.
type entry struct{ scope, path, key, copy string }

// defaultScope is the scope of the default branch, which every job reads.
const defaultScope = "refs/heads/main"

func (m *machine) restore(with map[string]string) map[string]string {
	m.t.Helper()
	if with["key"] == "" {
		m.t.Fatal("a cache is restored without a key")
	}
	path := m.relative(with["path"])
	prefixes := append([]string{with["key"]}, strings.Fields(with["restore-keys"])...)
	for i, prefix := range prefixes {
		for _, scope := range []string{m.scope, defaultScope} {
			for _, e := range slices.Backward(m.cache.entries) {
				exact := e.key == prefix
				if e.scope != scope || e.path != path || !exact && (i == 0 || !strings.HasPrefix(e.key, prefix)) {
					continue
				}
				if err := os.CopyFS(with["path"], os.DirFS(e.copy)); err != nil {
					m.t.Fatal(err)
				}
				if !strings.HasPrefix(e.key, "gavel-program-") {
					m.restored = append(m.restored, e.key)
				}
				hit := map[bool]string{true: "true", false: "false"}[exact && i == 0]
				return map[string]string{"cache-hit": hit, "cache-matched-key": e.key}
			}
		}
	}
	return map[string]string{}
}

func (m *machine) save(with map[string]string) {
	m.t.Helper()
	_, err := os.Stat(with["path"])
	known := slices.ContainsFunc(m.cache.entries, func(e entry) bool { return e.key == with["key"] && e.scope == m.scope })
	if m.readOnly || known || err != nil {
		m.t.Logf("not saved: %s", with["key"]) // the step warns and succeeds
		return
	}
	e := entry{m.scope, m.relative(with["path"]), with["key"], m.t.TempDir()}
	if err := os.CopyFS(e.copy, os.DirFS(with["path"])); err != nil {
		m.t.Fatal(err)
	}
	m.cache.entries = append(m.cache.entries, e)
	if !strings.HasPrefix(e.key, "gavel-program-") {
		m.saved = append(m.saved, e.key)
	}
}

// upload keeps one file under its own name.
func (m *machine) upload(with map[string]string) {
	m.t.Helper()
	data, err := os.ReadFile(with["path"])
	if err != nil || with["archive"] != "false" {
		m.t.Errorf("the artifact %v: %v", with, err)
	}
	if m.artifacts == nil {
		m.artifacts = map[string]string{}
	}
	m.artifacts[filepath.Base(with["path"])] = string(data)
}

// relative is a path as it is on every machine.
func (m *machine) relative(path string) string {
	rel, err := filepath.Rel(m.temp, path)
	if err != nil || !filepath.IsLocal(rel) {
		m.t.Fatalf("the cache is of %s, which is not on every machine: %v", path, err)
	}
	return rel
}

// holds reports which files of the disk have some words in them.
func (m *machine) holds(words string) (files []string) {
	err := filepath.WalkDir(m.temp, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		if bytes.Contains(data, []byte(words)) {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return files
}
