package run

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/backoff"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// maxAttempts bounds how often one call is tried.
	maxAttempts = 4
	// roleTimeout bounds a call to a judge or extractor whose target sets none.
	roleTimeout = 120 * time.Second
)

// pauses are those between two attempts.
var pauses = backoff.Doubling{First: 500 * time.Millisecond, Most: 30 * time.Second}

func (r *runner) applyDefaults() {
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Sleep == nil {
		r.Sleep = backoff.Sleep
	}
	if r.Jitter == nil {
		r.Jitter = rand.Float64
	}
	if r.Breakers == nil {
		r.Breakers = &limit.Breakers{}
	}
	if r.Budget == nil {
		r.Budget = budget.New(budget.Config{})
	}
	if r.Scrub == nil {
		r.Scrub = func(s string) string { return s }
	}
}

// A storeError is a fault of the ledger, which ends the run, as opposed to one
// of the outside world, which ends a sample.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// A session is the sequence of calls of one sample under one digest. Calls
// that the journal has are answered from it as long as they are the same.
type session struct {
	*work
	// kase is the case as the sample has it.
	kase    *schema.Case
	digest  string
	ordinal int
	attempt int
	sample  int
	root    string // see target.Request
	stored  []ledger.Call
	seq     int
	seen    map[string]int
	// live is true once a call was not found in the journal.
	live bool
	// left is what remains of the timeout that calls are allowed: of the whole
	// sample with the target, of each call with a judge. Once a call was sent,
	// begun, waiting for the provider counts, too; waiting for a free place does not.
	left, allowed time.Duration
	begun         bool
	spent         verdict.Usage
}

func (s *series) open(ctx context.Context, digest string, t *trial) (*session, error) {
	out := &session{
		work: s.work, kase: s.of(t.execution.Ordinal), digest: digest, ordinal: t.execution.Ordinal,
		attempt: s.attempt, sample: t.place, seen: map[string]int{},
	}
	// What a recording knows of a case is how the first attempt begins.
	out.root = root(opened(s.job.Case, t.execution.Ordinal), s.Targets[s.job.Target])
	var err error
	out.stored, err = s.Ledger.Calls(ctx, s.job.Scope, digest, out.ordinal)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// measure runs one evaluator over the transcript.
func (s *session) measure(ctx context.Context, ev schema.Evaluator, tr *verdict.Transcript) (verdict.Measurement, error) {
	var fault error
	m := evaluate.Measure(ctx, ev, evaluate.Input{
		Case: s.kase, Transcript: priced(tr, s.Targets[s.job.Target].Config.Price), Ask: s.asker(&fault), Programs: s.Programs,
	})
	return m, fault
}

// priced is a transcript at the price of now, which need not be the one that
// was paid when it was stored.
func priced(tr *verdict.Transcript, price *config.Price) *verdict.Transcript {
	out := *tr
	out.Usage = atPrice(out.Usage, price)
	return &out
}

// asker asks the models that have roles, each within its own timeout. A fault
// of the ledger is kept apart, since it ends the run.
func (s *session) asker(fault *error) evaluate.Ask {
	return func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
		name, err := s.player(role)
		if err != nil {
			return target.Reply{}, err
		}
		req.Case = s.kase.Key
		if !s.Targets[name].Config.TakesImages() {
			req.Messages = withoutImages(req.Messages)
		}
		s.allow(cmp.Or(s.Targets[name].Config.Timeout, roleTimeout))
		reply, err := s.ask(ctx, string(role), name, req)
		var store *storeError
		if errors.As(err, &store) {
			*fault = err
		}
		return reply, err
	}
}

// withoutImages leaves of messages what they say to a model that takes no images.
func withoutImages(messages []schema.Message) []schema.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Blocks = nil
	}
	return out
}

// player is the name of the target that has a role.
func (s *session) player(role schema.Role) (string, error) {
	if name, ok := evaluator.JudgedBy(role); ok {
		return name, nil
	}
	if name := s.Roles[role]; name != "" {
		return name, nil
	}
	key := string(role)
	if editor, ok := strings.CutSuffix(key, " editor"); ok {
		key = "editors: " + editor
	}
	return "", fmt.Errorf("no model has the role %s; set roles: %s in gavel.yaml", role, key)
}

