package matrix

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// vendors are the first words of promptfoo's providers.
var vendors = []string{
	"abliteration", "adaline", "ai21", "aimlapi", "alibaba", "anthropic", "azure", "azureopenai", "bam", "bedrock", "browser", "cerebras", "claude-agent-sdk",
	"cloudera", "cloudflare-ai", "cloudflare-gateway", "cohere", "cometapi", "databricks", "deepseek", "docker", "echo", "elevenlabs", "envoy", "exec", "f5", "fal", "file",
	"fireworks", "gemini", "github", "golang", "google", "groq", "helicone", "http", "https", "huggingface", "hyperbolic", "javascript", "jfrog", "lambdalabs",
	"litellm", "llama", "llamaapi", "llamafile", "localai", "manual-input", "mcp", "mistral", "modelslab", "nscale", "nvidia", "ollama", "openai", "opencode",
	"openrouter", "package", "palm", "perplexity", "portkey", "promptfoo", "python", "replicate", "ruby", "sagemaker", "sambanova", "sequence", "simulated-user", "slack",
	"snowflake", "together", "togetherai", "transformers", "truefoundry", "vercel", "vertex", "vllm", "voyage", "watsonx", "webhook", "websocket", "ws", "wss", "xai",
}

// meantVendor returns the provider that a name misspells, by its first word; empty for the
// name of a known or of quite another one.
func meantVendor(names []string) string {
	for _, name := range names {
		first, rest, isVendors := strings.Cut(name, ":")
		if !isVendors || slices.Contains(vendors, first) {
			continue
		}
		if near := suggest.Nearest(first, vendors); near != "" {
			return near + ":" + rest
		}
	}
	return ""
}
