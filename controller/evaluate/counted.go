package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// countedParts asks a judge about parts of a text and counts those that hold. The judge
// is asked in Gavel's own words; a changed one needs a higher Version of
// [evaluator.Counted].
func countedParts(ctx context.Context, spec evaluator.Counted, in Input, d *dialogue) (finding, error) {
	c := counting{spec: spec, in: in, d: d, role: schema.Judge}
	if spec.Target != "" {
		c.role = evaluator.JudgeBy(spec.Target)
	}
	if err := c.retrieve(ctx); err != nil {
		return finding{}, err
	}
	var score float64
	var err error
	switch spec.By {
	case evaluator.ByFaithfulness:
		score, err = c.faithfulness(ctx)
	case evaluator.ByRecall:
		score, err = c.recall(ctx)
	case evaluator.ByRelevance:
		score, err = c.relevance(ctx)
	default:
		score, err = c.conversation(ctx)
	}
	if err != nil {
		return finding{}, err
	}
	return passAndScore(share(verdict.Reaches(score, spec.Least)), score, spec.Not, strings.Join(c.notes, "; ")), nil
}

// A counting is one use of [evaluator.Counted].
type counting struct {
	spec  evaluator.Counted
	in    Input
	d     *dialogue
	role  schema.Role
	notes []string // reasons for people
	// questions counts what was asked; statements are the parts of the answer.
	questions  int
	statements []string
}

// retrieve takes the context from the answer, if a function says where it is.
func (c *counting) retrieve(ctx context.Context) error {
	if len(c.spec.Steps) == 0 {
		return nil
	}
	sent := c.in.untransformed()
	value, err := transform(ctx, evaluator.Transformed{Steps: c.spec.Steps, Context: sent.told(c.spec.Context)}, sent.value())
	if err != nil {
		return fmt.Errorf("contextTransform: %w", err)
	}
	text, isText := document.ParseText(value)
	if c.spec.Passages = []string{text}; !isText {
		c.spec.Apart = true
		err = json.Unmarshal(value, &c.spec.Passages)
	}
	if err != nil || len(c.spec.Passages) == 0 {
		return fmt.Errorf("contextTransform returns %s in place of a text or a list of texts", clip(string(value)))
	}
	for _, passage := range c.spec.Passages {
		if passage == "" {
			return errors.New("contextTransform returns an empty text; it must return the context")
		}
	}
	return nil
}

// context returns the retrieved context as one block.
func (c *counting) context() string { return Block("CONTEXT", strings.Join(c.spec.Passages, "\n\n")) }

// ask returns what the judge is asked next: the parts, or the definition's own question
// with the last part, which says how to reply.
func (c *counting) ask(parts []string) []string {
	n := c.questions
	if c.questions++; n >= len(c.spec.Prompts) || c.spec.Prompts[n] == "" {
		return parts
	}
	question := strings.NewReplacer(
		evaluator.MarkAnswer, Block("ANSWER", c.in.Transcript.Final()), evaluator.MarkInput, Block("INPUT", c.in.Question()),
		evaluator.MarkContext, c.context(), evaluator.MarkStatements, Block("STATEMENTS", compactJSON(c.statements)),
	).Replace(unmarked(c.spec.Prompts[n]))
	return []string{question, parts[len(parts)-1]}
}

// countedAsk asks the judge one question, of which the parts are joined.
func countedAsk[T any](ctx context.Context, c *counting, name string, form map[string]any, read func(reply string) (T, error), parts ...string) (T, error) {
	parts = c.ask(parts)
	return askJudge(ctx, c.d, Question{
		Role: c.role, Text: strings.Join(append([]string{IsData}, parts...), "\n\n"),
		Format: &target.Format{Name: name, Schema: json.RawMessage(compactJSON(objectSchema(form)))},
	}, read)
}

// textList is the schema of a list of texts.
var textList = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}

// A claim is a statement with what the judge says of it.
type claim struct {
	Statement string `json:"statement"`
	Supported *bool  `json:"supported"`
}

var claimList = map[string]any{"claims": listSchema(map[string]any{"statement": typeSchema("string"), "supported": typeSchema("boolean")})}

