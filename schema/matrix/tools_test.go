package matrix_test

import (
	"slices"
	"strings"
	"testing"
)

// TestTools: the tools of a provider's config belong to its cases alone, and a reply
// that calls them is the answer.
func TestTools(t *testing.T) {
	got := cases(t, `prompts: ['{{q}}']
providers: [bot, {id: large, config: {tools: [{name: b}, {type: function, function: {name: a, description: 'of {{q}}', parameters: {required: [], type: object}}}, {name: a}]}}]
tests: [{vars: {q: one}}]
`, nil)
	for _, c := range got {
		var names []string
		for _, tool := range c.Tools {
			names = append(names, tool.Name+" "+tool.Description+" "+string(tool.Parameters))
		}
		want := map[string]string{"bot": "", "large": `a of one {"required":[],"type":"object"}; b  `}[c.Target]
		if said := strings.Join(names, "; "); said != want || c.Drive.CallsAnswer != (want != "") {
			t.Errorf("%s is offered %q, want %q; calls are an answer: %t", c.Target, said, want, c.Drive.CallsAnswer)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d cases, want 2", len(got))
	}
}

// TestToolsOfAProviderInAFile: they are offered, whether the provider is the name of the file
// or an object that names it, unless the object has tools itself. An answer that is given
// needs none.
func TestToolsOfAProviderInAFile(t *testing.T) {
	provider := map[string]string{"provider.yaml": "id: large\nconfig: {tools: [{name: filed}]}\n"}
	for _, tt := range []struct{ provider, test, want string }{
		{"'file://provider.yaml'", "", "filed"},
		{"{id: 'file://provider.yaml', label: x}", "", "filed"},
		{"{id: 'file://provider.yaml', config: {tools: [{name: own}]}}", "", "own"},
		{"'file://provider.yaml'", ", providerOutput: a", ""},
		{"{id: large, config: {tools: [{type: file_search}]}}", ", providerOutput: a", ""},
	} {
		got, _ := load(t, "prompts: [a]\nproviders: ["+tt.provider+"]\ntests: [{vars: {q: one}"+tt.test+"}]\n", provider)
		var names []string
		for _, c := range got {
			for _, tool := range c.Tools {
				names = append(names, tool.Name)
			}
		}
		if said := strings.Join(names, " "); len(got) != 1 || got[0].Skip != "" || said != tt.want {
			t.Errorf("%s%s: %d cases with the tools %q, want %q", tt.provider, tt.test, len(got), said, tt.want)
		}
	}
}

// TestHostedTools are sent as they are: the vendor runs them.
func TestHostedTools(t *testing.T) {
	got, problems := load(t, `
prompts: [a]
providers:
- id: large
  config:
    tools: [{type: mcp, server_label: b}, {type: mcp, server_label: a}, {type: mcp, server_label: a}, {googleSearch: {}}, {type: web_search_20250305, name: web_search, max_uses: 2}, {name: own}]
tests: [{vars: {q: one}}]
`, nil)
	want := []string{
		`googleSearch {"googleSearch":{}}`, `mcp {"server_label":"b","type":"mcp"}`, `mcp 2 {"server_label":"a","type":"mcp"}`, `own `,
		`web_search_20250305 {"max_uses":2,"name":"web_search","type":"web_search_20250305"}`,
	}
	var tools []string
	if len(got) == 1 {
		for _, tool := range got[0].Tools {
			tools = append(tools, tool.Name+" "+string(tool.Hosted))
		}
	}
	if len(got) != 1 || got[0].Skip != "" || !slices.Equal(tools, want) {
		t.Errorf("%d cases, problems %v, tools %q, want %q", len(got), problems, tools, want)
	}
}

// TestToolsNotRead are named, and the rows of their provider are not run.
func TestToolsNotRead(t *testing.T) {
	for _, tt := range []struct{ tools, want string }{
		{"7", "it needs tools as a list, or the name of a file with one"},
		{"file://tools.js", "it needs tools from a file of the type .js"},
		{"[{parameters: {}}]", "it needs tools that are objects with a name"},
		{"[{type: function, function: {description: x}}]", "it needs tools that are objects with a name"},
		{"[{}]", "it needs tools that are objects with a name"},
		{"[search]", "it needs tools that are objects with a name"},
	} {
		got, _ := load(t, "prompts: [a]\nproviders: [{id: large, config: {tools: "+tt.tools+"}}]\ntests: [{vars: {q: one}}]\n", nil)
		if len(got) != 1 || got[0].Skip != tt.want {
			t.Errorf("tools: %s give %+v, want %q", tt.tools, got, tt.want)
		}
	}
}
