package configfile_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
)

// FuzzAdd: no file of targets ends the process, takes a key that it writes itself, or has a target
// without a provider.
func FuzzAdd(f *testing.F) {
	for _, text := range []string{
		"targets: [{name: x, provider: openai, model: gpt-5, api_key: '${{ KEY }}'}]",
		"- {id: 'openai:chat:gpt-5', label: x, config: {api_key: sk-123}}",
		"targets: [{name: x, provider: cli, command: 'run {PROMPT} > \"{OUTPUT_FILE}\"'}, {name: y, use_target: x}]",
		suiteOf("{x: {id: mock, response: Hello}}"), suiteOf("[{id: mock, label: x, response: Hello, hooks: {}}]"), suiteOf("file://targets.yaml"),
		"providers: file://targets.yaml\ndefaults: {provider: x}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, _ := config.Parse("gavel.yaml", []byte("version: 1\ndefinitions: evals\nenvironment: [MODEL]\n"+ownTarget))
		fsys := fstest.MapFS{}
		for _, name := range []string{".agentv/targets.yaml", ".agentv/config.yaml", "evals/a.eval.yaml"} {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, err := configfile.AddTargets(fsys, c, environment); err != nil {
			t.Fatal(err)
		}
		for name, one := range c.Targets {
			if one.Provider == "" || one.Name == "" {
				t.Errorf("the target %q is %+v", name, one)
			}
			if strings.HasPrefix(one.APIKeyEnv, "sk-") {
				t.Errorf("the key of %q is in the file", name)
			}
		}
	})
}
