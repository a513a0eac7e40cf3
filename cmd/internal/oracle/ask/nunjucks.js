// Fills in the templates of standard input with Nunjucks, set up as promptfoo does.
const nunjucks = require("nunjucks");
const { vars, templates } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const env = nunjucks.configure({ autoescape: false });
env.addFilter("load", (text) => JSON.parse(text));
const lines = templates.map((template) => {
  try {
    return JSON.stringify({ text: env.renderString(template, JSON.parse(vars)) });
  } catch {
    return JSON.stringify({ text: "", failed: true });
  }
});
process.stdout.write(lines.join("\n") + "\n");
