package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestFunctionsOfFiles runs assertions in Python, Ruby and JavaScript in the sandbox,
// from files with helpers next to them and from the definition itself. Each language has
// one that passes, one that fails with its reason, and one that throws.
func TestFunctionsOfFiles(t *testing.T) {
	needsIsolation(t)
	for _, tt := range []struct {
		language, program string
		files             map[string]string
		passes, fails     string
		throws            string
	}{
		{
			"python", "python3",
			map[string]string{
				"checks/helper.py": "def lower(text):\n    return text.lower()\n",
				"checks/city.py": "from helper import lower\n\ndef get_assert(output, context):\n" +
					"    print('a line that is not the result')\n    return {'pass': context['vars']['city'] in lower(output), 'score': 0.5, 'reason': 'no ' + context['vars']['city']}\n\n" +
					"def broken(output, context):\n    raise ValueError('the helper is broken')\n",
			},
			"{type: python, value: 'file://checks/city.py'}", "{type: python, value: 'len(output) > 100'}", "{type: python, value: 'file://checks/city.py:broken'}",
		},
		{
			"ruby", "ruby",
			map[string]string{
				"checks/city.rb": "def get_assert(output, context)\n  puts 'a line that is not the result'\n  output.downcase.include?(context['vars']['city'])\nend\n\n" +
					"def broken(output, context)\n  raise 'the helper is broken'\nend\n",
			},
			"{type: ruby, value: 'file://checks/city.rb'}", "{type: ruby, value: 'output.length > 100'}", "{type: ruby, value: 'file://checks/city.rb:broken'}",
		},
		{
			"javascript", "node",
			map[string]string{
				"checks/helper.js": "module.exports = (text) => text.toLowerCase();\n",
				"checks/city.js": "const lower = require('./helper.js');\nmodule.exports = async (output, context) => {\n" +
					"  console.log('a line that is not the result');\n  return lower(output).includes(context.vars.city);\n};\n" +
					"module.exports.broken = () => { throw new Error('the helper is broken'); };\nmodule.exports.long = (output) => output.length > 100;\n",
			},
			"{type: javascript, value: 'file://checks/city.js'}", "{type: javascript, value: 'file://checks/city.js:long'}", "{type: javascript, value: 'file://checks/city.js:broken'}",
		},
	} {
		t.Run(tt.language, func(t *testing.T) {
			needsPrograms(t, tt.program)
			dir := t.TempDir()
			files := map[string]string{
				"gavel.yaml": "version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: It is Paris.}]}\n",
				"promptfooconfig.yaml": "prompts: ['Which city? {{city}}']\nproviders: [bot]\ntests:\n" +
					"- {description: passes, vars: {city: paris}, assert: [" + tt.passes + "]}\n" +
					"- {description: fails, vars: {city: paris}, assert: [" + tt.fails + "]}\n" +
					"- {description: throws, vars: {city: paris}, assert: [" + tt.throws + "]}\n",
			}
			for name, text := range tt.files {
				files[name] = text
			}
			gittest.Init(t, dir, "master")
			gittest.Commit(t, dir, files)
			stdout, stderr, _ := withKey(t, dir, "run")
			for _, want := range []string{"fail .*promptfooconfig#fails", "error .*promptfooconfig#throws", `the helper is\s+broken`, "3 cases: 1 passed, 1 failed, 1 not judged"} {
				if !regexp.MustCompile(`(?m)` + want).MatchString(stdout) {
					t.Errorf("the run does not say %q:\n%s%s", want, stdout, stderr)
				}
			}

			// A helper is part of the program: changing it judges again.
			for name, text := range tt.files {
				if strings.Contains(name, "helper") {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
						t.Fatal(err)
					}
					if stdout, _, _ := withKey(t, dir, "plan"); !regexp.MustCompile(`(?m)re-judge .*promptfooconfig#passes`).MatchString(stdout) {
						t.Errorf("a changed helper does not judge again:\n%s", stdout)
					}
				}
			}
		})
	}
}

// TestTypeScript has tests, prompts, variables and assertions in TypeScript, which Node.js runs
// since it removes types, and an error with the repair before.
func TestTypeScript(t *testing.T) {
	needsPrograms(t, "node")
	for name, test := range map[string]string{
		"tests":      "prompts: ['{{x}}']\ntests: file://tests.ts\n",
		"prompts":    "prompts: ['file://prompt.mts']\ntests: [{description: tests, vars: {x: a}, assert: [{type: contains, value: a ts}]}]\n",
		"variables":  "prompts: ['{{x}}']\ntests: [{description: tests, vars: {x: file://get.cts}, assert: [{type: contains, value: a ts}]}]\n",
		"assertions": "prompts: ['{{x}} ts']\ntests: [{description: tests, vars: {x: a}, assert: [{type: javascript, value: 'file://check.ts'}]}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			gittest.Init(t, dir, "master")
			gittest.Commit(t, dir, map[string]string{
				"gavel.yaml":           "version: 1\ntargets:\n  bot: {provider: mock, replies: [{echo: true}]}\n",
				"promptfooconfig.yaml": "providers: [bot]\n" + test,
				"tests.ts":             "type Test = { description: string; vars: Record<string, string>; assert: object[] };\nconst tests: Test[] = [{ description: 'tests', vars: { x: 'a ts' }, assert: [{ type: 'contains', value: 'a ts' }] }];\nexport default tests;\n",
				"prompt.mts":           "export default ({ vars }: { vars: Record<string, string> }): string => vars.x + ' ts';\n",
				"get.cts":              "module.exports = (name: string): { output: string } => ({ output: 'a ts' });\n",
				"check.ts":             "export default (output: string): boolean => output === 'a ts';\n",
			})
			stdout, stderr, _ := withKey(t, dir, "run")
			said := strings.Join(strings.Fields(stdout+stderr), " ")
			older := regexp.MustCompile(`TypeScript needs Node.js 22.18 or newer, and this is v(\d+)\.(\d+)`).FindStringSubmatch(said)
			if older == nil {
				older = []string{"", "99", "0"}
			}
			major, _ := strconv.Atoi(older[1]) // digits
			minor, _ := strconv.Atoi(older[2]) // digits
			removes := major > 23 || major == 23 && minor >= 6 || major == 22 && minor >= 18
			if passed := strings.Contains(said, "1 case: 1 passed"); passed != removes || passed == (older[0] != "") {
				t.Errorf("the run neither passes nor names an older Node.js:\n%s%s", stdout, stderr)
			}
		})
	}
}
