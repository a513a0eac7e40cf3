package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	cueyaml "cuelang.org/go/encoding/yaml"
	"go.yaml.in/yaml/v3"
)

func extractYAML(file string, data []byte) (ast.Expr, *Problem) {
	if p := checkYAML(file, data); p != nil {
		return nil, p
	}
	dec := cueyaml.NewDecoder(file, bytes.NewReader(data))
	expr, err := dec.Extract()
	if err != nil {
		return nil, yamlProblem(file, data, err)
	}
	second, err := dec.Extract()
	switch {
	case errors.Is(err, io.EOF):
		return expr, nil
	case err != nil:
		return nil, yamlProblem(file, data, err)
	}
	pos := second.Pos()
	return nil, &Problem{Position{file, max(pos.Line(), 1), max(pos.Column(), 1)}, Error, "two-documents",
		"the file holds more than one YAML document", "put each into a file of its own"}
}

// checkYAML finds what the extraction answers badly, slowly or not at all:
// tabs that indent, endless nesting, and aliases that grow beyond all bounds.
func checkYAML(file string, data []byte) *Problem {
	for n, line := range strings.Split(string(data), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if i := strings.IndexByte(indent, '\t'); i >= 0 && strings.TrimSpace(line) != "" {
			return &Problem{Position{file, n + 1, i + 1}, Error, "yaml-tab", "YAML is not indented with tabs", "use spaces"}
		}
		if len(indent) > 4*MaxDepth || strings.Count(line, "[")+strings.Count(line, "{") > 16*MaxDepth {
			return &Problem{Position{file, n + 1, 1}, Error, "too-deep", "the line is nested too deeply", fmt.Sprintf("values may be nested %d deep", MaxDepth)}
		}
	}
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 {
		return nil
	}
	return checkAliases(file, data)
}

// checkAliases works out how large every document becomes with its aliases
// expanded, without expanding them: the extraction would do so without a
// limit, and recurse for ever into an anchor that is merged into itself.
func checkAliases(file string, data []byte) *Problem {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return nil // the end, or a mistake that the extraction reports
		}
		e := expansion{sizes: map[*yaml.Node]int{}}
		e.size(&doc)
		at := Position{File: file}
		if e.loop != nil {
			at.Line, at.Column = e.loop.Line, e.loop.Column
			return &Problem{at, Error, "alias-loop", fmt.Sprintf("the anchor %q contains itself", e.loop.Value), "write the value out"}
		}
		if e.first != nil {
			at.Line, at.Column = e.first.Line, e.first.Column
			return &Problem{at, Error, "too-many-values", fmt.Sprintf("the file holds more than %d values, aliases expanded", maxNodes), "use fewer aliases"}
		}
	}
}

// An expansion measures a YAML tree as it would be without aliases.
type expansion struct {
	sizes map[*yaml.Node]int // of the nodes that are done; 0 while under way
	loop  *yaml.Node         // an alias that stands in its own anchor
	first *yaml.Node         // the first node that is too large
}

func (e *expansion) size(n *yaml.Node) int {
	if size, seen := e.sizes[n]; seen {
		return size
	}
	e.sizes[n] = 0
	size := 1
	for _, c := range n.Content {
		size = min(size+e.size(c), maxNodes+1)
	}
	if n.Kind == yaml.AliasNode {
		size += e.size(n.Alias)
		if e.loop == nil && e.sizes[n.Alias] == 0 {
			e.loop = n
		}
	}
	size = min(size, maxNodes+1)
	if size > maxNodes && e.first == nil {
		e.first = n
	}
	e.sizes[n] = size
	return size
}

// yamlLine is how the extraction begins the message of a syntax error.
var yamlLine = regexp.MustCompile(`^([0-9]+): `)

// yamlProblem turns an error of the extraction into a problem. It names a line
// in most cases and no column.
func yamlProblem(file string, data []byte, err error) *Problem {
	p := syntaxProblem(file, data, err)
	p.Message = strings.TrimSpace(strings.TrimPrefix(p.Message, file+":"))
	if m := yamlLine.FindStringSubmatch(p.Message); m != nil {
		p.Message = p.Message[len(m[0]):]
		if line, err := strconv.Atoi(m[1]); err == nil {
			p.Line, p.Column = line, indentOf(data, line)
		}
	}
	p.Message = "not valid YAML: " + p.Message
	p.Hint = "look for a missing colon, quote or bracket, or an indentation that is off, in or before this line"
	return p
}

// indentOf gives the column of the first letter of a line.
func indentOf(data []byte, line int) int {
	lines := strings.Split(string(data), "\n")
	if line < 1 || line > len(lines) {
		return 1
	}
	text := lines[line-1]
	return 1 + utf8.RuneCountInString(text[:len(text)-len(strings.TrimLeft(text, " "))])
}
