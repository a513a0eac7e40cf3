// Package sarif writes problems as SARIF 2.1.0, which code scanning reads.
package sarif

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

type document struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool tool `json:"tool"`
	// Bases say what locations are relative to.
	Bases map[string]base `json:"originalUriBaseIds"`
	// ColumnKind says that columns count code points, as Position does.
	ColumnKind string   `json:"columnKind"`
	Results    []result `json:"results"`
}

// A base has no URI: the path of the repository is private.
type base struct {
	Description text `json:"description"`
}

// root is the usual name for the root of a repository.
const root = "%SRCROOT%"

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name           string `json:"name"`
	InformationURI string `json:"informationUri"`
	Rules          []rule `json:"rules"`
}

type rule struct {
	ID               string `json:"id"`
	ShortDescription text   `json:"shortDescription"`
}

type result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     string     `json:"level"`
	Message   text       `json:"message"`
	Locations []location `json:"locations,omitempty"`
}

type text struct {
	Text string `json:"text"`
}

type location struct {
	Physical physical `json:"physicalLocation"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// Write writes the problems as one run in their order, each rule listed once.
func Write(w io.Writer, problems []schema.Problem) error {
	rules, index := []rule{}, map[string]int{}
	results := make([]result, 0, len(problems))
	for _, p := range problems {
		i, ok := index[p.Rule]
		if !ok {
			i = len(rules)
			index[p.Rule] = i
			rules = append(rules, rule{p.Rule, text{strings.ReplaceAll(textfmt.Line(p.Rule), "-", " ")}})
		}
		results = append(results, result{p.Rule, i, string(p.Severity), text{message(p)}, locations(p.Position)})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(document{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []run{{
			Tool:       tool{driver{"gavel", "https://github.com/gavel-evals/gavel", rules}},
			Bases:      map[string]base{root: {text{"the root of the repository"}}},
			ColumnKind: "unicodeCodePoints", Results: results,
		}},
	})
}

// message is one line. SARIF reads [text](target) in it as a link and {0} as a
// placeholder, and a message may quote what a definition says.
func message(p schema.Problem) string {
	s := p.Message
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return strings.NewReplacer("](", "] (", "{", "{{", "}", "}}").Replace(textfmt.Line(s))
}

// locations is empty for a problem that is in no file.
func locations(at schema.Position) []location {
	if at.File == "" {
		return nil
	}
	p := physical{Artifact: artifact{reference(at.File), root}}
	if at.Line > 0 {
		p.Region = &region{at.Line, at.Column}
	}
	return []location{{p}}
}

// reference is a path as a relative reference. The text before a colon in its
// first folder would be read as the scheme of a URI.
func reference(file string) string {
	first, rest, isDeep := strings.Cut((&url.URL{Path: file}).EscapedPath(), "/")
	first = strings.ReplaceAll(first, ":", "%3A")
	if !isDeep {
		return first
	}
	return first + "/" + rest
}
