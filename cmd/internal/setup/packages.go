package setup

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A Package is the manifest of a program.
type Package struct {
	// File is package.json, pyproject.toml or requirements.txt.
	File string
	// Name is the name of the package; empty if the file has none.
	Name string
	// Provider is openai, anthropic or gemini if the program depends on its SDK;
	// otherwise empty.
	Provider string
}

// sdks maps packages to the provider that they talk to.
var sdks = []struct{ name, provider string }{
	{"openai", "openai"}, {"@ai-sdk/openai", "openai"}, {"@langchain/openai", "openai"}, {"langchain-openai", "openai"}, {"openai-agents", "openai"},
	{"anthropic", "anthropic"}, {"@anthropic-ai/sdk", "anthropic"}, {"@ai-sdk/anthropic", "anthropic"}, {"langchain-anthropic", "anthropic"},
	{"google-genai", "gemini"}, {"@google/genai", "gemini"}, {"google-generativeai", "gemini"}, {"@ai-sdk/google", "gemini"},
}

// readPackage reads the name and the dependencies.
func readPackage(fsys fs.FS, file string) (Package, bool) {
	out := Package{File: file}
	if path.Ext(file) == ".json" {
		doc := read(fsys, file)
		out.Name, _ = doc["name"].(string)
		var names []string
		for _, of := range []string{"dependencies", "devDependencies"} {
			list, _ := doc[of].(map[string]any)
			names = append(names, slices.Collect(maps.Keys(list))...)
		}
		out.Provider = providerOf(names)
		return out, doc != nil
	}
	data, err := schema.ReadFile(fsys, file, 0)
	if err != nil {
		return out, false
	}
	text := string(data)
	if path.Ext(file) == ".toml" {
		if m := projectName.FindStringSubmatch(text); m != nil {
			out.Name = m[1]
		}
	}
	var names []string
	for _, m := range requirement.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ToLower(m[1]))
	}
	out.Provider = providerOf(names)
	return out, true
}

var (
	projectName = lazyregexp.New(`(?ms)^\[(?:project|tool\.poetry)\][^\[]*?^name\s*=\s*["']([^"'\n]+)["']`)
	// requirement matches a package at the beginning of a line, as in requirements.txt,
	// lists of pyproject.toml and tables of Poetry.
	requirement = lazyregexp.New(`(?m)(?:^|[\["',])\s*["']?([A-Za-z][\w.-]*)`)
)

// providerOf returns the provider of the first SDK that is among the names.
func providerOf(names []string) string {
	for _, sdk := range sdks {
		if slices.Contains(names, sdk.name) {
			return sdk.provider
		}
	}
	return ""
}