// readClaims reads claims: as many as there must be, or at least one if most is 0.
func readClaims(reply string, most int) ([]claim, error) {
	var got struct{ Claims []claim }
	if err := readJSON(reply, &got); err != nil {
		return nil, err
	}
	if len(got.Claims) == 0 || most > 0 && len(got.Claims) != most {
		return nil, formOf(got).lacks(fmt.Sprintf(`it has %d claims under "claims", and should have %d`, len(got.Claims), max(1, most)))
	}
	for _, c := range got.Claims {
		if c.Supported == nil {
			return nil, formOf(got.Claims).lacks(`a claim has no true or false under "supported"`)
		}
	}
	return got.Claims, nil
}

// supported returns the share of claims that the context supports, and notes the others.
func (c *counting) supported(claims []claim) float64 {
	n := 0
	for _, claim := range claims {
		if *claim.Supported {
			n++
			continue
		}
		c.notes = append(c.notes, "not in the context: "+clip(strings.TrimSpace(claim.Statement)))
	}
	c.notes = append([]string{fmt.Sprintf("the context supports %d of %d statements", n, len(claims))}, c.notes...)
	return float64(n) / float64(len(claims))
}

// faithfulness asks for the statements of the answer, and then which of them follow from
// the context.
func (c *counting) faithfulness(ctx context.Context) (float64, error) {
	statements, err := countedAsk(ctx, c, "statements", map[string]any{"statements": textList}, func(reply string) ([]string, error) {
		var got struct{ Statements []string }
		if err := readJSON(reply, &got); err != nil {
			return nil, err
		}
		if len(got.Statements) == 0 {
			return nil, formOf(got).lacks(`it has no statement under "statements"`)
		}
		return got.Statements, nil
	},
		Block("QUESTION", c.spec.Query), Block("ANSWER", c.in.Transcript.Final()),
		`YOUR TASK. Take the ANSWER apart: write down what it claims, as short statements that each can be understood without the others. Add nothing that it does not say.`,
		`Reply with one JSON object {"statements": ["…"]}, with at least one statement. Write nothing else.`)
	if c.statements = statements; err != nil {
		return 0, err
	}
	claims, err := countedAsk(ctx, c, "claims", claimList, func(reply string) ([]claim, error) { return readClaims(reply, len(statements)) },
		c.context(), Block("STATEMENTS", compactJSON(statements)),
		`YOUR TASK. Decide for each of the STATEMENTS whether it follows from the CONTEXT alone, without other knowledge.`,
		fmt.Sprintf(`Reply with one JSON object {"claims": [{"statement": "…", "supported": …}]}: one claim for each of the %d statements, in their order; supported is true or false. Write nothing else.`, len(statements)))
	if err != nil {
		return 0, err
	}
	return c.supported(claims), nil
}

// recall asks which sentences of the expected answer the context has.
func (c *counting) recall(ctx context.Context) (float64, error) {
	claims, err := countedAsk(ctx, c, "claims", claimList, func(reply string) ([]claim, error) { return readClaims(reply, 0) },
		c.context(), Block("EXPECTED ANSWER", c.spec.Truth),
		`YOUR TASK. Go through the EXPECTED ANSWER sentence by sentence, and decide for each whether the CONTEXT says so.`,
		`Reply with one JSON object {"claims": [{"statement": "…", "supported": …}]}: one claim for each sentence, in their order; supported is true or false. Write nothing else.`)
	if err != nil {
		return 0, err
	}
	return c.supported(claims), nil
}

