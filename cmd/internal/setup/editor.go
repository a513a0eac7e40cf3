package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// schemas is the folder with the JSON Schemas for editors.
const schemas = ".vscode/gavel"

// schemaFile is the path of the schema of a format.
func schemaFile(format string) string {
	return path.Join(schemas, strings.ReplaceAll(strings.TrimSuffix(format, ".yaml"), "/", "-")+".json")
}

// modeline returns the first line of a file in a folder. It names the schema of the format
// to editors with a YAML language server.
func modeline(format, folder string) string {
	to, err := filepath.Rel(filepath.FromSlash(folder), filepath.FromSlash(schemaFile(format)))
	if err != nil {
		return "" // both are relative to the root
	}
	return "# yaml-language-server: $schema=" + filepath.ToSlash(to)
}

// A matcher maps a schema to the globs of its files.
type matcher struct {
	format string
	globs  []string
}

// editorFiles returns the settings of editors and the schemas that they name.
func editorFiles(a Answers) ([]File, error) {
	yaml, json := matchers(a, "yaml", "yml"), matchers(a, "json")
	text, err := settingsText(yaml, json)
	if err != nil {
		return nil, err
	}
	out := []File{{".vscode/settings.json", text, "completion and checks in Visual Studio Code"}}
	for _, m := range slices.Concat(yaml, json) {
		if slices.ContainsFunc(out, func(f File) bool { return f.Path == schemaFile(m.format) }) {
			continue
		}
		raw, err := document.FormatJSON(m.format)
		if err != nil {
			return nil, err
		}
		out = append(out, File{schemaFile(m.format), string(raw), "the schema of " + m.format + " for editors"})
	}
	return out, nil
}

// matchers returns the formats of the repository with globs of their files, for files
// with one of the extensions.
func matchers(a Answers, extensions ...string) []matcher {
	var out []matcher
	add := func(format string, globs ...string) {
		var all []string
		for _, glob := range globs {
			for _, ext := range extensions {
				all = append(all, strings.ReplaceAll(glob, ".*", "."+ext))
			}
		}
		out = append(out, matcher{format, slices.Compact(all)})
	}
	root := "/" + a.Definitions
	if slices.Contains(extensions, "yaml") {
		out = append(out, matcher{document.FormatConfig, []string{"/gavel.yaml"}})
		add(document.FormatChecks, root+"/**/*.checks.*")
	}
	formats := a.formats()
	if slices.Contains(formats, schema.DialectDomain) {
		add("domain/domain", root+"/*/domain.*")
		add("domain/test", root+"/*/level_*/*.*", "!**/level.*")
		add("domain/level", root+"/*/level_*/level.*")
		add("domain/evaluator", root+"/evaluators/*.*")
		add("domain/tool", root+"/tools/*.*")
	}
	if slices.Contains(formats, schema.DialectSkill) && slices.Contains(extensions, "json") {
		out = append(out, matcher{schema.DialectSkill, []string{"**/evals/evals.json", "**/evals/trigger*.json"}})
	}
	others := slices.DeleteFunc(formats, func(f string) bool { return f == schema.DialectDomain || f == schema.DialectSkill })
	for _, format := range others {
		if len(others) == 1 && len(a.rootFiles()) == 0 {
			add(format, root+"/**/*.*", "!**/*.checks.*", "!**/domain.*", "!**/level_*/*.*", "!"+root+"/evaluators/*.*", "!"+root+"/tools/*.*")
			continue
		}
		var files []string
		for _, d := range a.Existing {
			if d.Dialect == format && slices.Contains(extensions, strings.TrimPrefix(path.Ext(d.File), ".")) {
				files = append(files, "/"+d.File)
			}
		}
		if len(files) > 0 {
			out = append(out, matcher{format, files})
		}
	}
	return out
}

// formats returns the formats of the definitions, including the first cases.
func (a Answers) formats() []string {
	var out []string
	for _, d := range a.Existing {
		out = append(out, d.Dialect)
	}
	if len(a.Existing) == 0 {
		out = append(out, schema.DialectEvalcase, a.Format)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// settingsText returns the text of settings.json.
func settingsText(yaml, asJSON []matcher) (string, error) {
	type association struct {
		FileMatch []string `json:"fileMatch"`
		URL       string   `json:"url"`
	}
	out := struct {
		YAML map[string][]string `json:"yaml.schemas"`
		JSON []association       `json:"json.schemas"`
	}{YAML: map[string][]string{}, JSON: []association{}}
	for _, m := range yaml {
		out.YAML["./"+schemaFile(m.format)] = m.globs
	}
	for _, m := range asJSON {
		out.JSON = append(out.JSON, association{m.globs, "./" + schemaFile(m.format)})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return "", fmt.Errorf("write the settings of the editor: %w", err)
	}
	return b.String(), nil
}
