package evaluate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A changed word in this file needs a higher Version of
// [evaluator.Conversation].

const conversationSystem = "You judge a conversation between a user and an AI agent, for the person who tests the agent. You are given all there is to know; you have no tools. You judge by what stands in the conversation and never by what the agent claims about itself."

const conversationIntro = "The conversation is set out turn by turn. USER is a user, played by a program. AGENT is the agent under test. CALL is a call of a tool by the agent: the name of the tool, then the arguments. RESULT is what the tool gave back. You judge the agent alone; mistakes of the user or of a tool are none of the agent's, how it deals with them is."

// metricText returns the judge's instruction for a metric.
func metricText(id string) string {
	switch id {
	case "tool_routing":
		return "Were the right tools called, each when it was needed, and none that was not? Does not apply where no tool was called and none was called for."
	case "parameter_extraction":
		return "Are the arguments of the calls complete and true to what the user said? Does not apply where no tool was called."
	case "result_interpretation":
		return "Did the agent understand what the tools gave back, errors among it, and go on from it correctly? Does not apply where no tool gave anything back."
	case "grounding_fidelity":
		return "Is everything that the agent states as a fact backed by its system prompt, by the tools or by the user? Inventions cost most."
	case "instruction_compliance":
		return "Did the agent keep to its system prompt: its rules, limits, manner? Does not apply where the system prompt is not known."
	case "information_gathering":
		return "Did the agent ask for what it lacked, and for nothing that it had or did not need? Does not apply where nothing was lacking."
	case "conversation_management":
		return "Did the agent keep the thread, follow the user's changes of mind, and come to an end at the right time?"
	case "response_delivery":
		return "Are the replies clear, of the right length, in the right tone and language, and do they say what the user needs?"
	}
	return ""
}

// conversationQuestion shows the judge the conversation first and then the task, so
// that the agent does not have the last word.
func conversationQuestion(spec evaluator.Conversation, tr *verdict.Transcript, e *expectations) string {
	parts := []string{IsData, conversationIntro, subject(spec, tr)}
	parts = append(parts, Turns(tr.Messages)...)
	parts = append(parts, ending(tr), scoring(spec))
	if len(spec.Outcomes) > 0 {
		parts = append(parts, outcomes(spec))
	}
	if len(spec.Calls) > 0 {
		parts = append(parts, expectedCalls(e))
	}
	if len(e.doubts) > 0 {
		parts = append(parts, comparisons(e))
	}
	return strings.Join(append(parts, replyForm(spec, e)), "\n\n")
}

// subject shows the agent's input.
func subject(spec evaluator.Conversation, tr *verdict.Transcript) string {
	var parts []string
	if tr.System == "" {
		parts = append(parts, "The agent's system prompt is not known.")
	} else {
		parts = append(parts, Block("SYSTEM PROMPT", tr.System))
	}
	switch {
	case len(tr.Tools) > 0:
		parts = append(parts, Block("TOOLS", toolList(tr.Tools)))
	case !tr.Traced:
		parts = append(parts, "It is not known whether the agent called tools: what is about calls does not apply.")
	default:
		parts = append(parts, "Which tools the agent has is not known beyond the calls that it made.")
	}
	if spec.InitialMessage != "" {
		parts = append(parts, "The user came with this message:", Block("INITIAL MESSAGE", spec.InitialMessage))
	}
	return strings.Join(parts, "\n\n")
}

func toolList(tools []schema.Tool) string {
	lines := make([]string, len(tools))
	for i, t := range tools {
		t.Mock = nil
		lines[i] = compactJSON(t)
	}
	return strings.Join(lines, "\n")
}

// ending describes the end of the conversation, and any shortage of the test itself.
func ending(tr *verdict.Transcript) string {
	text := "That is the whole conversation."
	switch tr.Ended {
	case verdict.EndedByTarget:
		text += " The agent ended it."
	case verdict.EndedByUser:
		text += " The user ended it; last words of the user call for no answer."
	case verdict.EndedByLimit:
		text += " The test ended it after a fixed number of replies; that it breaks off is not the agent's fault."
	}
	if len(tr.Notes) > 0 {
		text += " The tools were stand-ins, and for the calls of NOTES the test had no answer but an error. That a tool which the agent has gave none is not its fault; that it called one which it does not have is:\n\n" +
			Block("NOTES", strings.Join(tr.Notes, "\n"))
	}
	return text
}

