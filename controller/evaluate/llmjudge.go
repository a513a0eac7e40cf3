package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// llmJudge asks a model for one score from 0 to 1 with hits and misses ({score, hits,
// misses, reasoning} in the evalcase format). A score out of range is on another scale.
// It is asked for again and then an error, since clamping it to the best score would
// pass everything.
//
// results are the results of a composite's members as JSON, which the judge combines
// into one score; empty outside a composite.
func llmJudge(ctx context.Context, spec evaluator.LLMJudge, in suiteInput, results string) (suiteFinding, error) {
	question, err := judgeQuestion(ctx, spec, in, results)
	if err != nil {
		return suiteFinding{}, err
	}
	return askJudge(ctx, in.dialogue, Question{
		Role: judge(spec.Target), Text: question, Images: Images(in.Transcript.Messages), Format: &llmJudgeFormat,
	}, readLLMJudgement)
}

var llmJudgeFormat = target.Format{
	Name: "judgement",
	Schema: json.RawMessage(`{"type":"object","properties":{"hits":{"type":"array","items":{"type":"string"}},` +
		`"misses":{"type":"array","items":{"type":"string"}},"reasoning":{"type":"string"},"score":{"type":"number"}},` +
		`"required":["hits","misses","reasoning","score"],"additionalProperties":false}`),
}

// judgeReply describes the reply of every judge.
const judgeReply = `Reply with one JSON object {"hits": ["…"], "misses": ["…"], "reasoning": "…", "score": …}: hits and misses list in a few words each what is as it should be and what is not; reasoning says why in one or two sentences; score is a number from 0 (worst) to 1 (best). Write nothing else.`

// judgeQuestion returns the judge's whole prompt. A changed word needs a higher Version
// of [evaluator.LLMJudge].
func judgeQuestion(ctx context.Context, spec evaluator.LLMJudge, in suiteInput, results string) (string, error) {
	if spec.Program != nil {
		printed, err := in.run(ctx, *spec.Program, spec.Subject)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(string(printed)) == "" {
			return "", errors.New("the program that writes the prompt printed nothing")
		}
		return strings.Join([]string{IsData, setApart(string(printed), in.Answer()), judgeReply}, "\n\n"), nil
	}
	if spec.Template != "" {
		return strings.Join([]string{IsData, fill(spec, in, results), judgeReply}, "\n\n"), nil
	}
	parts := in.setting(spec.Subject)
	task := "YOUR TASK. Judge by the expected outcome, and by nothing else, how far it came about. Strictly what is there counts."
	if results != "" {
		parts = append(parts, Block("EVALUATOR RESULTS", results))
		task = "YOUR TASK. Several evaluators looked at what the agent did. Make one score of their results: weigh by what matters for the expected outcome, and settle where they contradict each other."
	}
	return strings.Join(append(parts, task, judgeReply), "\n\n"), nil
}

var placeholder = lazyregexp.New(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// fill replaces a template's placeholders, all at once, so that braces in a value are
// not expanded again. Texts of the conversation are between delimiters, texts of the
// definition are not. If a template shows no answer, the answer is appended, because
// there is nothing else to judge; the note comes before it if it has no placeholder
// either.
func fill(spec evaluator.LLMJudge, in suiteInput, results string) string {
	used := evaluator.VariablesOf(spec.Template)
	filled := placeholder.ReplaceAllStringFunc(unmarked(spec.Template), func(at string) string {
		name := placeholder.FindStringSubmatch(at)[1]
		if slices.Contains(evaluator.ResultsVariables(), name) {
			return Block("EVALUATOR RESULTS", results)
		}
		switch name {
		case "question":
			return Block("QUESTION", in.question())
		case "candidate_answer":
			return Block("CANDIDATE ANSWER", in.Answer())
		case "input_messages":
			return Block("INPUT MESSAGES", compactJSON(forms(in.input())))
		case "output_messages":
			return Block("OUTPUT MESSAGES", compactJSON(forms(in.output())))
		case evaluator.FileChanges:
			return Block("FILE CHANGES", in.FileChanges())
		case "expected_outcome":
			return trusted(spec.ExpectedOutcome)
		case "reference_answer":
			return trusted(spec.Reference)
		case "expected_messages":
			return unmarked(compactJSON(forms(spec.ExpectedMessages)))
		case "note":
			return trusted(spec.Note)
		}
		return at
	})
	parts := []string{filled}
	if !slices.Contains(used, "note") {
		parts = append(parts, note(spec.Subject)...)
	}
	if !slices.Contains(used, "candidate_answer") && !slices.Contains(used, "output_messages") {
		parts = append(parts, Block("CANDIDATE ANSWER", in.Answer()))
	}
	showsResults := slices.ContainsFunc(evaluator.ResultsVariables(), func(name string) bool { return slices.Contains(used, name) })
	if results != "" && !showsResults {
		parts = append(parts, Block("EVALUATOR RESULTS", results))
	}
	return strings.Join(parts, "\n\n")
}

// leastApart is the shortest answer that is looked for in a program's prompt: a shorter
// one may occur by chance.
const leastApart = 20

// setApart puts delimiters around the answer in a program's prompt, since the program
// does not know them. If the prompt lacks an exact copy of the answer, the answer is
// appended.
func setApart(prompt, answer string) string {
	prompt, answer = unmarked(prompt), unmarked(answer)
	if len(answer) >= leastApart && strings.Contains(prompt, answer) {
		return strings.ReplaceAll(prompt, answer, "\n"+Block("CANDIDATE ANSWER", answer)+"\n")
	}
	return prompt + "\n\n" + Block("CANDIDATE ANSWER", answer)
}

func readLLMJudgement(reply string) (suiteFinding, error) {
	var got struct {
		Hits      []string `json:"hits"`
		Misses    []string `json:"misses"`
		Reasoning string   `json:"reasoning"`
		Score     *float64 `json:"score"`
	}
	if err := readJSON(reply, &got); err != nil {
		return suiteFinding{}, err
	}
	if got.Score == nil {
		return suiteFinding{}, formOf(got).lacks(`it has no number under "score"`)
	}
	score, err := Share(*got.Score, 1)
	if err != nil {
		return suiteFinding{}, err
	}
	return one(score, describeMisses(got.Reasoning, got.Misses), got.Hits, got.Misses), nil
}

// describeMisses adds the missed items to a reason that may not mention them.
func describeMisses(reasoning string, misses []string) string {
	reasoning = strings.TrimSpace(reasoning)
	if len(misses) == 0 {
		return reasoning
	}
	missed := "missed: " + strings.TrimSpace(strings.Join(misses, "; "))
	if reasoning == "" {
		return missed
	}
	return reasoning + " (" + missed + ")"
}