// relevance asks for the sentences of the context that the question needs.
func (c *counting) relevance(ctx context.Context) (float64, error) {
	whole := squeezed(strings.Join(c.spec.Passages, "\n\n"))
	needed, err := countedAsk(ctx, c, "sentences", map[string]any{"sentences": textList}, func(reply string) (map[string]bool, error) {
		var got struct{ Sentences []string }
		if err := readJSON(reply, &got); err != nil {
			return nil, err
		}
		if got.Sentences == nil {
			return nil, formOf(got).lacks(`it has no list under "sentences"`)
		}
		found := map[string]bool{}
		for _, sentence := range got.Sentences {
			if !strings.Contains(whole, squeezed(sentence)) {
				return nil, errors.New("a sentence is not a copy of one of the CONTEXT: " + clip(sentence))
			}
			found[squeezed(sentence)] = true
		}
		return found, nil
	},
		Block("QUESTION", c.spec.Query), c.context(),
		`YOUR TASK. Find the sentences of the CONTEXT that an answer to the QUESTION needs. Copy each letter by letter. If the CONTEXT does not answer the QUESTION, the list is empty.`,
		`Reply with one JSON object {"sentences": ["…"]}. Write nothing else.`)
	if err != nil {
		return 0, err
	}
	delete(needed, "")
	units := c.units()
	c.notes = append(c.notes, fmt.Sprintf("the question needs %d of %d parts of the context", min(len(needed), units), units))
	if units == 0 {
		return 0, nil
	}
	return float64(min(len(needed), units)) / float64(units), nil
}

// squeezed returns a text in lower case with single spaces.
func squeezed(s string) string { return strings.Join(strings.FieldsFunc(lower(s), isSpace), " ") }

// units counts the parts of the context as promptfoo does: the passages of a list, the
// lines of a text, or the sentences of one line.
func (c *counting) units() int {
	parts := c.spec.Passages
	if !c.spec.Apart {
		text := strings.Join(parts, "\n")
		parts = nil
		for line := range strings.SplitSeq(text, "\n") {
			if trimSpaces(line) != "" {
				parts = append(parts, line)
			}
		}
		if len(parts) < 2 {
			parts = strings.Split(sentenceEnd.ReplaceAllString(text, "$1\n"), "\n")
		}
	}
	n := 0
	for _, part := range parts {
		if part = trimSpaces(part); part != "" && (c.spec.Apart || !onlyNumber.MatchString(part)) {
			n++
		}
	}
	return n
}

var (
	sentenceEnd = lazyregexp.New(`([.!?])[\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]+`)
	onlyNumber  = lazyregexp.New(`^[0-9]+[.)]$`)
)

// conversation asks of each turn, with those before it in a window, whether its answer is
// to the point.
func (c *counting) conversation(ctx context.Context) (float64, error) {
	turns := c.spec.Turns
	if len(turns) == 0 {
		turns = []evaluator.Turn{{Input: c.in.Question(), Output: c.in.Transcript.Final()}}
	}
	relevant := 0
	for i := range turns {
		var seen []string
		for _, turn := range turns[max(0, i-c.spec.Window+1) : i+1] {
			seen = append(seen, Block("USER", turn.Input), Block("ASSISTANT", turn.Output))
		}
		form := map[string]any{"reason": typeSchema("string"), "relevant": typeSchema("boolean")}
		got, err := countedAsk(ctx, c, "relevance", form, func(reply string) (turnVerdict, error) {
			var got turnVerdict
			err := readJSON(reply, &got)
			if err == nil && got.Relevant == nil {
				err = formOf(got).lacks(`it has no true or false under "relevant"`)
			}
			return got, err
		}, append(seen,
			`YOUR TASK. The blocks are turns of a conversation in their order. Decide whether the last message of the ASSISTANT fits what the USER said last, in the light of the turns before it. A vague, polite or wrong answer is relevant if it is to the point.`,
			`Reply with one JSON object {"reason": "…", "relevant": …}: reason says why in one sentence; relevant is true or false. Write nothing else.`)...)
		if err != nil {
			return 0, err
		}
		if *got.Relevant {
			relevant++
			continue
		}
		c.notes = append(c.notes, strings.TrimSpace(got.Reason))
	}
	c.notes = append([]string{fmt.Sprintf("%d of %d turns are relevant", relevant, len(turns))}, c.notes...)
	return float64(relevant) / float64(len(turns)), nil
}

// A turnVerdict is what the judge says of a turn.
type turnVerdict struct {
	Reason   string `json:"reason"`
	Relevant *bool  `json:"relevant"`
}
