package evalcase

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
)

const (
	// maxFiles and maxBytes bound a template.
	maxFiles = 2000
	maxBytes = 32 << 20
	// hookTime is the timeout of a hook without timeout_ms.
	hookTime = time.Minute
)

// A testbedReader reads the workspaces of tests: the folder of the repository that each begins as, and
// the programs that prepare it. It runs nothing. It remembers the templates, which many tests share.
type testbedReader struct {
	src       document.Source
	templates map[string]workspaceTemplate
}

// A workspaceTemplate is the content of a folder.
type workspaceTemplate struct {
	dir    string
	files  []schema.WorkspaceFile
	inputs []schema.Input
	wrong  *schema.Problem // without a position
}

// A testbed is a workspace as it was read.
type testbed struct {
	// Workspace is nil if the test has none.
	Workspace *schema.Workspace
	Inputs    []schema.Input
	Problems  []schema.Problem
	// Lacks names something that the workspace needs and that is not read.
	Lacks string
}

// newTestbedReader returns a reader for a repository.
func newTestbedReader(src document.Source) *testbedReader {
	return &testbedReader{src, map[string]workspaceTemplate{}}
}

// A testbedSource says where the workspace of a test is written.
type testbedSource struct {
	// Suite and Own are the workspaces of the suite and of the test, whose fields win. A text names a
	// file with the workspace.
	Suite, Own document.Place
	// Extensions are the extensions of a suite of AgentV 5.
	Extensions document.Place
}

// Read reads the workspace of a test.
func (r *testbedReader) Read(from testbedSource) testbed {
	out := r.read(from.Suite, from.Own)
	if out.Lacks == "" && !schema.HasErrors(out.Problems) {
		r.extend(from.Extensions, &out)
	}
	return out
}

func (r *testbedReader) read(suite, own document.Place) testbed {
	var out testbed
	layers := []document.Place{}
	for _, v := range []document.Place{suite, own} {
		if v.Has() {
			if v = r.referenced(v, &out); v.Has() {
				layers = append(layers, v)
			}
		}
	}
	if len(layers) == 0 {
		return out
	}
	if out.Lacks = lacking(layers); out.Lacks != "" {
		return out
	}
	for _, l := range layers {
		out.Problems = append(out.Problems, l.Doc.CheckPart("#EvalcaseWorkspace", schema.Warning, l.Path...)...)
	}
	if schema.HasErrors(out.Problems) {
		return out
	}
	out.Workspace = &schema.Workspace{}
	if from := last(layers, "template"); from.Text() != "" {
		r.copy(from, &out)
	}
	if from := last(layers, "workdir"); from.Text() != "" && r.isFolder(from) {
		r.copy(from, &out)
	}
	if v := last(layers, "setup"); v.Has() && hasCommand(v) {
		r.setUp(v, last(layers, "workdir"), &out)
	}
	for _, event := range []string{"before_all", "before_each", "after_each", "after_all"} {
		if v := last(layers, "hooks", event); v.Has() && hasCommand(v) && string(last(layers, "hooks", "enabled").JSON()) != "false" {
			r.hook(v, event, "", &out)
		}
	}
	return out
}

// isFolder reports whether a path is one of a folder of the repository.
func (r *testbedReader) isFolder(from document.Place) bool {
	_, problem := (command.Reader{Source: r.src}).Folder(from.Doc.File, from.Text())
	return problem == nil || problem.Rule != "missing-file"
}

// setUp reads the program that prepares the folder of AgentV 5. It prepares the workspace
// instead: it starts there, and finds it by the path of the folder.
func (r *testbedReader) setUp(v, folder document.Place, out *testbed) {
	at := ""
	if folder.Text() != "" {
		at = path.Join(path.Dir(folder.Doc.File), folder.Text())
	}
	r.hook(v, "setup", at, out)
	if n := len(out.Workspace.Before); n > 0 && (v.Text("cwd") == "" || path.Join(path.Dir(v.Doc.File), v.Text("cwd")) == at) {
		out.Workspace.Before[n-1].InWorkspace = true
	}
}

// referenced is a workspace that may be in a file of its own.
func (r *testbedReader) referenced(v document.Place, out *testbed) document.Place {
	if v.Text() == "" {
		return v
	}
	found := r.src.Read(document.Reference{At: v.At(), Path: strings.TrimPrefix(v.Text(), "file://"), Role: "suite"})
	out.Inputs, out.Problems = append(out.Inputs, found.Inputs...), append(out.Problems, found.Problems...)
	if !found.Found() {
		return document.Place{}
	}
	doc, problems := document.Parse(found.File.Path, found.File.Data)
	out.Problems = append(out.Problems, problems...)
	if doc == nil || schema.HasErrors(problems) {
		return document.Place{}
	}
	return document.Place{Doc: doc}
}

// last is the value at a path in the last of the layers that has one.
func last(layers []document.Place, path ...any) document.Place {
	for _, l := range slices.Backward(layers) {
		if v := l.Sub(path...); v.Has() {
			return v
		}
	}
	return document.Place{}
}

// lacking returns the unsupported need of workspaces, or an empty string.
func lacking(layers []document.Place) string {
	switch {
	case last(layers, "docker").Has() || last(layers, "type").Text() == "docker":
		return "a container (docker)"
	case last(layers, "path").Text() != "" || last(layers, "mode").Text() == "static":
		return "a folder of one machine (workspace.path)"
	case last(layers, "repos").Has():
		return "a clone of another repository (workspace.repos)"
	case last(layers, "env").Has():
		return "environment variables of the workspace, which gavel.yaml has for each target"
	}
	return ""
}

