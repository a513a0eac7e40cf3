package files

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool sarifTool `json:"tool"`
	// Bases are the bases of relative locations.
	Bases map[string]sarifBase `json:"originalUriBaseIds"`
	// ColumnKind declares that columns count code points, as Position does.
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

// A sarifBase has no URI: the path of the repository is private.
type sarifBase struct {
	Description sarifText `json:"description"`
}

// sarifRoot is the usual name for the root of a repository.
const sarifRoot = "%SRCROOT%"

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical sarifPhysicalLocation `json:"physicalLocation"`
}

type sarifPhysicalLocation struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// WriteSARIF writes the problems as one run in their order, each rule listed once.
func WriteSARIF(w io.Writer, problems []schema.Problem) error {
	rules, index := []sarifRule{}, map[string]int{}
	results := make([]sarifResult, 0, len(problems))
	for _, p := range problems {
		i, ok := index[p.Rule]
		if !ok {
			i = len(rules)
			index[p.Rule] = i
			rules = append(rules, sarifRule{p.Rule, sarifText{strings.ReplaceAll(textfmt.Line(p.Rule), "-", " ")}})
		}
		results = append(results, sarifResult{p.Rule, i, string(p.Severity), sarifText{sarifMessage(p)}, sarifLocations(p.Position)})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{sarifDriver{"gavel", "https://github.com/gavel-evals/gavel", rules}},
			Bases:      map[string]sarifBase{sarifRoot: {sarifText{"the root of the repository"}}},
			ColumnKind: "unicodeCodePoints", Results: results,
		}},
	})
}

// sarifMessage returns one line. SARIF reads [text](target) as a link and {0} as a
// placeholder, and a message may quote a definition.
func sarifMessage(p schema.Problem) string {
	s := p.Message
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return strings.NewReplacer("](", "] (", "{", "{{", "}", "}}").Replace(textfmt.Line(s))
}

// sarifLocations returns none for a problem outside of files.
func sarifLocations(at schema.Position) []sarifLocation {
	if at.File == "" {
		return nil
	}
	p := sarifPhysicalLocation{Artifact: sarifArtifact{sarifURI(at.File), sarifRoot}}
	if at.Line > 0 {
		p.Region = &sarifRegion{at.Line, at.Column}
	}
	return []sarifLocation{{p}}
}

// sarifURI returns a path as a relative reference. The text before a colon in its first
// folder would be read as the scheme of a URI.
func sarifURI(file string) string {
	first, rest, isDeep := strings.Cut((&url.URL{Path: file}).EscapedPath(), "/")
	first = strings.ReplaceAll(first, ":", "%3A")
	if !isDeep {
		return first
	}
	return first + "/" + rest
}
