// Package sarif writes problems as SARIF 2.1.0, which code scanning reads.
package sarif

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

type document struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool    tool     `json:"tool"`
	Results []result `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type rule struct {
	ID string `json:"id"`
}

type result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     string     `json:"level"`
	Message   text       `json:"message"`
	Locations []location `json:"locations"`
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
	URI string `json:"uri"`
}

type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// Write writes the problems as one run, each rule listed once.
func Write(w io.Writer, problems []schema.Problem) error {
	r := run{Tool: tool{driver{Name: "gavel", Rules: []rule{}}}, Results: []result{}}
	for _, p := range problems {
		i := slices.Index(r.Tool.Driver.Rules, rule{p.Rule})
		if i < 0 {
			i = len(r.Tool.Driver.Rules)
			r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule{p.Rule})
		}
		message := p.Message
		if p.Hint != "" {
			message += "; " + p.Hint
		}
		at := physical{Artifact: artifact{p.File}}
		if p.Line > 0 {
			at.Region = &region{p.Line, p.Column}
		}
		r.Results = append(r.Results, result{p.Rule, i, string(p.Severity), text{message}, []location{{at}}})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(document{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0", Runs: []run{r},
	})
}
