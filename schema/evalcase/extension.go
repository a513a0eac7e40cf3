package evalcase

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// agentRules is the extension of AgentV 5 that puts the rules of agents into the workspace.
const agentRules = "agentv:agent-rules"

// kindsOfRules are the lists of paths that it may have.
var kindsOfRules = []string{"skills", "hooks", "agents", "rules"}

// events are when extensions run, in the order in which they do for one sample.
var extensionEvents = []string{"beforeAll", "beforeEach", "afterEach", "afterAll"}

// extensionCallers start the function of a file that is an extension. They read the
// input of every hook.
var extensionCallers = map[string][]string{
	"node": {"node", "-e", callJavaScript}, "bun": {"bun", "-e", callJavaScript},
	"python3": {"python3", "-c", `import importlib.util, inspect, json, os, sys
file, name, event = sys.argv[1:4]
context = json.load(sys.stdin)
said = [m["content"] for m in context["case_input"] or [] if m["role"] == "user"]
context.update(hook_name=event, eval_dir=os.getcwd(), case_input=said[-1] if said else "")
sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
spec = importlib.util.spec_from_file_location("extension", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
result = getattr(module, name)(context)
if inspect.isawaitable(result):
    import asyncio
    asyncio.run(result)
`},
}

const callJavaScript = `const [file, name, event] = process.argv.slice(-3);
const {resolve} = require("node:path"), {pathToFileURL} = require("node:url");
const context = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const said = (context.case_input ?? []).filter((m) => m.role === "user");
Object.assign(context, {hook_name: event, eval_dir: process.cwd(), case_input: said.at(-1)?.content ?? ""});
import(pathToFileURL(resolve(file)).href).then((module) => {
  const hook = module[name] ?? module.default?.[name];
  if (typeof hook !== "function") throw new Error(file + " exports no function " + name);
  return hook(context, {hookName: event});
}).catch((e) => { console.error(e); process.exit(1); });`

// languages are the callers by the end of a file's name.
var extensionLanguages = map[string]string{".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "bun", ".mts": "bun", ".py": "python3"}

// extend adds the extensions of a suite of AgentV 5: programs that prepare the workspace, and
// rules for agents that are copied into it.
func (r *testbedReader) extend(list document.Place, out *testbed) {
	items := list.List()
	for _, event := range extensionEvents {
		for _, p := range items {
			name, of := cut(p)
			if of == event && name != agentRules {
				r.call(p, name, event, out)
			}
		}
	}
	for _, p := range items {
		switch name, event := cut(p); {
		case name == agentRules:
			r.stage(p, out)
		case !strings.HasPrefix(name, "file://"):
			hint := suggest.DidYouMean(name, []string{agentRules})
			if hint == "" {
				hint = "write file://hooks.mjs:beforeEach, or " + agentRules
			}
			out.Problems = append(out.Problems, p.Problem("unknown-extension", fmt.Sprintf("the extension %q is not known", name), hint))
		case !slices.Contains(extensionEvents, event):
			out.Problems = append(out.Problems, p.Problem("wrong-value", "the extension does not say when it runs", "write file://hooks.mjs:beforeEach; the events are "+strings.Join(extensionEvents, ", ")))
		}
	}
}

// cut parts the name of an extension from when it runs.
func cut(p document.Place) (name, event string) {
	name = p.Text()
	if p.IsObject() {
		return p.Text("id"), p.Text("hook")
	}
	if i := strings.LastIndex(name, ":"); i > 0 && slices.Contains(extensionEvents, name[i+1:]) {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// call has a function of a file prepare the workspace, or clear up after it.
func (r *testbedReader) call(p document.Place, name, event string, out *testbed) {
	name = strings.TrimPrefix(name, "file://")
	by, known := extensionLanguages[path.Ext(name)]
	if !known {
		out.Problems = append(out.Problems, p.Problem("unknown-program", "how "+name+" is run is not known", "name a file that ends in .mjs, .js, .ts or .py"))
		return
	}
	dir := path.Dir(p.Doc.File)
	argv := append(slices.Clone(extensionCallers[by]), name, event, event)
	line := command.Line{Argv: argv, Dir: dir, At: func(int) schema.Position { return p.At() }}
	found := command.Reader{Source: r.src}.Program(line)
	out.Problems, out.Inputs = append(out.Problems, found.Problems...), append(out.Inputs, found.Inputs...)
	h := schema.WorkspaceHook{Event: event, Argv: found.Argv, Dir: dir, Built: found.Built, Timeout: hookTime}
	if out.Workspace == nil {
		out.Workspace = &schema.Workspace{}
		w := p.Problem("empty-workspace", "the extension runs in an empty workspace, since the suite has no environment; nothing else that it does reaches the target", "add environment: {type: host, workdir: …}")
		w.Severity = schema.Warning
		out.Problems = append(out.Problems, w)
	}
	out.Workspace.Add(h)
}

// stage copies the rules that are listed into the workspace. Without a list the agent finds
// those that are in the workspace already, and without a workspace there is no such agent.
func (r *testbedReader) stage(p document.Place, out *testbed) {
	if out.Workspace == nil || !p.IsObject() {
		return
	}
	for _, kind := range kindsOfRules {
		for _, name := range p.Strings(kind) {
			from := path.Join(path.Dir(p.Doc.File), name)
			if out.Workspace.Template != "" && (from == out.Workspace.Template || strings.HasPrefix(from, out.Workspace.Template+"/")) {
				continue
			}
			if info, err := fs.Stat(r.src.FS, from); err == nil && info.Mode().IsRegular() {
				r.stageFile(p.Sub(kind), name, path.Join(".agentv/agent-rules", kind, path.Base(from)), out)
				continue
			}
			t, problem := r.folder(p.Doc.File, name)
			if problem != nil {
				problem.Position = p.At(kind)
				out.Problems = append(out.Problems, *problem)
				continue
			}
			out.Inputs = append(out.Inputs, t.inputs...)
			for _, f := range t.files {
				staged := schema.StagedFile{WorkspaceFile: f, From: path.Join(from, f.Path)}
				staged.Path = path.Join(".agentv/agent-rules", kind, path.Base(from), f.Path)
				out.Workspace.Staged = append(out.Workspace.Staged, staged)
			}
		}
	}
}

// stageFile copies one file into the workspace.
func (r *testbedReader) stageFile(at document.Place, name, to string, out *testbed) {
	found := r.src.Read(document.Reference{At: at.At(), Path: name, Role: "workspace"})
	out.Inputs, out.Problems = append(out.Inputs, found.Inputs...), append(out.Problems, found.Problems...)
	if found.Found() {
		out.Workspace.Staged = append(out.Workspace.Staged, schema.StagedFile{WorkspaceFile: file(to, found.File.Data, false), From: found.File.Path})
	}
}
