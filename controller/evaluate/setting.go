package evaluate

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A changed word in this file needs higher Versions of [evaluator.Rubrics] and
// [evaluator.LLMJudge].

// setting shows a judge the conversation and the case's description of it.
func (in suiteInput) setting(s evaluator.Subject) []string {
	parts := []string{IsData, in.introduction()}
	if in.Transcript.System != "" {
		parts = append(parts, Block("SYSTEM PROMPT", in.Transcript.System))
	}
	parts = append(parts, Turns(in.Transcript.Messages)...)
	if len(in.output()) == 0 {
		parts = append(parts, "The agent said nothing.")
	}
	if s.Changes {
		parts = append(parts, in.changes())
	}
	if s.ExpectedOutcome != "" {
		parts = append(parts, "EXPECTED OUTCOME. Whoever tests the agent says what success is:\n\n"+trusted(s.ExpectedOutcome))
	}
	if s.Reference != "" {
		parts = append(parts, "REFERENCE ANSWER. An answer that would be right; others may be right too:\n\n"+trusted(s.Reference))
	}
	return append(parts, note(s)...)
}

func (in suiteInput) introduction() string {
	text := "The conversation is set out turn by turn. USER is the user, AGENT the agent under test. CALL is a call of a tool by the agent, RESULT what the tool gave back."
	if n := in.openingCount(); n > 1 {
		text += fmt.Sprintf(" The turns 1 to %d were there before: they are the history, and none of them is to be judged.", n)
	}
	if !in.Transcript.Traced {
		text += " It is not known whether the agent called tools."
	}
	return text
}

// changes shows what the agent changed in its workspace.
func (in suiteInput) changes() string {
	if in.Transcript.Changes == nil || len(in.Transcript.Changes.Files) == 0 {
		return "The agent changed no file of the folder that it worked in."
	}
	return "The next block shows, as git does, what the agent changed in the folder that it worked in.\n\n" + Block("FILE CHANGES", in.FileChanges())
}

// note returns the case's note for every judge.
func note(s evaluator.Subject) []string {
	if s.Note == "" {
		return nil
	}
	return []string{"NOTE. What else you should know of this case:\n\n" + trusted(s.Note)}
}

// trusted cleans a text of the definition, which is not under test.
func trusted(text string) string { return unmarked(strings.TrimSpace(text)) }

// judge returns the role of the model that an evaluator asks.
func judge(target string) schema.Role {
	if target == "" {
		return schema.Judge
	}
	return evaluator.JudgeBy(target)
}
