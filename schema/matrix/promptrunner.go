package matrix

import "github.com/gavel-evals/gavel/schema/assertion"

// promptRunners start the program of a prompt by its language: a function of a file, or
// the file itself. They read {vars, provider, config} and print the result as JSON; a
// Python file without a function gets them as its first argument, and prints the
// prompt.
var promptRunners = map[string][]string{
	"python": {"python3", "-c", `import contextlib, importlib.util, inspect, io, json, os, runpy, sys, traceback
said = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
file = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(file))
def written():
    if len(sys.argv) < 3:
        sys.argv = [file, json.dumps(said)]
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
        try:
            with contextlib.redirect_stdout(printed):
                runpy.run_path(file, run_name="__main__")
        except SystemExit as e:
            if e.code:
                raise
        printed.flush()
        return printed.buffer.getvalue().decode("utf-8", "replace").removesuffix("\n")
    spec = importlib.util.spec_from_file_location("prompt", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write = getattr(module, sys.argv[2], None)
    if not callable(write):
        sys.exit(f"the file has no function named {sys.argv[2]}")
    result = write(said)
    if inspect.isawaitable(result):
        import asyncio
        result = asyncio.run(result)
    return result
try:
    text = json.dumps(written())
except Exception as e:
    at = traceback.extract_tb(e.__traceback__)[-1]
    sys.exit(f"{type(e).__name__}: {e} ({os.path.basename(at.filename)}:{at.lineno})")
out.write(text)
`},
	"javascript": {"node", "-e", assertion.LoadModule + `let input = "";
process.stdin.on("data", (d) => (input += d)).on("end", async () => {
  const said = JSON.parse(input);
  const path = require("path").resolve(process.argv[1]);
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const loaded = await load(path);
  const name = process.argv[2];
  let f = name ? loaded[name] || (loaded.default || {})[name] : loaded.default || loaded;
  if (!name && f && typeof f !== "function") f = f.default;
  if (typeof f !== "function") throw new Error("the file exports no function" + (name ? " named " + name : ""));
  const result = await f(said);
  write(JSON.stringify(result === undefined ? null : result));
}).on("error", (e) => { throw e; });
process.on("unhandledRejection", (e) => {
  process.stderr.write(e instanceof Error ? e.name + ": " + e.message : String(e));
  process.exit(1);
});
`},
}
