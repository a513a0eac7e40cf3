package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestSkills: only a target that works in a folder runs skills, and a demand that head
// drops is named.
func TestSkills(t *testing.T) {
	const targets = "version: 1\ndefault_target: bot\ntargets: {bot: {provider: openai, model: m}, coder: {provider: command, argv: [sh]}}\n"
	for _, tt := range []struct{ text, want string }{
		{"skills: {target: coder, expected_output: criterion}", ""},
		{"skills: {}", ""},
		{"skills: {target: coder, lift: true}", ""},
		{"skills: {target: bot}", `gavel.yaml:4:10: error: the target "bot" has no folder to work in, in which it would find a skill; write coder`},
		{"skills: {target: codr}", `gavel.yaml:4:10: error: unknown target "codr"; did you mean "coder"?`},
	} {
		_, problems := Parse("gavel.yaml", []byte(targets+tt.text+"\n"))
		var got []string
		for _, p := range problems {
			if p.Severity != schema.Error {
				continue
			}
			got = append(got, strings.ReplaceAll(p.String(), "`", `"`))
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
	base, head := &Config{Skills: Skills{JudgesOutput: true}}, &Config{}
	if got := strings.Join(base.Looser(head), "; "); got != "skills.expected_output criterion → context" {
		t.Errorf("a dropped criterion is %q", got)
	}
	if got := (Skills{}).Dearer(Skills{Lift: true}); strings.Join(got, "; ") != "skills.lift off → on, so that cases of skills are also run without them" {
		t.Errorf("lift that is turned on is %q", got)
	}
	if got := slices.Concat((Skills{Lift: true}).Dearer(Skills{}), (Skills{Lift: true}).Dearer(Skills{Lift: true}), (&Config{Skills: Skills{Lift: true}}).Looser(&Config{})); len(got) > 0 {
		t.Errorf("lift that is not turned on is %q", got)
	}
	if got := head.Looser(base); len(got) > 0 {
		t.Errorf("a further criterion is looser: %q", got)
	}
}
