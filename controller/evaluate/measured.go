package evaluate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Measured measures quantities of a sample (execution_metrics, latency, cost and
// token_usage of the evalcase format). Each is a criterion with its value, which the
// Rule scores 1 up to its bound, else 0. The score of execution_metrics is 1 if all
// hold, else 0; the other evaluators score the share that holds. An unknown quantity is
// an error, never 0.
func Measured(spec evaluator.Measured, in suiteInput) (suiteFinding, error) {
	if len(spec.Quantities) == 0 && spec.Exploration == nil {
		return suiteFinding{}, errors.New("nothing is to be measured")
	}
	var f suiteFinding
	var shown []string
	for _, name := range spec.Quantities {
		c, err := in.Quantity(name, name)
		if err != nil {
			return suiteFinding{}, err
		}
		f.Criteria = append(f.Criteria, c)
		shown = append(shown, c.Note)
	}
	if spec.Exploration != nil {
		c, err := in.exploration(*spec.Exploration)
		if err != nil {
			return suiteFinding{}, err
		}
		f.Criteria = append(f.Criteria, c)
		shown = append(shown, c.Note)
	}
	f.Reason = strings.Join(shown, ", ")
	return f, nil
}

// exploration compares the share of reading calls with the wanted one:
//
//	|reading calls / all calls − ratio| ≤ tolerance
//
// It does not hold without calls.
func (in suiteInput) exploration(want evaluator.Exploration) (verdict.Criterion, error) {
	c := verdict.Criterion{ID: evaluator.ExplorationRatio}
	if !in.Transcript.Traced {
		return c, errUntraced
	}
	reading, all := 0, 0
	for _, call := range Made(in.output()) {
		all++
		if reads(call.Name, want.Tools) {
			reading++
		}
	}
	if all == 0 {
		c.Note = c.ID + " is not defined without calls"
		return c, nil
	}
	ratio := float64(reading) / float64(all)
	c.Score = share(verdict.Reaches(want.Tolerance, math.Abs(ratio-want.Ratio)))
	c.Note = fmt.Sprintf("%s %.3g (expected %v ± %v)", c.ID, ratio, want.Ratio, want.Tolerance)
	return c, nil
}

// wordOf matches the words of a name in camelCase, snake_case or with dashes.
var wordOf = lazyregexp.New(`[A-Z]+[a-z]*|[a-z]+`)

// reads reports whether a tool only reads: it is listed or, without a list, a word of
// its name implies it.
func reads(tool string, listed []string) bool {
	if len(listed) > 0 {
		return slices.Contains(listed, tool)
	}
	return slices.ContainsFunc(wordOf.FindAllString(tool, -1), func(word string) bool {
		return slices.Contains(evaluator.ReadingWords(), strings.ToLower(word))
	})
}

// Quantity measures a quantity as a criterion.
func (in suiteInput) Quantity(id, name string) (verdict.Criterion, error) {
	value, err := in.quantity(name)
	return verdict.Criterion{ID: id, Value: &value, Note: name + " " + amount(value)}, err
}

// amount formats a quantity with six digits and without an exponent.
func amount(x float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		short = x
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// quantity measures one quantity. It is unknown if the provider counts no tokens or the
// target reports no time.
func (in suiteInput) quantity(name string) (float64, error) {
	t := in.Transcript
	if in.Case.Drive.Given != nil {
		return 0, fmt.Errorf("%s is not known: the answer is given with the test, and nobody was asked for it; remove the assertion, or providerOutput", name)
	}
	switch name {
	case evaluator.ToolCallCount:
		return in.count(func(m schema.Message) int { return len(m.ToolCalls) })
	case evaluator.ModelCallCount:
		return in.count(func(m schema.Message) int {
			if m.Rest {
				return 0 // it came with the calls before it
			}
			return 1
		})
	case evaluator.InputTokens:
		return tokens(t.Usage.InputTokens)
	case evaluator.OutputTokens:
		return tokens(t.Usage.OutputTokens)
	case evaluator.TotalTokens:
		if t.Usage.InputTokens == 0 || t.Usage.OutputTokens == 0 {
			return tokens(0)
		}
		return tokens(t.Usage.Tokens())
	case evaluator.CostUSD:
		cost := t.Usage.Cost()
		if cost == nil {
			return 0, errors.New("the cost is not known: " + unpriced(in.Case.Target))
		}
		if t.Usage.Told > 0 && t.Usage.Told == t.Usage.Calls {
			return *cost, nil // reported by the target
		}
		if _, err := tokens(t.Usage.Tokens()); err != nil {
			return 0, err
		}
		return *cost, nil
	case evaluator.DurationMS:
		if t.Latency <= 0 {
			return 0, errors.New("how long the target took is not known")
		}
		return float64(t.Latency) / float64(time.Millisecond), nil
	}
	return 0, fmt.Errorf("there is no quantity %q", name)
}

func tokens(n int64) (float64, error) {
	if n <= 0 {
		return 0, errors.New("the target does not report its tokens")
	}
	return float64(n), nil
}

// count sums over the target's messages, each of which is a call of a model.
func (in suiteInput) count(of func(schema.Message) int) (float64, error) {
	if !in.Transcript.Traced {
		return 0, errUntraced
	}
	n := 0
	for _, m := range in.output() {
		if m.Role == schema.RoleAssistant {
			n += of(m)
		}
	}
	return float64(n), nil
}

// unpriced returns the repair of a target without a price. A name with a colon is usually
// the one of a provider in a definition, which has no place for a price.
func unpriced(target string) string {
	if strings.Contains(target, ":") {
		return fmt.Sprintf("write a target with a price for the provider into gavel.yaml, as in targets: {model: {provider: …, model: …, price: {input: …, output: …}}} and aliases: {%q: model}", target)
	}
	return "set price: of the target in gavel.yaml"
}
