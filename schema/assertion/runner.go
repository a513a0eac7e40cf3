package assertion

import (
	"cmp"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// MaxJavaScript bounds a file of JavaScript that is called, in bytes.
const MaxJavaScript = 256 << 10

// namedFunction matches the name of a file with code, and of a function in it.
var namedFunction = lazyregexp.New(`^(.*\.(?:c?js|mjs|c?ts|mts|py|rb)):([\w.]+)$`)

// SplitFunction splits file.js:function. The name of the function is empty without one.
func SplitFunction(name string) (file, function string) {
	if m := namedFunction.FindStringSubmatch(name); m != nil {
		return m[1], m[2]
	}
	return name, ""
}

// foreign matches names that the interpreter's functions lack.
var foreign = lazyregexp.New(`\b(require|import|export|await|async|fetch|process)\b`)

// LoadModule is the function load of Node.js that imports a file. TypeScript needs a version
// that removes types.
const LoadModule = `const load = async (path) => {
  try {
    return await import(require("url").pathToFileURL(path).href);
  } catch (e) {
    if (e.code !== "ERR_UNKNOWN_FILE_EXTENSION") throw e;
    throw new Error("TypeScript needs Node.js 22.18 or newer, and this is " + process.version + ": install that, or translate the file to JavaScript");
  }
};
`

// Runners start a function of a file, or inline code, by language. They read {output,
// context, code, config} and print the function's result as JSON.
var Runners = map[string][]string{
	"python": {"python3", "-c", `import importlib.util, inspect, json, os, sys
said = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
context = said["context"] or {}
context["config"] = said.get("config") or {}
if len(sys.argv) > 1:
    file = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(file))
    spec = importlib.util.spec_from_file_location("assertion", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = getattr(module, sys.argv[2])(said["output"], context)
else:
    code = said["code"].strip()
    names = {"output": said["output"], "context": context, "json": json}
    if "\n" not in code and not code.startswith("return "):
        code = "return " + code
    exec("import json\ndef check(output, context):\n" + "\n".join("    " + line for line in code.split("\n")), names)
    result = names["check"](said["output"], context)
if inspect.isawaitable(result):
    import asyncio
    result = asyncio.run(result)
json.dump(result if isinstance(result, (bool, int, float, dict)) else str(result), out)
`},
	"ruby": {"ruby", "-e", `require "json"
said = JSON.parse(STDIN.read)
out = STDOUT.dup
STDOUT.reopen(STDERR)
context = said["context"] || {}
context["config"] = said["config"] || {}
if ARGV.length > 0
  require File.expand_path(ARGV[0])
  result = send(ARGV[1], said["output"], context)
else
  output = said["output"]
  result = eval("lambda { |output, context| " + said["code"] + "\n}").call(output, context)
end
out.write(JSON.generate(result))
`},
	"javascript": {"node", "-e", LoadModule + `let input = "";
process.stdin.on("data", (d) => (input += d)).on("end", async () => {
  const said = JSON.parse(input);
  const context = Object.assign({}, said.context, { config: said.config || {} });
  if (context.provider) {
    const id = context.provider.id;
    context.provider.id = () => id;
  }
  const path = require("path").resolve(process.argv[1]);
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const loaded = await load(path);
  let f = process.argv[2] ? loaded[process.argv[2]] || (loaded.default || {})[process.argv[2]] : loaded.default || loaded;
  if (f && f.default) f = f.default;
  if (f && typeof f !== "function" && process.argv[3]) f = f[process.argv[3]];
  if (typeof f !== "function") throw new Error("the file exports no function" + (process.argv[2] ? " named " + process.argv[2] : ""));
  write(JSON.stringify(await f(said.output, context)));
});
`},
}

// DefaultFunctions are called if a definition names none.
var DefaultFunctions = map[string]string{"python": "get_assert", "ruby": "get_assert"}

// saying matches comments, texts and member names of JavaScript: names in them are not
// called. A text with ${ contains code, too.
var saying = lazyregexp.New(`(?s)//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|` + "`[^`$\\\\]*`" + `|\.\s*[\w$]+`)

// foreignInline matches names that inline code must not use. It may be asynchronous.
var foreignInline = lazyregexp.New(`\b(require|import|export|fetch|process)\b`)

var asynchronous, waiting = lazyregexp.New(`\basync\b`), lazyregexp.New(`\bawait\b`)

// processMember matches the member of process that code names.
var processMember = lazyregexp.New(`\bprocess\s*(?:\.\s*env\s*)?\.\s*\w+`)

// Foreign returns a word of a function that the interpreter lacks, or an empty string. Of
// process it is the member, such as process.env.HOME.
func Foreign(source string) string {
	if word := foreignWord(source); word != "process" {
		return word
	}
	return cmp.Or(strings.Join(strings.Fields(processMember.FindString(source)), ""), "process")
}

func foreignWord(source string) string {
	source = saying.ReplaceAllString(source, " ")
	if word := foreignInline.FindString(source); word != "" || asynchronous.MatchString(source) {
		return word
	}
	return waiting.FindString(source) // which only an asynchronous function may do
}

// Computing returns the code that calls a function of a JavaScript file that only
// computes; empty for any other file.
func Computing(file schema.File, function string) string {
	source := string(file.Data)
	if path.Ext(file.Path) != ".js" || len(source) > MaxJavaScript || foreign.MatchString(source) {
		return ""
	}
	if function != "" {
		function = "." + function
	}
	return "const module = {exports: {}}; let exports = module.exports;\n" + source + "\n;const found = module.exports" + function + ";\nreturn found(output, context)"
}
