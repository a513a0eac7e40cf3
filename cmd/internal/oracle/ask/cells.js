// Reads the cells of standard input as promptfoo reads them in a table. The function is
// not exported, so it is cut out of the program by the name of its source file.
const fs = require("fs");
const path = require("path");
const dist = path.join(process.env.NODE_PATH, "promptfoo/dist/src");
const files = fs.readdirSync(dist).filter((name) => name.endsWith(".js"));
const text = (name) => fs.readFileSync(path.join(dist, name), "utf8");
const cut = (of, begin, end) => {
  for (const name of of) {
    const at = text(name).indexOf(begin);
    if (at >= 0) return text(name).slice(at, text(name).indexOf(end, at));
  }
  throw new Error("promptfoo has no " + begin);
};
const source = cut(["index.js"], "//#region src/csv.ts", "//#endregion");
const types = cut(files, "const BaseAssertionTypesSchema = z$1.enum(", ");") + ");";
const code = cut(files, "const JAVASCRIPT_EXTENSIONS = [", "];") + "];" + cut(files, "function isJavascriptFile(", "\n}") + "\n}";
const invariant = (holds, message) => {
  if (!holds) throw new Error(message);
};
const read = new Function("z$1", "invariant", types + code + source + "; return assertionFromString;")({ enum: (options) => ({ options }) }, invariant);
const cells = JSON.parse(fs.readFileSync(0, "utf8"));
const lines = cells.map((cell) => {
  try {
    return JSON.stringify(read(cell.trim()));
  } catch {
    return JSON.stringify({ failed: true });
  }
});
process.stdout.write(lines.join("\n") + "\n");
