package configfile

// The programs read a conversation from stdin, hand it to the function of a provider
// as a prompt with the config of the provider and the row, and print what that answers. A
// conversation of one message is its text.
const (
	pythonProvider = `import importlib.util, inspect, json, os, sys
turn = json.load(sys.stdin)
messages = turn["messages"]
if turn.get("system_prompt"):
    messages = [{"role": "system", "content": turn["system_prompt"]}] + messages
prompt = messages[0]["content"] if len(messages) == 1 else json.dumps(messages)
path = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(path))
spec = importlib.util.spec_from_file_location("provider", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
out, sys.stdout = sys.stdout, sys.stderr
answer = getattr(module, sys.argv[2])(prompt, json.loads(sys.argv[3]), turn["context"])
if inspect.isawaitable(answer):
    import asyncio
    answer = asyncio.run(answer)
if isinstance(answer, dict) and answer.get("error"):
    sys.exit(str(answer["error"]))
text = answer.get("output") if isinstance(answer, dict) and "output" in answer else answer
usage = answer.get("tokenUsage") or {} if isinstance(answer, dict) else {}
json.dump({"messages": [{"role": "assistant", "content": text if text is None or isinstance(text, str) else json.dumps(text)}],
  "usage": {"input_tokens": usage.get("prompt", 0), "output_tokens": usage.get("completion", 0)}}, out)
`
	nodeProvider = `let input = "";
process.stdin.on("data", (d) => (input += d)).on("end", async () => {
  const turn = JSON.parse(input);
  let messages = turn.messages;
  if (turn.system_prompt) messages = [{ role: "system", content: turn.system_prompt }, ...messages];
  const prompt = messages.length === 1 ? messages[0].content : JSON.stringify(messages);
  const path = require("path").resolve(process.argv[1]);
  const loaded = await import(require("url").pathToFileURL(path).href);
  let provider = loaded.default && loaded.default.default ? loaded.default.default : loaded.default || loaded;
  if (typeof provider === "function" && provider.prototype && provider.prototype.callApi) provider = new provider(JSON.parse(process.argv[2]));
  const call = typeof provider === "function" ? provider : provider.callApi.bind(provider);
  const answer = await call(prompt, turn.context, {});
  if (answer && answer.error) throw new Error(answer.error);
  const text = answer && answer.output !== undefined ? answer.output : answer;
  const usage = (answer && answer.tokenUsage) || {};
  process.stdout.write(JSON.stringify({
    messages: [{ role: "assistant", content: text == null ? null : typeof text === "string" ? text : JSON.stringify(text) }],
    usage: { input_tokens: usage.prompt || 0, output_tokens: usage.completion || 0 },
  }));
}).on("error", (e) => { throw e; });
`
)
