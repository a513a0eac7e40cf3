package config

import (
	"encoding/json"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// Settings returns the values that loading definitions needs. Its Targets are nil if
// the file declares none, since then no name can be checked.
func (c *Config) Settings() schema.Settings {
	s := schema.Settings{
		Definitions:   c.Definitions,
		RootFiles:     c.RootFiles,
		Listed:        c.Listed,
		Tools:         c.Tools,
		ProgramInputs: c.ProgramInputs,
		Dialects:      make(map[string]string, len(c.Dialects)),
		DefaultTarget: c.DefaultTarget,
		Unusable:      c.Unusable,
		Aliases:       c.Aliases,
		Judges:        c.Judges,
		Thresholds:    c.Thresholds,
		PassShares:    c.PassShares,
		Iterations:    c.Defaults.Iterations,
		Timeout:       c.Defaults.Timeout,
		MaxTurns:      c.Defaults.MaxTurns,
		MaxTurnsCap:   c.Defaults.MaxTurnsCap,
		Difficulties:  c.Defaults.Difficulties,
		Constraints:   c.Constraints,
		Skills:        schema.SkillSettings{Find: true, Target: c.Skills.Target, JudgesOutput: c.Skills.JudgesOutput},
	}
	for _, pin := range c.Dialects {
		s.Dialects[pin.Glob] = pin.Dialect
	}
	if len(c.Targets) > 0 {
		s.Targets = make(map[string]schema.TargetSettings, len(c.Targets))
	}
	for name, t := range c.Targets {
		mocks := make(map[string]bool, len(t.Mocks))
		for tool := range t.Mocks {
			mocks[tool] = true
		}
		takes := t.RunsTools() || t.AcceptsPrompt != nil && *t.AcceptsPrompt
		set := schema.TargetSettings{
			Timeout: t.Timeout, MaxTurns: t.MaxTurns, Mocks: mocks, Agent: !t.RunsTools(), Prompt: t.SystemPrompt, AcceptsPrompt: &takes, AcceptsImages: t.AcceptsImages,
		}
		set.Judge, set.File, set.TakesRow = t.JudgeTarget, t.File, t.TakesRow
		set.Structured, set.HasWorkspace = t.isStructured(), t.HasWorkspace()
		set.CodingAgent = t.CodingAgent != ""
		if t.Declared {
			set.Kind = t.Kind
		}
		if t.RunsTools() {
			set.Tools, set.ToolsAt = t.Tools, t.ToolsAt
		}
		s.Targets[name] = set
	}
	return s
}

// isStructured reports whether promptfoo reads the target's replies as JSON: replies in a
// schema and, from Azure, replies in any form of JSON.
func (t *Target) isStructured() bool {
	var format struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(t.Parameters["response_format"], &format) != nil {
		return false
	}
	return format.Type == "json_schema" || format.Type == "json_object" && strings.Contains(t.BaseURL, ".azure.com")
}

// tokensPerPrice is the number of tokens that a Price is for.
const tokensPerPrice = 1e6

// Cost returns the cost of a call with this many tokens, in USD.
func (p *Price) Cost(input, output int64) float64 {
	return (float64(input)*p.Input + float64(output)*p.Output) / tokensPerPrice
}