// ask answers a request from the journal or, past its end, from the target,
// and writes the reply down before it is used.
func (s *session) ask(ctx context.Context, role, name string, req target.Request) (target.Reply, error) {
	digest := target.Digest(req)
	req.Sample, req.Occurrence, req.Root = s.sample, s.seen[digest], s.root
	s.seen[digest]++
	key := ledger.CallKey{Digest: s.digest, Ordinal: s.ordinal, Role: role, Attempt: s.attempt, Seq: s.seq}
	s.seq++
	if reply, ok := s.recall(key, digest); ok {
		s.record(name, digest, req, reply)
		return reply, nil
	}
	if s.retelling {
		s.untold.Store(true)
		return target.Reply{}, errUntold
	}
	s.live = true
	if err := s.forget(ctx, key); err != nil {
		return target.Reply{}, err
	}
	reply, err := s.call(ctx, name, target.WithDelimiter(req, s.delimiter(key)))
	if err != nil {
		return target.Reply{}, err
	}
	reply = reply.Scrubbed(s.Scrub)
	s.spent = s.spent.Add(reply.Usage)
	s.record(name, digest, req, reply)
	return reply, s.journal(ctx, key, digest, req, reply)
}

// recall finds the stored reply of the call if it was the same request.
func (s *session) recall(key ledger.CallKey, digest string) (target.Reply, bool) {
	var reply target.Reply
	if key.Seq >= len(s.stored) {
		return reply, false
	}
	call := s.stored[key.Seq]
	if call.Key.Role != key.Role || call.RequestDigest != digest {
		return reply, false
	}
	return reply, json.Unmarshal(call.Reply, &reply) == nil
}

// forget drops the rest of the journal once a request differs from it.
func (s *session) forget(ctx context.Context, key ledger.CallKey) error {
	if key.Seq >= len(s.stored) {
		return nil
	}
	s.stored = nil
	if err := s.Ledger.DropCalls(ctx, s.Trust, key, s.lease); err != nil {
		return &storeError{err}
	}
	return nil
}

// unlessSpoilt makes the calls of a session. Where those that were written down
// already end in an error, such as a judge that was never understood, they
// would do so for ever: then it makes all of them anew.
func (s *session) unlessSpoilt(ctx context.Context, calls func() error) error {
	err := calls()
	var store *storeError
	if err == nil || s.live || s.retelling || s.seq == 0 || ctx.Err() != nil || errors.As(err, &store) {
		return err
	}
	key := ledger.CallKey{Digest: s.digest, Ordinal: s.ordinal}
	if err := s.Ledger.DropCalls(ctx, s.Trust, key, s.lease); err != nil {
		return &storeError{err}
	}
	s.stored, s.seq, s.seen = nil, 0, map[string]int{}
	return calls()
}

func (s *session) journal(ctx context.Context, key ledger.CallKey, digest string, req target.Request, reply target.Reply) error {
	asked, err := json.Marshal(struct {
		System   string           `json:"system,omitempty"`
		Messages []schema.Message `json:"messages"`
		Tools    []schema.Tool    `json:"tools,omitempty"`
	}{req.System, req.Messages, req.Tools})
	if err != nil {
		return fmt.Errorf("journal the request of %s: %w", s.job.Case.Key, err)
	}
	answered, err := json.Marshal(reply)
	if err != nil {
		return fmt.Errorf("journal the reply to %s: %w", s.job.Case.Key, err)
	}
	// A reply that was paid for is kept even if the run is being cancelled.
	err = s.Ledger.SaveCall(context.WithoutCancel(ctx), s.Trust, ledger.Call{
		Key: key, RequestDigest: digest, Request: []byte(s.Scrub(string(asked))), Reply: answered, At: s.Now(), Lease: s.lease,
	})
	if err != nil {
		return &storeError{err}
	}
	return nil
}

// delimiter is what a judge's request sets subject text apart with: nobody who
// does not know the ledger's secret can guess it.
func (s *session) delimiter(key ledger.CallKey) string {
	mac := hmac.New(sha256.New, s.Ledger.Secret())
	fmt.Fprintf(mac, "%s %d %s %d %d", key.Digest, key.Ordinal, key.Role, key.Attempt, key.Seq)
	return hex.EncodeToString(mac.Sum(nil)[:12])
}
