package config

import (
	"fmt"
	"slices"
	"strings"
)

// A preset speaks OpenAI's Chat Completions protocol.
type preset struct {
	// Name is the provider in gavel.yaml.
	Name string
	// BaseURL is the server's address; empty if it differs between accounts, and then
	// Form shows the form of base_url.
	BaseURL, Form string
	// Header takes the key: Authorization as a bearer token if it is empty.
	Header string
	// KeyEnv is the variable with the key if gavel.yaml names none; empty if the server
	// asks for no key by default.
	KeyEnv string
	// Page is where the vendor documents this.
	Page string
}

// presets are sorted by name.
var presets = []preset{
	{
		Name: "azure", Form: "https://RESOURCE.openai.azure.com/openai/v1", Header: "Api-Key", KeyEnv: "AZURE_OPENAI_API_KEY",
		Page: "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
	},
	{
		Name: "bedrock", Form: "https://bedrock-mantle.REGION.api.aws/v1", KeyEnv: "AWS_BEARER_TOKEN_BEDROCK",
		Page: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions-mantle.html",
	},
	{
		Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY",
		Page: "https://console.groq.com/docs/openai",
	},
	{
		Name: "lmstudio", BaseURL: "http://localhost:1234/v1",
		Page: "https://lmstudio.ai/docs/developer/openai-compat",
	},
	{
		Name: "ollama", BaseURL: "http://localhost:11434/v1",
		Page: "https://docs.ollama.com/api/openai-compatibility",
	},
	{
		Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY",
		Page: "https://openrouter.ai/docs/quickstart",
	},
	{
		Name: "together", BaseURL: "https://api.together.ai/v1", KeyEnv: "TOGETHER_API_KEY",
		Page: "https://docs.together.ai/docs/inference/openai-compatibility",
	},
	{
		// The key is an OAuth access token, which expires after an hour.
		Name: "vertex", Form: "https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/endpoints/openapi", KeyEnv: "GOOGLE_OAUTH_ACCESS_TOKEN",
		Page: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/auth-and-credentials",
	},
	{
		Name: "vllm", BaseURL: "http://localhost:8000/v1",
		Page: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
	},
}

// LookupPreset returns the server with a name.
func LookupPreset(name string) (s preset, ok bool) {
	i := slices.IndexFunc(presets, func(s preset) bool { return s.Name == name })
	if i < 0 {
		return preset{}, false
	}
	return presets[i], true
}

// PresetNames returns the names of all servers.
func PresetNames() []string {
	names := make([]string, 0, len(presets))
	for _, s := range presets {
		names = append(names, s.Name)
	}
	return names
}

// presetTable returns the documentation of all servers in Markdown.
func presetTable() string {
	var b strings.Builder
	b.WriteString("| `provider` | `base_url` | key | variable of the key |\n|:--|:--|:--|:--|\n")
	code := func(text string) string { return "`" + text + "`" }
	for _, s := range presets {
		at, key, variable := code(s.BaseURL), "`Authorization: Bearer …`", "`api_key_env`, if the server asks for one"
		if s.BaseURL == "" {
			at = "required, such as " + code(s.Form)
		}
		if s.Header != "" {
			key = code(s.Header + ": …")
		}
		if s.KeyEnv != "" {
			variable = code(s.KeyEnv)
		}
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s | %s |\n", s.Name, s.Page, at, key, variable)
	}
	return b.String()
}
