package evaluate

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

const extractSystem = "You extract answers from replies. You do not answer questions yourself, correct nothing and judge nothing."

var extractFormat = target.Format{
	Name: "answer",
	Schema: json.RawMessage(`{"type":"object","properties":{"answer":{"type":["string","null"]}},` +
		`"required":["answer"],"additionalProperties":false}`),
}

// extract asks the extractor for the wanted part of a reply. It does not show it the
// expected answer, which would bias it. The result is nil if the reply has no answer.
func extract(ctx context.Context, in Input, d *dialogue, wanted string) (*string, error) {
	question := Question{
		Role: schema.Extractor, System: extractSystem, Format: &extractFormat,
		Text: IsData + "\n\n" +
			Block("QUESTION", in.Question()) + "\n\n" +
			Block("REPLY", in.Transcript.Final()) + "\n\n" +
			"Find the final answer that REPLY gives to QUESTION: " + wanted + "\n" +
			`Reply with one JSON object {"answer": …} whose value is that answer as a string, ` +
			"or null if REPLY gives none. Write nothing else.",
	}
	return askJudge(ctx, d, question, func(reply string) (*string, error) {
		var got map[string]*string
		if err := readJSON(reply, &got); err != nil {
			return nil, err
		}
		answer, ok := got["answer"]
		if !ok {
			return nil, &formError{errors.New(`it has no key "answer"`), `{"answer": a text}`}
		}
		return answer, nil
	})
}
