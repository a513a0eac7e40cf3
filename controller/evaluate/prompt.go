package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/number"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

var judgeFormat = target.Format{
	Name: "judgement",
	Schema: json.RawMessage(`{"type":"object","properties":{"score":{"type":"number"},"reason":{"type":"string"}},` +
		`"required":["score","reason"],"additionalProperties":false}`),
}

// A judgement is the judge's number before division.
type judgement struct {
	value  float64
	reason string
}

// prompt asks the judge for a score: one criterion, value / max_score (eval_prompt of
// the domain dialect's configured evaluators). Without max_score the judge gives 0–1
// itself. A value out of range is asked for again and is then an error. With a pattern
// (hybrid) the value is group 1, or else the whole match, in the judge's reply;
// otherwise the reply is JSON {score, reason}.
func prompt(ctx context.Context, spec evaluator.Prompt, in Input, d *dialogue) (finding, error) {
	if math.IsNaN(spec.MaxScore) || math.IsInf(spec.MaxScore, 0) || spec.MaxScore < 0 {
		return finding{}, fmt.Errorf("config.max_score %v is not a positive number", spec.MaxScore)
	}
	question, read := Question{Text: fillTemplate(spec, in)}, readJudgement
	if spec.Pattern == "" {
		question.Format = &judgeFormat
	} else {
		re, err := compile(spec.Pattern)
		if err != nil {
			return finding{}, err
		}
		read = func(reply string) (judgement, error) { return matchJudgement(re, reply) }
	}
	f, err := askJudge(ctx, d, question, func(reply string) (finding, error) {
		j, err := read(reply)
		if err != nil {
			return finding{}, err
		}
		score, err := Share(j.value, cmp.Or(spec.MaxScore, 1))
		return finding{[]verdict.Criterion{{ID: "judge", Score: score, Note: j.reason}}, j.reason}, err
	})
	if _, ok := errors.AsType[*rangeError](err); ok {
		return finding{}, fmt.Errorf("%s: %w", outOfRange(spec), err)
	}
	return f, err
}

// outOfRange returns the repair for a judge that uses another scale.
func outOfRange(spec evaluator.Prompt) string {
	if spec.MaxScore == 0 {
		return "set config.max_score"
	}
	return "score out of range"
}

// fillTemplate returns the judge's whole prompt. Values are inserted at once, so that
// braces in one of them are not expanded again; texts under test are between
// delimiters. If a template has no place for the response, the response is appended,
// because there is nothing else to judge.
func fillTemplate(spec evaluator.Prompt, in Input) string {
	template := unmarked(spec.Template)
	if !strings.Contains(template, "{response}") {
		template += "\n\n{response}"
	}
	filled := strings.NewReplacer(
		"{prompt}", Block("PROMPT", in.Question()),
		"{response}", Block("RESPONSE", in.Transcript.Final()),
		"{expected}", unmarked(ofJSON(spec.Expected)),
		"{level}", unmarked(spec.Level),
	).Replace(template)
	text := IsData + "\n\n" + filled
	if spec.Pattern != "" {
		return text
	}
	scoreRange := "a number from 0 (worst) to 1 (best)"
	if spec.MaxScore > 0 {
		scoreRange = fmt.Sprintf("a number from 0 (worst) to %v (best)", spec.MaxScore)
	}
	return text + "\n\n" + `Reply with one JSON object {"score": …, "reason": "…"}: score is ` + scoreRange +
		", reason says why in one or two sentences. Write nothing else."
}

func readJudgement(reply string) (judgement, error) {
	var got struct {
		Score  *float64 `json:"score"`
		Reason string   `json:"reason"`
	}
	if err := readJSON(reply, &got); err != nil {
		return judgement{}, err
	}
	if got.Score == nil {
		return judgement{}, formOf(got).lacks(`it has no number under "score"`)
	}
	return judgement{*got.Score, strings.TrimSpace(got.Reason)}, nil
}

func matchJudgement(re *regexp.Regexp, reply string) (judgement, error) {
	match := re.FindStringSubmatch(reply)
	if match == nil {
		return judgement{}, errors.New("extraction_regex does not match it")
	}
	found := match[min(1, len(match)-1)]
	values := number.Parse(found)
	if len(values) == 0 {
		return judgement{}, fmt.Errorf("extraction_regex finds %s, which is not a number", quote(found))
	}
	return judgement{values[0], clip(reply)}, nil
}
