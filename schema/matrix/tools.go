package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
)

// toolsOf returns the tools of a provider's config, as written: a list, or the names of
// files with lists. Unsupported ones are a need of the provider.
func (c *compiler) toolsOf(p *provider, doc *document.Document, at ...any) {
	raw := doc.JSON(at...)
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	var items []json.RawMessage
	if name, isFile := fileName(raw); isFile {
		items = c.toolFile(p, doc, name, at...)
	} else if json.Unmarshal(raw, &items) != nil {
		p.require("tools as a list, or the name of a file with one")
		return
	}
	for _, item := range items {
		if name, isFile := fileName(item); isFile {
			p.tools = append(p.tools, c.toolFile(p, doc, name, at...)...)
			continue
		}
		p.tools = append(p.tools, item)
	}
}

// withFile returns a provider with the tools of its own file, if it has one.
func (c *compiler) withFile(p provider, name string, at ...any) provider {
	if file, isFile := strings.CutPrefix(name, "file://"); isFile && p.need == "" && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file)) {
		if doc := c.open(file, at...); doc != nil {
			c.toolsOf(&p, doc, "config", "tools")
		}
	}
	return p
}

// toolFile reads a file with a tool or a list of them.
func (c *compiler) toolFile(p *provider, doc *document.Document, name string, at ...any) []json.RawMessage {
	if ext := path.Ext(name); ext != ".json" && ext != ".yaml" && ext != ".yml" {
		p.require("tools from a file of the type " + template.Clip(ext))
		return nil
	}
	found := c.Read(document.Reference{At: doc.At(at...), Path: name, Role: "tool"})
	c.Problems, c.inputs = append(c.Problems, found.Problems...), append(c.inputs, found.Inputs...)
	if !found.Found() {
		return nil
	}
	list, problems := document.Parse(found.File.Path, found.File.Data)
	if c.Problems = append(c.Problems, problems...); list == nil {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(list.JSON(), &items) != nil {
		items = []json.RawMessage{list.JSON()}
	}
	return items
}

// require records a need of a provider, if no other is recorded.
func (p *provider) require(need string) { p.need = cmp.Or(p.need, need) }

// offer adds the provider's tools to a case, unless gavel.yaml sets the target's tools.
// A reply that calls one is the answer, unless gavel.yaml has mocks for them. A case
// with its own answer is offered no tools.
func (c *compiler) offer(tc *schema.Case, r row, by provider) error {
	t := c.Settings.Targets[by.target]
	if len(by.tools) == 0 || r.test.given != nil || t.Agent || t.Tools != nil {
		return nil
	}
	for _, raw := range by.tools {
		raw, err := c.engine.FillJSON(r.resolved, raw)
		if err != nil {
			return err
		}
		tool, err := chat.ReadTool(raw)
		if err != nil {
			return err
		}
		c.Budget.Spend(document.Text, len(tool.Description)+len(tool.Parameters))
		tc.Tools = append(tc.Tools, tool)
	}
	slices.SortStableFunc(tc.Tools, func(a, b schema.Tool) int { return strings.Compare(a.Name, b.Name) })
	tc.Tools = slices.CompactFunc(tc.Tools, func(a, b schema.Tool) bool { return a.Name == b.Name && bytes.Equal(a.Hosted, b.Hosted) })
	number := map[string]int{}
	for i := range tc.Tools {
		t := &tc.Tools[i]
		if number[t.Name]++; t.Hosted != nil && number[t.Name] > 1 { // such as two servers of mcp
			t.Name += " " + strconv.Itoa(number[t.Name])
		}
	}
	tc.Drive.CallsAnswer = !slices.ContainsFunc(tc.Tools, func(tool schema.Tool) bool { return t.Mocks[tool.Name] })
	return nil
}
