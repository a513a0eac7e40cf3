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

// llmJudge asks a model for one score from 0 to 1, and what was hit and missed
// ({score, hits, misses, reasoning} in the evalcase format). A score out of range is
// on another scale than the one that was asked for: it is asked for again, and
// then an error, since to take it for the best score would pass everything.
//
// results are those of the members of a composite, as JSON, which the judge
// makes one score of; empty where there are none.
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

// judgeReply is how a judge answers, whatever it was asked.
const judgeReply = `Reply with one JSON object {"hits": ["…"], "misses": ["…"], "reasoning": "…", "score": …}: hits and misses list in a few words each what is as it should be and what is not; reasoning says why in one or two sentences; score is a number from 0 (worst) to 1 (best). Write nothing else.`

// judgeQuestion is the judge's whole prompt. A changed word needs a higher
// Version of [evaluator.LLMJudge].
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

// fill puts what a template names in its places, all at once, so that braces in
// a value are not filled in again. The words of the conversation are
// between delimiters, what the definition says does not. A template that shows
// no answer gets it at its end: there is nothing else to judge; the note comes
// before it where there is no place for it.
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

// leastApart is how long an answer is that a program's prompt is searched for:
// a word may be there for other reasons.
const leastApart = 20

// setApart puts delimiters around the answer where a program copied it into its
// prompt, which it cannot do itself: it does not know them. Where it did not
// copy it as it is, it is added.
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
	if err := StrictJSON(reply, &got); err != nil {
		return suiteFinding{}, err
	}
	if got.Score == nil {
		return suiteFinding{}, errors.New(`it has no number under "score"`)
	}
	score, err := Share(*got.Score, 1)
	if err != nil {
		return suiteFinding{}, err
	}
	return one(score, describeMisses(got.Reasoning, got.Misses), got.Hits, got.Misses), nil
}

// describeMisses adds the missed items to a reason, which may leave them out.
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