// copy reads the template.
func (r *testbedReader) copy(from document.Place, out *testbed) {
	t, problem := r.folder(from.Doc.File, from.Text())
	if problem != nil {
		problem.Position = from.At()
		out.Problems = append(out.Problems, *problem)
		return
	}
	out.Workspace.Template, out.Workspace.Files = t.dir, t.files
	out.Inputs = append(out.Inputs, t.inputs...)
}

// folder reads a folder that a file names, or a file of the same kind. The problem has no position.
func (r *testbedReader) folder(of, name string) (workspaceTemplate, *schema.Problem) {
	dir, problem := (command.Reader{Source: r.src}).Folder(of, name)
	if problem != nil {
		return workspaceTemplate{}, problem
	}
	t, known := r.templates[dir]
	if !known {
		t = read(r.src.FS, dir)
		r.templates[dir] = t
	}
	if t.wrong != nil {
		p := *t.wrong
		return t, &p
	}
	return t, nil
}

// errTemplateBounds represents a template that holds too much.
var errTemplateBounds = fmt.Errorf("it holds more than %d files or %d MiB", maxFiles, maxBytes>>20)

// read reads the content of a folder. Links are left out.
func read(files fs.FS, dir string) workspaceTemplate {
	t := workspaceTemplate{dir: dir, inputs: []schema.Input{{File: dir, Role: "workspace"}}}
	size := int64(0)
	err := fs.WalkDir(files, dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			if err == nil && e.IsDir() && e.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > maxBytes || len(t.files) == maxFiles {
			return errTemplateBounds
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		t.files = append(t.files, file(strings.TrimPrefix(strings.TrimPrefix(name, path.Clean(dir)), "/"), data, info.Mode()&0o111 != 0))
		t.inputs = append(t.inputs, schema.Input{File: name, Role: "workspace"})
		return nil
	})
	if err != nil {
		p := schema.Problem{Severity: schema.Error, Rule: "unreadable", Message: fmt.Sprintf("the template %s cannot be read: %v", dir, err), Hint: "make it a folder of plain files"}
		if errors.Is(err, errTemplateBounds) {
			p.Rule, p.Hint = "too-large", "take out what the agent does not need, and have a hook make what can be made"
		}
		t.wrong = &p
	}
	return t
}

func file(name string, data []byte, executable bool) schema.WorkspaceFile {
	sum := sha256.Sum256(data)
	return schema.WorkspaceFile{Path: name, Hash: hex.EncodeToString(sum[:]), Executable: executable}
}

// hasCommand reports whether a hook starts a program; one that only says how the
// workspace is reset does not, as each sample has a workspace of its own.
func hasCommand(hook document.Place) bool {
	return hook.Sub("command").Has() || hook.Sub("script").Has()
}

// hook reads the program of an event. Words equal to folder mean the workspace; empty
// names none.
func (r *testbedReader) hook(v document.Place, event, folder string, out *testbed) {
	words := v.Sub("command")
	if !words.Has() {
		words = v.Sub("script")
	}
	reader := command.Reader{Source: r.src}
	h := schema.WorkspaceHook{Event: event, Timeout: hookTime, InWorkspace: v.Text("cwd") == schema.WorkspacePlaceholder}
	cwd := v.Text("cwd")
	if h.InWorkspace {
		cwd = ""
	}
	dir, problem := reader.Folder(v.Doc.File, cwd)
	if problem != nil {
		problem.Position = v.Sub("cwd").At()
		out.Problems = append(out.Problems, *problem)
		return
	}
	line := commandLine(words, dir)
	if len(line.Argv) == 0 || line.Argv[0] == "" {
		out.Problems = append(out.Problems, v.Problem("missing-field", "the hook names no program", `write "command": [program, argument, …]`))
		return
	}
	for i, word := range line.Argv {
		if i > 0 && folder != "" && path.Join(dir, word) == folder {
			line.Argv[i] = schema.WorkspacePlaceholder
		}
	}
	h.InWorkspace = h.InWorkspace || cwd == "" && isOfWorkspace(line.Argv)
	found := reader.Program(line)
	out.Problems, out.Inputs = append(out.Problems, found.Problems...), append(out.Inputs, found.Inputs...)
	h.Argv, h.Dir, h.Built = found.Argv, dir, found.Built
	if ms, err := strconv.ParseFloat(string(v.Sub("timeout_ms").JSON()), 64); err == nil {
		h.Timeout = time.Duration(ms * float64(time.Millisecond))
	}
	out.Workspace.Add(h)
}

// isOfWorkspace reports whether a command starts a program that is in the workspace, by
// itself or with an interpreter.
func isOfWorkspace(argv []string) bool {
	word := argv[0]
	if len(argv) > 1 && slices.Contains([]string{"sh", "bash", "zsh", "node", "bun", "deno", "ruby", "python", "python3"}, word) {
		word = argv[1]
	}
	return strings.HasPrefix(word, schema.WorkspacePlaceholder+"/")
}

// commandLine is the command of a hook: a list of words, or a text for the shell.
func commandLine(words document.Place, dir string) command.Line {
	if text := words.Text(); text != "" {
		return command.Line{Argv: []string{text}, Shell: true, Dir: dir, At: func(int) schema.Position { return words.At() }}
	}
	var argv []string
	for i := range words.Doc.Items(words.Path...) {
		argv = append(argv, words.Text(i))
	}
	return command.Line{Argv: argv, Dir: dir, At: func(word int) schema.Position { return words.Sub(word).At() }}
}
