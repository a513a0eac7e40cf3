package configfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A vendor says how its models are asked.
type vendor struct {
	provider string
	// base is the address if the provider has no other; empty for the provider's own
	// address.
	base string
	// key is the variable with the key; empty for the provider's own.
	key string
	// kinds are the words between the vendor and the model that are left out.
	kinds []string
}

// vendors by the first word of a name.
var vendors = map[string]vendor{
	"openai":      {provider: "openai", key: "OPENAI_API_KEY", kinds: []string{"chat", "responses", "embedding", "embeddings", "moderation"}},
	"azure":       {provider: "azure", kinds: []string{"chat", "responses", "embedding", "embeddings"}},
	"anthropic":   {provider: "anthropic", key: "ANTHROPIC_API_KEY", kinds: []string{"messages"}},
	"google":      {provider: "gemini", key: "GEMINI_API_KEY", kinds: []string{"chat"}},
	"huggingface": {provider: "openai", base: "https://router.huggingface.co/hf-inference/models", key: "HF_TOKEN", kinds: []string{"text-classification"}},
	"ollama":      {provider: "ollama", kinds: []string{"chat", "completion", "embeddings"}},
	"openrouter":  {provider: "openrouter"},
	"groq":        {provider: "groq"},
	"together":    {provider: "together", kinds: []string{"chat", "completion"}},
	"mistral":     {provider: "openai", base: "https://api.mistral.ai/v1", key: "MISTRAL_API_KEY", kinds: []string{"chat"}},
	"deepseek":    {provider: "openai", base: "https://api.deepseek.com/v1", key: "DEEPSEEK_API_KEY", kinds: []string{"chat"}},
	"xai":         {provider: "openai", base: "https://api.x.ai/v1", key: "XAI_API_KEY", kinds: []string{"chat"}},
}

// others are further names of vendors.
var others = map[string]string{"azureopenai": "azure", "togetherai": "together", "gemini": "google", "palm": "google"}

// parameters maps the names that gavel.yaml has for parameters to the fields of a
// vendor's config.
var parameters = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "seed": "seed",
	"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens", "maxTokens": "max_tokens",
}

// free are the fields that are sent as they are.
var free = []string{"presence_penalty", "frequency_penalty", "stop", "reasoning_effort", "reasoning", "logit_bias", "top_k", "thinking", "verbosity", "response_format", "tool_choice", "parallel_tool_calls", "stop_sequences", "service_tier", "store"}

// forbidden are the fields that would put a secret into the repository.
var forbidden = []string{"apiKey", "api_key", "token", "accessToken"}

// A secretError is a field that would put a secret into the repository.
type secretError string

// Error names the field.
func (e secretError) Error() string {
	return fmt.Sprintf("`%s` would put a secret into the repository", string(e))
}

// vendorForm returns the target that a name with its config means, in the form of gavel.yaml.
// File is where the name is written, for the programs that it names. The error says
// what to write into gavel.yaml instead.
func vendorForm(name, file string, config map[string]json.RawMessage) (map[string]any, error) {
	first, rest, _ := strings.Cut(name, ":")
	switch {
	case name == "echo":
		return map[string]any{"provider": "mock", "replies": []any{map[string]any{"echo": true, "echo_chat": true}}, "price": map[string]any{"input": 0, "output": 0}}, nil
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return agent(name, config)
	case first == "http", first == "https":
		return agent(text(config["url"]), config)
	case first == "python", strings.HasPrefix(name, "file://") && program.MatchString(name):
		return code(name, file, config)
	case first == "exec":
		options, err := optionsOf(name, config)
		return map[string]any{"provider": "command", "argv": []string{"sh", "-c", rest + ` "$2" "$1" "$3"`, "sh", options}, "prompt": "argument", "row": true}, err
	}
	if as, ok := others[first]; ok {
		first = as
	}
	v, known := vendors[first]
	if !known {
		if variable := schema.VariableIn(name); variable != "" {
			return nil, fmt.Errorf("the variable %s is not filled in, and so the provider %q is not known here", variable, name)
		}
		return nil, fmt.Errorf("the provider %q is not known here", name)
	}
	return v.form(rest, config)
}

