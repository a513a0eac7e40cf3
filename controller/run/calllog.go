package run

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// roleTimeout bounds a call to a judge or extractor without its own timeout.
const roleTimeout = 120 * time.Second

// A callLog is the sequence of calls of one sample under one digest. Calls in the
// journal are answered from it as long as they are equal.
type callLog struct {
	caseRun *caseRun
	// tc is the case as the sample sees it: with its own opening, and with the
	// attempt's system prompt.
	tc      *schema.Case
	digest  string
	ordinal int
	attempt int
	sample  int
	root    string // see target.Request
	lease   *ledger.Lease
	stored  []ledger.Call
	seq     int
	// session is the session of the conversation with the target; empty before the
	// first call with one.
	session string
	seen    map[string]int
	// live is true once a call was answered by its target.
	live bool
	// sound means that nothing failed which depends on a reply.
	sound  bool
	caller caller

	// subject identifies the samples that the calls judge, see judging. With rejudged,
	// other judgements of them may have asked the same.
	subject  string
	rejudged bool
	// saved is the cost of the replies that other judgements got.
	saved verdict.Usage
}

// openLog reads the sample's journaled calls under a digest.
func (s *sample) openLog(ctx context.Context, digest string) (*callLog, error) {
	a, c := s.attempt, s.attempt.caseRun
	ordinal := s.execution.Ordinal
	var stored []ledger.Call
	if a.journaled { // otherwise nobody has written any since, under the lease
		var err error
		if stored, err = c.runner.cfg.Ledger.Calls(ctx, c.job.Scope, digest, ordinal); err != nil {
			return nil, err
		}
	}
	tc := openingOf(c.job.Case, ordinal)
	log := c.newLog(tc, digest, ordinal)
	log.attempt, log.sample, log.stored = a.number, s.number, stored
	// A recording only has the beginning of a case's first attempt.
	log.root = root(tc, c.runner.cfg.Targets[c.job.Target])
	tc.System = a.system
	return log, nil
}

// newLog returns an empty log of the case, under its lease.
func (c *caseRun) newLog(tc *schema.Case, digest string, ordinal int) *callLog {
	log := &callLog{caseRun: c, tc: tc, digest: digest, ordinal: ordinal, seen: map[string]int{}}
	log.caller = newCaller(&c.runner.calls, calledCase{Costs: &c.costs, Claim: c.claim, Half: c.job.Half, Context: c.hold.callContext, Ended: c.runner.cfg.Control.ended})
	if c.hold != nil { // otherwise nothing is written
		log.lease = c.hold.lease
	}
	return log
}

// askRole asks the model of a role, within the model's own timeout.
func (l *callLog) askRole(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
	name, err := l.caseRun.runner.targetName(role)
	if err != nil {
		return target.Reply{}, err
	}
	req.Case = l.tc.Key
	cfg := l.caseRun.runner.cfg.Targets[name].Config
	if !cfg.TakesImages() {
		req.Messages = withoutImages(req.Messages)
	}
	l.caller.Allow(cmp.Or(cfg.Timeout, roleTimeout))
	return l.ask(ctx, string(role), name, req)
}

// withoutImages replaces images in messages by their text for a model that does not
// accept images.
func withoutImages(messages []schema.Message) []schema.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Blocks = nil
	}
	return out
}

// targetName returns the name of a role's target.
func (r *runner) targetName(role schema.Role) (string, error) {
	if name, ok := evaluator.JudgedBy(role); ok {
		return name, nil
	}
	if name := r.cfg.Roles[role]; name != "" {
		return name, nil
	}
	key := string(role)
	if editor, ok := strings.CutSuffix(key, " editor"); ok {
		key = "editors: " + editor
	}
	return "", fmt.Errorf("no model has the role %s; set roles: %s in gavel.yaml", role, key)
}

// ask answers a request from the journal or, past its end, from another judgement or the
// target, and stores the reply before it is used. A fault of the ledger is an
// [evaluate.Fault].
func (l *callLog) ask(ctx context.Context, role, name string, req target.Request) (target.Reply, error) {
	digest := target.Digest(req)
	req.Sample, req.Occurrence, req.Root, req.Again = l.sample, l.seen[digest], l.root, l.caseRun.job.Again
	l.seen[digest]++
	key := ledger.CallKey{Digest: l.digest, Ordinal: l.ordinal, Role: role, Attempt: l.attempt, Seq: l.seq}
	l.seq++
	call := ledger.Call{Key: key, RequestDigest: digest, Question: l.question(name, digest)}
	if reply, ok := l.recall(key, digest); ok {
		l.record(name, digest, req, reply)
		return reply, nil
	}
	if l.caseRun.runner.recording {
		l.caseRun.costs.MissReply()
		return target.Reply{}, errUnrecorded
	}
	if err := l.forget(ctx, key); err != nil {
		return target.Reply{}, err
	}
	entry := journalEntry{System: req.System, Messages: req.Messages, Tools: req.Tools}
	reply, err := l.known(ctx, name, &call)
	if entry.Reused = !call.At.IsZero(); err == nil && !entry.Reused {
		l.live, req.Session = true, l.sessionOf(key, name)
		entry.Session = req.Session
		sent := req
		sent.Digest = digest
		reply, err = l.caller.Call(ctx, name, target.WithDelimiter(sent, l.delimiter(key)))
		call.At, call.Paid = l.caseRun.runner.cfg.Clock.Now(), l.payment(reply.Usage)
		reply = reply.Scrubbed(l.caseRun.runner.cfg.Scrub)
	}
	if err != nil {
		return target.Reply{}, err
	}
	l.record(name, digest, req, reply)
	return reply, l.journal(ctx, call, entry, reply)
}

