package verdict

import "github.com/gavel-evals/gavel/schema/oldnames"

var oldDifference = oldnames.Rules{"": {"low": "ci_low", "high": "ci_high"}}

// OldTranscript and OldMeasurement are the names that fields of a [Transcript] and
// a [Measurement] had in what was stored before the first release.
var (
	OldTranscript = oldnames.Rules{"": {
		"system": "system_prompt", "traced": "tool_trace", "latency": "latency_ns", "simulated": "simulator_usage", "ended": "ended_by",
	}}
	OldMeasurement = oldnames.Rules{"": {"asked": "prompt", "answered": "reply"}}
)

// OldNames are the names that fields of a [Result] had in what was stored before
// the first release.
var OldNames = oldnames.Rules{
	"":                    {"contest": "comparison", "ungated": "no_threshold"},
	"attempts":            {"system": "system_prompt"},
	"contest":             {"system_a": "system_prompt_a", "system_b": "system_prompt_b"},
	"contest.preferences": {"p": "p_value"},
}.With(oldDifference.Nested("contest.score")).With(oldDifference.Nested("contest.criteria"))