// scoring asks for the metrics, or for one score by the case's criteria.
func scoring(spec evaluator.Conversation) string {
	const scale = "Scores are from 0 to 5: 5 is without fault, 4 has a flaw that hardly matters, 3 one that matters, 2 is poor, 1 is bad, 0 is useless or harmful. Judge strictly by what is there."
	if spec.Criteria != "" {
		return "YOUR TASK. Give the agent one score under the following criteria, and under nothing else:\n\n" + unmarked(spec.Criteria) + "\n\n" + scale
	}
	lines := []string{"YOUR TASK. Score the agent by each of these metrics. " + scale + " The score is null where the metric does not apply to this conversation."}
	for _, m := range spec.Metrics() {
		lines = append(lines, "- "+m.ID+": "+metricText(m.ID))
	}
	return strings.Join(lines, "\n")
}

func outcomes(spec evaluator.Conversation) string {
	lines := []string{"OUTCOMES. Say of each whether it is met at the end of the conversation. The label describes a state, the value says what it shall be; read them by their meaning: \"leaked\" with the value false is met when nothing leaked."}
	for i, o := range spec.Outcomes {
		lines = append(lines, unmarked(fmt.Sprintf("%d. %s: %s", i+1, compactJSON(o.Label), o.Want)))
	}
	return strings.Join(lines, "\n")
}

func expectedCalls(e *expectations) string {
	lines := []string{"EXPECTED CALLS. The person who tests the agent expects these, beside any others and in any order. Whether they were made is checked apart; they tell you what right tools and arguments are."}
	for _, s := range e.specs {
		line := "- " + compactJSON(s.Tool)
		if s.Forbidden {
			line = "- never " + compactJSON(s.Tool)
		}
		if s.Params != nil {
			line += " with " + string(s.Params)
		}
		lines = append(lines, unmarked(line))
	}
	return strings.Join(lines, "\n")
}

func comparisons(e *expectations) string {
	lines := []string{"COMPARISONS. Say of each whether the call means the same as what is compared with it, going by the listed params only: the same thing written in another way is the same, another thing is not."}
	for i, d := range e.doubts {
		s := e.specs[d.want]
		lines = append(lines, unmarked(fmt.Sprintf("%d. CALL %d: %s with %s", i+1, d.calls[0]+1, compactJSON(s.Tool), s.Params)))
	}
	return strings.Join(lines, "\n")
}

func replyForm(spec evaluator.Conversation, e *expectations) string {
	form := `{"metrics": {"` + spec.Metrics()[0].ID + `": {"score": …, "justification": "…", "failure_code": "…", "turns": […]}` + `, …}`
	if spec.Criteria != "" {
		form = strings.TrimSuffix(form, ", …}") + "}"
	}
	text := "justification says why in one or two sentences; failure_code names the kind of failure in snake_case where the score is 2 or less, and is empty else; turns are the numbers of the turns that show it. summary sums the conversation up in one or two sentences."
	if len(spec.Outcomes) > 0 {
		form += `, "outcomes": [{"outcome": 1, "met": …, "reasoning": "…", "turns": […]}, …]`
		text += " outcomes has every outcome by its number, with met true or false."
	}
	if len(e.doubts) > 0 {
		form += `, "comparisons": [{"comparison": 1, "same": …}, …]`
		text += " comparisons has every comparison by its number, with same true or false."
	}
	return "Reply with one JSON object " + form + `, "summary": "…"}: ` + text + " Write nothing else."
}

// conversationFormat returns the schema of the reply. Every field is required, as the
// strict mode of some providers demands.
func conversationFormat(spec evaluator.Conversation, e *expectations) *target.Format {
	turns := map[string]any{"type": "array", "items": typeSchema("integer")}
	score := map[string]any{"type": []string{"number", "null"}}
	if spec.Criteria != "" {
		score = typeSchema("number")
	}
	metric := objectSchema(map[string]any{"score": score, "justification": typeSchema("string"), "failure_code": typeSchema("string"), "turns": turns})
	metrics := map[string]any{}
	for _, m := range spec.Metrics() {
		metrics[m.ID] = metric
	}
	reply := map[string]any{"metrics": objectSchema(metrics), "summary": typeSchema("string")}
	if len(spec.Outcomes) > 0 {
		reply["outcomes"] = listSchema(map[string]any{"outcome": typeSchema("integer"), "met": typeSchema("boolean"), "reasoning": typeSchema("string"), "turns": turns})
	}
	if len(e.doubts) > 0 {
		reply["comparisons"] = listSchema(map[string]any{"comparison": typeSchema("integer"), "same": typeSchema("boolean")})
	}
	return &target.Format{Name: "judgement", Schema: json.RawMessage(compactJSON(objectSchema(reply)))}
}
