package remeasure

import (
	"math"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

const (
	// charactersPerToken is the average number of characters in a token of English.
	charactersPerToken = 4
	// replyTokens is the assumed length of a reply.
	replyTokens = 300
	// questionCharacters is the assumed length of a judge's instructions besides the
	// case and the reply.
	questionCharacters = 2000
	// usualTurns is the assumed length of a conversation without a limit.
	usualTurns = 5
)

// An Estimate predicts the calls, tokens and money that judging one case takes.
type Estimate struct {
	Calls  int
	Tokens int64
	USD    float64
	// Unpriced means that USD lacks calls with an unknown price.
	Unpriced bool
	// Chance means that a model is called whose next answer may differ.
	Chance bool
	// RetryCalls counts the further calls if the case is run again.
	RetryCalls int
	// whole means that nothing of the case is stored.
	whole bool
	// slack bounds the excess of one call over its share.
	slack ledger.Amount
	// least is the estimate of a conversation that ends at once. It is nil if the
	// length is known.
	least *Estimate
}

// NewEstimate predicts the calls of a job that are not stored yet, with the targets
// of cfg.
func NewEstimate(cfg *config.Config, job run.Job, known plan.Stored) Estimate {
	return NewWorkload(job.Case).Against(cfg, job.Target, known)
}

// Against predicts the calls of a case to a target that are not stored yet.
func (s Workload) Against(cfg *config.Config, target string, known plan.Stored) Estimate {
	e := estimator{
		Workload: s, target: target, targets: cfg.Targets, roles: cfg.Roles.Targets(),
		executions: max(s.samples-known.Executed, 0), judgements: max(s.samples-known.Judged, 0),
	}
	if s.turns == 0 {
		return e.count(max(s.scripted, 1))
	}
	q := e.count(s.turns)
	least := e.count(1)
	q.least = &least
	return q
}

// Learn replaces the guess by measured usage: the cost of a call and, if no sample is
// stored, the number of calls.
func (q *Estimate) Learn(d ledger.Decision, s Workload) {
	before := d.Usage
	if before.Calls == 0 || q.Calls == 0 {
		return
	}
	if q.whole && !s.retried && d.Samples > 0 {
		q.Calls, q.least = (before.Calls*s.samples+d.Samples-1)/d.Samples, nil
	}
	share := float64(q.Calls) / float64(before.Calls)
	q.Tokens = int64(math.Ceil(float64(before.Tokens()) * share))
	if before.Unpriced == 0 {
		q.USD, q.Unpriced = before.CostUSD*share, false
	}
}

// An estimator counts the calls of one case.
type estimator struct {
	Workload
	target  string
	targets map[string]config.Target
	roles   map[schema.Role]string
	// executions and judgements count the samples that are due.
	executions, judgements int
}

// count estimates the case for conversations with a number of the target's replies.
func (e *estimator) count(turns int) Estimate {
	q := Estimate{whole: e.executions == e.samples && e.judgements == e.samples}
	// Every message of a conversation sends the earlier ones again.
	said := int64(e.said) + int64(turns-1)*replyTokens*charactersPerToken
	sides := 1
	if e.alternative {
		sides = 2
	}
	if !e.given {
		e.add(&q, e.target, sides*e.executions*turns, said)
	}
	if e.turns > 0 {
		e.add(&q, e.roles[schema.Simulator], sides*e.executions*turns, said)
	}
	question := said + replyTokens*charactersPerToken + questionCharacters
	e.judge(&q, e.judges, sides*e.judgements, question)
	first := q.Calls / sides
	e.judge(&q, e.comparison, e.judgements, question)
	if e.executions > 0 {
		// The last of the editor's prompts is a proposal that is not run.
		q.RetryCalls = e.retries*(first+e.editors) + e.editors
	}
	return q
}

// judge adds the calls of the samples' judges.
func (e *estimator) judge(q *Estimate, judges []load.Callee, samples int, characters int64) {
	for _, judge := range judges {
		name := judge.Target
		if judge.Role != "" {
			name = e.roles[judge.Role]
		}
		e.add(q, name, samples, characters)
	}
}

// add adds n calls of a given length to a target.
func (e *estimator) add(q *Estimate, name string, n int, characters int64) {
	if n == 0 {
		return
	}
	q.Calls += n
	t := e.targets[name]
	q.Chance = q.Chance || !t.Deterministic()
	if t.Provider == config.Replay || t.Provider == config.Mock {
		return // they call no target
	}
	one := ledger.Amount{Tokens: characters/charactersPerToken + replyTokens}
	if t.Price == nil {
		q.Unpriced = true
	} else {
		one.USD = t.Price.Cost(characters/charactersPerToken, replyTokens)
	}
	q.Tokens += int64(n) * one.Tokens
	q.USD += float64(n) * one.USD
	slack := run.UpperBound(t, characters).Rest(one)
	q.slack = ledger.Amount{Tokens: max(q.slack.Tokens, slack.Tokens), USD: max(q.slack.USD, slack.USD)}
}

// Need returns the budget that must be left for the case.
func (q *Estimate) Need() run.Need {
	likely := ledger.Amount{Calls: int64(q.Calls), Tokens: q.Tokens, USD: q.USD}
	n := run.Need{Likely: likely, Peak: likely.Plus(q.slack)}
	n.Least = n.Peak
	if least := q.least; least != nil {
		n.Least = ledger.Amount{Calls: int64(least.Calls), Tokens: least.Tokens, USD: least.USD}.Plus(least.slack)
	}
	return n
}

// A Total sums up the estimates of several cases.
type Total struct {
	// Cases counts the cases of head for which a target is called.
	Cases int
	// RetryCalls counts the calls beyond Calls if cases that fail are run again.
	Calls, RetryCalls int
	// ChanceCalls counts the calls of cases whose answers may differ between runs.
	ChanceCalls int
	USD         float64
	// Unpriced means that USD lacks calls with an unknown price.
	Unpriced bool
}

// AddHead adds a case of head.
func (s *Total) AddHead(c Estimate) {
	if c.Calls > 0 {
		s.Cases++
	}
	s.Add(c)
}

// Add adds the estimate of a case.
func (s *Total) Add(c Estimate) {
	s.Calls, s.RetryCalls = s.Calls+c.Calls, s.RetryCalls+c.RetryCalls
	if c.Chance {
		s.ChanceCalls += c.Calls
	}
	s.USD += c.USD
	s.Unpriced = s.Unpriced || c.Unpriced
}

// A Remainder sums up cases of head that are estimated from their remembered workload.
type Remainder struct {
	Total
	// Needs lists the models and roles that judging these cases calls, in the order of
	// their first cases.
	Needs []load.Need
}

// Add adds an active case at a position with its estimate.
func (r *Remainder) Add(s Workload, at schema.Position, c Estimate) {
	r.AddHead(c)
	for _, a := range s.asks {
		i := slices.IndexFunc(r.Needs, func(n load.Need) bool { return n.Callee == a })
		if i < 0 {
			i = len(r.Needs)
			r.Needs = append(r.Needs, load.Need{Callee: a, At: at})
		}
		r.Needs[i].Cases++
	}
}
