package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"cuelang.org/go/cue/ast"
	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// readYAML reads the one document of a text.
func readYAML(file string, data []byte) (ast.Expr, *mistake) {
	expr, wrong, err := decodeYAML(file, data, data)
	if err != nil && strings.Contains(err.Error(), "did not find expected ',' or") {
		if without := withoutQuestions(data); len(without) != len(data) {
			if again, m, err := decodeYAML(file, data, without); err == nil {
				return again, m
			}
		}
	}
	if err != nil {
		return nil, yamlMistake(data, err)
	}
	return expr, wrong
}

// inText matches a ? that a text without quotes may have within [ ] and { }.
var inText = lazyregexp.New(`([^\s,\[\]{}?])\?`)

// substitute replaces a ? within a text. It is a private-use character, so no text has
// it.
const substitute = '\U0010F3FF'

// withoutQuestions puts a substitute into the place of each ? within a text, since the parser ends
// texts there that are within [ ] or { }. YAML does not.
func withoutQuestions(data []byte) []byte {
	if bytes.ContainsRune(data, substitute) || bytes.Contains(bytes.ToUpper(data), []byte("0010F3FF")) {
		return data
	}
	return inText.ReplaceAll(data, []byte("${1}"+string(substitute)))
}

// restore reverts withoutQuestions in the texts of a document.
func restore(n *yaml.Node) {
	n.Value = strings.ReplaceAll(n.Value, string(substitute), "?")
	for _, inner := range n.Content {
		restore(inner)
	}
}

// decodeYAML reads the document of a text, which is data or a variant with the same
// characters at the same places except for substitutes. The error is the parser's.
func decodeYAML(file string, data, text []byte) (ast.Expr, *mistake, error) {
	var docs [2]yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for i := range docs {
		err := dec.Decode(&docs[i])
		switch {
		case errors.Is(err, io.EOF) && i == 0:
			return nil, &mistake{1, 1, "empty-file", "the file holds nothing but comments", "fill it, or remove it"}, nil
		case errors.Is(err, io.EOF):
			if len(text) != len(data) {
				restore(&docs[0])
			}
			expr, wrong := yamlValue(file, data, &docs[0])
			return expr, wrong, nil
		case err != nil:
			return nil, nil, err
		}
	}
	t := newYAMLTree(file, data)
	return nil, t.mistake(docs[1].Content[0], "two-documents", "the file holds more than one YAML document", "put each into a file of its own"), nil
}

// yamlValue makes the value of a document.
func yamlValue(file string, data []byte, doc *yaml.Node) (ast.Expr, *mistake) {
	t := newYAMLTree(file, data)
	if m := t.checkAliases(doc); m != nil {
		return nil, m
	}
	expr := t.expr(doc.Content[0], t.at(doc.Content[0]))
	return expr, t.wrong
}

// checkTabs finds the lines that are indented with tabs. In a text over several
// lines they mean no harm, and so they count only where the file cannot be read.
func checkTabs(data []byte) []mistake {
	if bytes.IndexByte(data, '\t') < 0 {
		return nil
	}
	var found []mistake
	for n, line := range strings.Split(string(data), "\n") {
		i := strings.IndexByte(indent(line), '\t')
		if i >= 0 && strings.TrimSpace(line) != "" && len(found) < maxMistakes {
			found = append(found, mistake{n + 1, i + 1, "yaml-tab", "the line is indented with a tab, and YAML allows only spaces", "use spaces"})
		}
	}
	return found
}

// indent is the white space that a line begins with.
func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// checkAliases works out how large a document becomes with its aliases
// expanded, without expanding them, and finds anchors that hold themselves.
func (t *yamlTree) checkAliases(doc *yaml.Node) *mistake {
	e := expansion{sizes: map[*yaml.Node]int{}}
	e.size(doc)
	switch {
	case e.loop != nil:
		return t.mistake(e.loop, "alias-loop", fmt.Sprintf("the anchor %q contains itself", e.loop.Value), "write the value out")
	case e.first != nil:
		return t.mistake(e.first, "too-many-values", fmt.Sprintf("the file holds more than %d values, aliases expanded", maxValues), "use fewer aliases")
	}
	return nil
}

// An expansion measures a YAML tree as it would be without aliases.
type expansion struct {
	sizes map[*yaml.Node]int // of the nodes that are done; 0 while in progress
	loop  *yaml.Node         // an alias within its own anchor
	first *yaml.Node         // the first node that is too large
}

func (e *expansion) size(n *yaml.Node) int {
	if size, seen := e.sizes[n]; seen {
		return size
	}
	e.sizes[n] = 0
	size := 1
	for _, c := range n.Content {
		size = min(size+e.size(c), maxValues+1)
	}
	if n.Kind == yaml.AliasNode {
		size += e.size(n.Alias)
		if e.loop == nil && e.sizes[n.Alias] == 0 {
			e.loop = n
		}
	}
	size = min(size, maxValues+1)
	if size > maxValues && e.first == nil {
		e.first = n
	}
	e.sizes[n] = size
	return size
}
