const replies = require("./replies.json");

module.exports = class {
  id() {
    return "judge";
  }
  async callApi(prompt) {
    const row = /ROW(\d+)Q/.exec(prompt);
    return row ? { output: replies[row[1]] } : { error: "the prompt is of no row" };
  }
  async callEmbeddingApi(text) {
    return { embedding: text.split(" ").slice(1).map(Number) };
  }
};
