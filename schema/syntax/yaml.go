package syntax

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

func readYAML(file string, data []byte) (ast.Expr, *Mistake) {
	if m := checkYAML(data); m != nil {
		return nil, m
	}
	dec := cueyaml.NewDecoder(file, bytes.NewReader(data))
	expr, err := dec.Extract()
	if err != nil {
		return nil, yamlMistake(file, data, err)
	}
	second, err := dec.Extract()
	switch {
	case errors.Is(err, io.EOF):
		return expr, nil
	case err != nil:
		return nil, yamlMistake(file, data, err)
	}
	pos := second.Pos()
	return nil, &Mistake{max(pos.Line(), 1), max(pos.Column(), 1), "two-documents", "the file holds more than one YAML document", "put each into a file of its own"}
}

// checkTabs finds the lines that are indented with tabs. In a text over several
// lines they mean no harm, and so they count only where the file cannot be read.
func checkTabs(data []byte) []Mistake {
	if bytes.IndexByte(data, '\t') < 0 {
		return nil
	}
	var found []Mistake
	for n, line := range strings.Split(string(data), "\n") {
		i := strings.IndexByte(indent(line), '\t')
		if i >= 0 && strings.TrimSpace(line) != "" && len(found) < maxMistakes {
			found = append(found, Mistake{n + 1, i + 1, "yaml-tab", "YAML is not indented with tabs", "use spaces"})
		}
	}
	return found
}

// indent is the white space that a line begins with.
func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// checkYAML finds what the extraction answers badly, slowly or not at all:
// endless nesting, and aliases that grow beyond all bounds.
func checkYAML(data []byte) *Mistake {
	for n, line := range strings.Split(string(data), "\n") {
		if len(indent(line)) > 4*MaxDepth || strings.Count(line, "[")+strings.Count(line, "{") > 16*MaxDepth {
			return &Mistake{n + 1, 1, "too-deep", "the line is nested too deeply", fmt.Sprintf("values may be nested %d deep", MaxDepth)}
		}
	}
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 {
		return nil
	}
	return checkAliases(data)
}

// checkAliases works out how large every document becomes with its aliases
// expanded, without expanding them: the extraction would do so without a
// limit, and recurse for ever into an anchor that is merged into itself.
func checkAliases(data []byte) *Mistake {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return nil // the end, or a mistake that the extraction reports
		}
		e := expansion{sizes: map[*yaml.Node]int{}}
		e.size(&doc)
		if e.loop != nil {
			return &Mistake{e.loop.Line, e.loop.Column, "alias-loop", fmt.Sprintf("the anchor %q contains itself", e.loop.Value), "write the value out"}
		}
		if e.first != nil {
			return &Mistake{e.first.Line, e.first.Column, "too-many-values", fmt.Sprintf("the file holds more than %d values, aliases expanded", MaxValues), "use fewer aliases"}
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
		size = min(size+e.size(c), MaxValues+1)
	}
	if n.Kind == yaml.AliasNode {
		size += e.size(n.Alias)
		if e.loop == nil && e.sizes[n.Alias] == 0 {
			e.loop = n
		}
	}
	size = min(size, MaxValues+1)
	if size > MaxValues && e.first == nil {
		e.first = n
	}
	e.sizes[n] = size
	return size
}

// yamlLine is how the extraction begins the message of a syntax error.
var yamlLine = regexp.MustCompile(`^([0-9]+): `)

// yamlMistake turns an error of the extraction into a mistake. It names a line
// in most cases and no column.
func yamlMistake(file string, data []byte, err error) *Mistake {
	m := parserMistake(file, err)
	m.Message = strings.TrimSpace(m.Message)
	if found := yamlLine.FindStringSubmatch(m.Message); found != nil {
		m.Message = m.Message[len(found[0]):]
		if line, err := strconv.Atoi(found[1]); err == nil {
			m.Line, m.Column = line, indentOf(data, line)
		}
	}
	m.Message = "not valid YAML: " + m.Message
	m.Hint = "look for a missing colon, quote or bracket, or an indentation that is off, in or before this line"
	return m
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
