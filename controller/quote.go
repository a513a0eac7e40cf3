package controller

import (
	"cmp"
	"math"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/purse"
	"github.com/gavel-evals/gavel/schema"
)

const (
	// charactersPerToken is what a token of English takes on average.
	charactersPerToken = 4
	// replyTokens is taken for the length of a reply.
	replyTokens = 300
	// questionCharacters is taken for what a judge is told beside the case and
	// the reply.
	questionCharacters = 2000
	// usualTurns is taken for the length of a conversation without a limit.
	usualTurns = 5
)

// A quote is what judging one case will take, as far as can be told before.
type quote struct {
	calls  int
	tokens int64
	usd    float64
	// unpriced means that usd lacks calls whose price is not known.
	unpriced bool
	// again is how many more calls there may be where the case is run again.
	again int
	// whole means that nothing of the case is stored.
	whole bool
	// slack is the most by which one of the calls may take more than was
	// counted for it.
	slack ledger.Amount
	// least is the quote of a conversation that ends at once; nil where there
	// is nothing to guess.
	least *quote
}

// newQuote counts the calls of a case that are not stored yet.
func newQuote(cfg *config.Config, job run.Job, known plan.Known) quote {
	c := job.Case
	e := estimator{
		Case: c, target: job.Target, targets: cfg.Targets, roles: RoleTargets(cfg.Roles),
		executions: max(c.Samples()-known.Executed, 0), judgements: max(c.Samples()-known.Judged, 0),
	}
	if c.Drive.Simulation == nil {
		return e.quote(1)
	}
	q := e.quote(cmp.Or(c.Policy.MaxTurns, min(cmp.Or(c.Policy.TurnCap, usualTurns), usualTurns)))
	least := e.quote(1)
	q.least = &least
	return q
}

// learn puts what the case took before in the place of what was guessed: what
// its calls took, and, where all of them are due, how many they were.
func (q *quote) learn(d ledger.Decision, c *schema.Case) {
	before := d.Usage
	if before.Calls == 0 || q.calls == 0 {
		return
	}
	if q.whole && c.Policy.Retry == nil && d.Samples > 0 {
		q.calls, q.least = (before.Calls*c.Samples()+d.Samples-1)/d.Samples, nil
	}
	share := float64(q.calls) / float64(before.Calls)
	q.tokens = int64(math.Ceil(float64(before.Tokens()) * share))
	if before.Unpriced == 0 {
		q.usd, q.unpriced = before.CostUSD*share, false
	}
}

// An estimator counts the calls of one case.
type estimator struct {
	*schema.Case
	target  string
	targets map[string]config.Target
	roles   map[schema.Role]string
	// executions and judgements are the samples that are due.
	executions, judgements int
}

// quote sums up the case with conversations of so many replies of the target.
func (e *estimator) quote(turns int) quote {
	q := quote{whole: e.executions == e.Samples() && e.judgements == e.Samples()}
	// What was said before is sent again with every message of a conversation.
	said := e.said() + int64(turns-1)*replyTokens*charactersPerToken
	sides := 1
	if e.Rival != nil {
		sides = 2
	}
	e.add(&q, e.target, sides*e.executions*turns, said)
	if e.Drive.Simulation != nil {
		e.add(&q, e.roles[schema.Simulator], sides*e.executions*turns, said)
	}
	question := said + replyTokens*charactersPerToken + questionCharacters
	for _, ev := range e.Evaluators {
		e.judge(&q, ev.Spec, sides*e.judgements, question)
	}
	first := q.calls / sides
	if e.Rival != nil && e.Rival.Comparison != nil {
		e.judge(&q, e.Rival.Comparison, e.judgements, question)
	}
	if retry := e.Policy.Retry; retry != nil && e.executions > 0 {
		q.again = retry.Most * (first + len(e.Policy.Roles()))
	}
	return q
}

// judge adds the calls of an evaluator that measures so many samples.
func (e *estimator) judge(q *quote, spec schema.Spec, samples int, characters int64) {
	for _, role := range spec.Roles() {
		e.add(q, e.roles[role], samples, characters)
	}
	if own, ok := spec.(interface{ Targets() []string }); ok {
		for _, name := range own.Targets() {
			e.add(q, name, samples, characters)
		}
	}
}

// add counts n calls of so many characters to a target.
func (e *estimator) add(q *quote, name string, n int, characters int64) {
	if n == 0 {
		return
	}
	q.calls += n
	t := e.targets[name]
	if t.Provider == config.Replay || t.Provider == config.Mock {
		return // they call nobody
	}
	one := ledger.Amount{Tokens: characters/charactersPerToken + replyTokens}
	if t.Price == nil {
		q.unpriced = true
	} else {
		one.USD = t.Price.Cost(characters/charactersPerToken, replyTokens)
	}
	q.tokens += int64(n) * one.Tokens
	q.usd += float64(n) * one.USD
	slack := purse.Most(t, characters).Rest(one)
	q.slack = ledger.Amount{Tokens: max(q.slack.Tokens, slack.Tokens), USD: max(q.slack.USD, slack.USD)}
}

// said is how many characters a case sends at least.
func (e *estimator) said() int64 {
	n := len(e.System)
	for _, m := range e.Drive.Messages {
		n += len(m.Content)
	}
	for _, t := range e.Tools {
		n += len(t.Description) + len(t.Parameters)
	}
	return int64(n)
}