// payment returns what a reply took, for the run.
func (l *callLog) payment(u verdict.Usage) ledger.Payment {
	return ledger.Payment{
		Run: l.caseRun.runner.cfg.Run, Amount: ledger.Amount{Calls: int64(u.Calls), Tokens: u.Tokens(), USD: u.CostUSD}, Unpriced: int64(u.Unpriced),
	}
}

// sessionOf returns the session of a call; empty for targets without sessions. Each
// call of a role is a separate conversation. A conversation whose beginning is in the
// journal continues in its session.
func (l *callLog) sessionOf(key ledger.CallKey, name string) string {
	switch {
	case !l.caseRun.runner.cfg.Targets[name].Config.HTTP.UsesSession():
		return ""
	case key.Role != targetRole:
		return rand.Text()
	}
	l.session = cmp.Or(l.session, rand.Text())
	return l.session
}

// recall returns the stored reply of the call if the request was the same.
func (l *callLog) recall(key ledger.CallKey, digest string) (target.Reply, bool) {
	var reply target.Reply
	if key.Seq >= len(l.stored) {
		return reply, false
	}
	call := l.stored[key.Seq]
	if call.Key.Role != key.Role || call.RequestDigest != digest {
		return reply, false
	}
	var asked journalEntry
	if key.Role == targetRole && l.session == "" && json.Unmarshal(call.Request, &asked) == nil {
		l.session = asked.Session
	}
	return reply, json.Unmarshal(call.Reply, &reply) == nil
}

// forget drops the rest of the journal once a request differs from it.
func (l *callLog) forget(ctx context.Context, key ledger.CallKey) error {
	if key.Seq >= len(l.stored) {
		return nil
	}
	return l.drop(ctx, key)
}

// startOver reports whether the calls of the log must be repeated after they ended in
// err, and clears the log then. That is the case if all of them were known and the error may
// depend on them, such as a judge's calls with unreadable replies: they would end in the same
// error forever. Otherwise it returns err.
func (l *callLog) startOver(ctx context.Context, err error) (again bool, _ error) {
	_, fault := errors.AsType[*evaluate.Fault](err)
	if err == nil || l.live || l.sound || l.caseRun.runner.recording || l.seq == 0 || ctx.Err() != nil || fault {
		return false, err
	}
	key := ledger.CallKey{Digest: l.digest, Ordinal: l.ordinal}
	if err := l.drop(ctx, key); err != nil {
		return false, err
	}
	l.seq, l.seen, l.rejudged, l.saved = 0, map[string]int{}, false, verdict.Usage{}
	return true, nil
}

// drop removes the calls from a key on from the journal.
func (l *callLog) drop(ctx context.Context, key ledger.CallKey) error {
	l.stored = nil
	if key.Seq == 0 {
		l.session = ""
	}
	if err := l.caseRun.runner.cfg.Ledger.DropCalls(ctx, l.caseRun.runner.cfg.Trust, key, l.lease); err != nil {
		return &evaluate.Fault{Err: err}
	}
	return nil
}

// A journalEntry is the journaled part of a request.
type journalEntry struct {
	System   string           `json:"system,omitempty"`
	Messages []schema.Message `json:"messages"`
	Tools    []schema.Tool    `json:"tools,omitempty"`
	Session  string           `json:"session,omitempty"`
	// Reused means that another judgement of the sample got the reply.
	Reused bool `json:"reused,omitempty"`
}

// journal stores a call with the journaled part of its request and its reply.
func (l *callLog) journal(ctx context.Context, call ledger.Call, entry journalEntry, reply target.Reply) error {
	asked, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("journal the request of %s: %w", l.caseRun.job.Case.Key, err)
	}
	if call.Reply, err = json.Marshal(reply); err != nil {
		return fmt.Errorf("journal the reply to %s: %w", l.caseRun.job.Case.Key, err)
	}
	call.Request, call.Lease = []byte(l.caseRun.runner.cfg.Scrub(string(asked))), l.lease
	// A reply that was paid for is kept even if the run is being cancelled.
	err = l.caseRun.runner.cfg.Ledger.SaveCall(context.WithoutCancel(ctx), l.caseRun.runner.cfg.Trust, call)
	if err != nil {
		return &evaluate.Fault{Err: err}
	}
	return nil
}

// delimiter returns the delimiter of subject text in a judge's request: it cannot be
// guessed without the ledger's secret.
func (l *callLog) delimiter(key ledger.CallKey) string {
	mac := hmac.New(sha256.New, l.caseRun.runner.cfg.Ledger.Secret())
	fmt.Fprintf(mac, "%s %d %s %d %d", key.Digest, key.Ordinal, key.Role, key.Attempt, key.Seq)
	return hex.EncodeToString(mac.Sum(nil)[:12])
}