// form returns the target of a vendor's model.
func (v vendor) form(rest string, config map[string]json.RawMessage) (map[string]any, error) {
	out := map[string]any{"provider": v.provider}
	model := rest
	kind, after, ok := strings.Cut(rest, ":")
	switch {
	case ok && slices.Contains(otherKinds, kind):
		return nil, fmt.Errorf("models of the kind %s are not asked", kind)
	case ok && slices.Contains(v.kinds, kind):
		model = after
		switch kind {
		case "responses":
			out["api"] = "responses"
		case "embedding", "embeddings":
			out["api"] = "embeddings"
		case "moderation":
			out["api"] = "moderations"
		case "text-classification":
			out["api"] = "classification"
		}
	}
	if model == "" {
		return nil, fmt.Errorf("the name has no model")
	}
	out["model"] = model
	if v.key != "" {
		out["api_key_env"] = v.key
	}
	if v.base != "" {
		out["base_url"] = v.base
	}
	further := map[string]json.RawMessage{}
	for _, field := range slices.Sorted(maps.Keys(config)) {
		raw := config[field]
		switch as, plain := parameters[field]; {
		case field == "tools": // which are read with the tests
		case slices.Contains(forbidden, field):
			return nil, secretError(field)
		case strings.Contains(string(raw), "{{"):
			return nil, fmt.Errorf("`%s` is filled in when it is asked", field)
		case plain:
			out[as] = raw
		case field == "response_format" && (v.provider == "anthropic" || out["api"] != nil || !strings.HasPrefix(string(raw), "{")):
			return nil, fmt.Errorf("`response_format` of its config is read as an object of models that chat with OpenAI's API")
		case slices.Contains(free, field):
			further[field] = raw
		case field == "apiKeyEnvar":
			out["api_key_env"] = text(raw)
		case field == "apiBaseUrl", field == "baseURL", field == "baseUrl":
			out["base_url"] = text(raw)
		case field == "apiHost":
			out["base_url"] = "https://" + strings.TrimSuffix(text(raw), "/") + map[bool]string{true: "/openai/v1", false: "/v1"}[v.provider == "azure"]
		}
	}
	if len(further) > 0 {
		out["parameters"] = further
	}
	return out, nil
}

// otherKinds are the kinds of models that do not chat and do not embed.
var otherKinds = []string{"assistant", "image", "realtime", "transcription", "speech", "video", "agents", "codex", "codex-sdk", "chatkit", "text-generation", "feature-extraction", "sentence-similarity", "token-classification"}

// unreadVendorFields returns the fields of a vendor model's config that are not read and may affect
// its answers, sorted.
func unreadVendorFields(name string, config map[string]json.RawMessage) []string {
	first, _, _ := strings.Cut(name, ":")
	if as, ok := others[first]; ok {
		first = as
	}
	if _, known := vendors[first]; !known {
		if _, set := config["pythonExecutable"]; set {
			return []string{"pythonExecutable"} // python3 is started
		}
		return nil
	}
	known := slices.Concat(free, forbidden, ignored, addresses, slices.Collect(maps.Keys(parameters)))
	var unread []string
	for _, field := range slices.Sorted(maps.Keys(config)) {
		if !slices.Contains(known, field) {
			unread = append(unread, field)
		}
	}
	return unread
}

// addresses are the fields that say where a model is, and tools, which are read with the tests.
var addresses = []string{"apiKeyEnvar", "apiBaseUrl", "baseURL", "baseUrl", "apiHost", "tools"}

// ignored are fields that bear on nothing here.
var ignored = []string{"apiVersion", "deployment_id", "delay", "cost", "showThinking", "metadata", "label"}

// agent is a service behind an address.
func agent(url string, config map[string]json.RawMessage) (map[string]any, error) {
	out := map[string]any{"provider": "http", "url": url}
	for _, field := range slices.Sorted(maps.Keys(config)) {
		raw := config[field]
		switch field {
		case "url", "method":
			out[field] = raw
		case "headers":
			headers, err := plainHeaders(raw)
			if err != nil {
				return nil, err
			}
			if len(headers) > 0 {
				out["headers"] = headers
			}
		case "body":
			if body := holes(raw); body != nil {
				out["body"] = body
			} else {
				return nil, fmt.Errorf("`body` of its config has templates other than {{prompt}}")
			}
		case "transformResponse", "responseParser":
			path, ok := replyPath(text(raw))
			if !ok {
				return nil, fmt.Errorf("`%s` of its config is a function", field)
			}
			out["reply"] = path
		default:
			return nil, fmt.Errorf("`%s` of its config is not read", field)
		}
	}
	if _, ok := out["reply"]; !ok {
		return nil, fmt.Errorf("its config does not say where the answer is in a reply (`transformResponse`)")
	}
	return out, nil
}

