package matrix

import "github.com/gavel-evals/gavel/schema/assertion"

// makeRunners start the program that makes tests or variables, by its language. They read
// {calls}, a list of arguments each, call the function of a file with each of them, and print
// a list of {value} and {error} as JSON. A file of JavaScript may export a value instead.
var makeRunners = map[string][]string{
	"python": {"python3", "-c", `import importlib.util, inspect, json, os, sys, traceback
said = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
file = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(file))
def failed(e):
    at = traceback.extract_tb(e.__traceback__)[-1]
    return f"{type(e).__name__}: {e} ({os.path.basename(at.filename)}:{at.lineno})"
try:
    spec = importlib.util.spec_from_file_location(os.path.basename(file).rsplit(".", 1)[0], file)
    f = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
except Exception as e:
    sys.exit(failed(e))
for part in sys.argv[2].split("."):
    f = getattr(f, part, None)
if not callable(f):
    sys.exit(f"the file has no function named {sys.argv[2]}")
made = []
for args in said["calls"]:
    try:
        value = f(*args)
        if inspect.isawaitable(value):
            import asyncio
            async def finish(value=value):
                return await value
            value = asyncio.run(finish())
        made.append(json.dumps({"value": value}, allow_nan=False))
    except Exception as e:
        made.append(json.dumps({"error": failed(e)}))
out.write("[" + ",".join(made) + "]")
`},
	"javascript": {"node", "-e", assertion.LoadModule + `let input = "";
process.stdin.on("data", (d) => (input += d)).on("end", async () => {
  const {calls} = JSON.parse(input);
  const path = require("path").resolve(process.argv[1]);
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const loaded = await load(path);
  const name = process.argv[2], all = loaded.default === undefined ? loaded : loaded.default;
  let f = name ? loaded[name] || (all || {})[name] : all;
  if (!name && f && typeof f !== "function" && f.default !== undefined) f = f.default;
  if (f === undefined) throw new Error("the file exports nothing" + (name ? " named " + name : ""));
  const made = [];
  for (const args of calls) {
    try {
      const value = typeof f === "function" ? await f(...args) : f;
      made.push(JSON.stringify({value: value === undefined ? null : value}));
    } catch (e) {
      made.push(JSON.stringify({error: e instanceof Error ? e.name + ": " + e.message : String(e)}));
    }
  }
  write("[" + made.join(",") + "]");
});
process.on("unhandledRejection", (e) => {
  process.stderr.write(e instanceof Error ? e.name + ": " + e.message : String(e));
  process.exit(1);
});
`},
}