// plainHeaders are the headers that are sent in addition to what is sent anyway.
func plainHeaders(raw json.RawMessage) (map[string]string, error) {
	var headers map[string]string
	if json.Unmarshal(raw, &headers) != nil {
		return nil, fmt.Errorf("`headers` of its config has values that are not texts")
	}
	for name, value := range headers {
		if strings.Contains(value, "{{") || strings.EqualFold(name, "authorization") {
			return nil, fmt.Errorf("the header %s may be a secret", name)
		}
	}
	maps.DeleteFunc(headers, func(name, _ string) bool { return strings.EqualFold(name, "content-type") })
	return headers, nil
}

var (
	vendorHole = lazyregexp.New(`\{\{\s*prompt\s*\}\}`)
	answer     = lazyregexp.New(`^(?:json|data|response\.(?:json|data))((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\]|\["[^"]*"\]|\['[^']*'\])+)$`)
	arrow      = lazyregexp.New(`^(?:\(\s*(\w+)\s*(?:,[^()]*)?\)|(\w+))\s*=>\s*(\w+)(.*?);?$`)
	program    = lazyregexp.New(`\.(py|m?js|cjs|ts)(:[A-Za-z_][A-Za-z0-9_]*)?$`)
)

// holes writes a template with gavel.yaml's names for its holes; nil if it has other
// holes.
func holes(raw json.RawMessage) json.RawMessage {
	filled := vendorHole.ReplaceAllString(string(raw), "{{message}}")
	if strings.Contains(strings.ReplaceAll(filled, "{{message}}", ""), "{{") || !strings.HasPrefix(strings.TrimSpace(filled), "{") {
		return nil
	}
	return json.RawMessage(filled)
}

// replyPath is the JSONPath of an expression that only goes into the reply.
func replyPath(expression string) (string, bool) {
	expression = strings.TrimSpace(expression)
	if f := arrow.FindStringSubmatch(expression); f != nil && (f[3] == f[1] || f[3] == f[2]) {
		expression = "json" + f[4]
	}
	found := answer.FindStringSubmatch(expression)
	if found == nil {
		return "", false
	}
	return "$" + found[1], true
}

// code is a program of the repository that is a provider.
func code(id, file string, config map[string]json.RawMessage) (map[string]any, error) {
	options, err := optionsOf(id, config)
	if err != nil {
		return nil, err
	}
	name, function, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(id, "python:"), "file://"), ":")
	if function == "" {
		function = "call_api"
	}
	full := path.Join(path.Dir(file), strings.TrimPrefix(name, "./"))
	switch path.Ext(full) {
	case ".py":
		return map[string]any{"provider": "command", "argv": []string{"python3", "-c", pythonProvider, full, function, options}, "row": true}, nil
	case ".js", ".mjs", ".cjs":
		return map[string]any{"provider": "command", "argv": []string{"node", "-e", nodeProvider, full, options}, "row": true}, nil
	}
	return nil, fmt.Errorf("a provider in a %s file is not run", path.Ext(full))
}

// optionsOf returns, as JSON, the options that a program gets about itself: its name
// and its config.
func optionsOf(id string, config map[string]json.RawMessage) (string, error) {
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	raw, err := json.Marshal(map[string]any{"id": id, "config": config})
	switch {
	case err != nil:
		return "", err
	case strings.Contains(string(raw), "{{"):
		return "", fmt.Errorf("its config has a template, which is filled in when it is asked")
	case strings.Contains(string(raw), `"file://`) && strings.Count(string(raw), `"file://`) > strings.Count(id, "file://"):
		return "", fmt.Errorf("its config names a file, which is not read")
	}
	return string(raw), nil
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
