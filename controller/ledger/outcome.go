package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// An Execution is one sample of E: the exchange with the target.
type Execution struct {
	// Ordinal counts the samples of E from 0.
	Ordinal    int
	Transcript verdict.Transcript
	// Duration is from the first call to the last reply.
	Duration time.Duration
	// Usage is the cost of the calls to the target.
	Usage verdict.Usage
}

// A Judgement is one sample of J with the cost of judging it.
type Judgement struct {
	Sample verdict.Sample `json:"sample"`
	Usage  verdict.Usage  `json:"usage"`
}

// A Decision is the result of D.
type Decision struct {
	Result verdict.Result `json:"result"`
	// Usage and Duration are the cost of the decision, including stored samples.
	Usage    verdict.Usage `json:"usage"`
	Duration time.Duration `json:"duration_ns"`
	// Samples is on how many samples it rests, ≥ 1.
	Samples int `json:"samples"`
	// Effort is what the answers took from the agent; nil if it was not asked.
	Effort *verdict.Effort `json:"effort,omitempty"`

	// The digests and the times are filled in by reading. Oldest is when the
	// oldest of the samples was made.
	E       string    `json:"-"`
	J       string    `json:"-"`
	Created time.Time `json:"-"`
	Oldest  time.Time `json:"-"`
}

// decode reads a decision with a reader that serves many.
func (d *Decision) decode(r *verdict.JSONReader, body []byte) error {
	quick, ok := r.Decision(body)
	if !ok {
		return json.Unmarshal(body, d)
	}
	d.Result, d.Usage, d.Duration, d.Samples, d.Effort = quick.Result, quick.Usage, quick.Duration, quick.Samples, quick.Effort
	return nil
}

// An Outcome is everything that a run found out about one case.
type Outcome struct {
	Trust   Trust
	Digests plan.Digests
	// Case is the ID of the case, Commit the one it was read from, empty for a working
	// tree.
	Case, Commit string
	// Executions and Samples are the new ones. A sample is a judgement on the execution
	// with its ordinal, new or stored.
	Executions []Execution
	Samples    []Judgement
	// Purpose is why the executions were made.
	Purpose plan.Purpose
	// Decision is nil if the case could not be decided.
	Decision *Decision
	// Parts are the parts of the case, kept with the decision so that later changes can
	// be found.
	Parts []plan.Part
	// Lease is the lease under which all of it was made; nil if nobody else can be at
	// work. It ends with the decision.
	Lease *Lease
	// Also, when set, stores further data about the outcome, in the same transaction.
	// It may be called twice, see [store.Engine].
	Also func(*store.Tx) error
	// Completion does the same as Also by one statement; nil if that is not possible.
	Completion *store.Statement
}

// Errors are not remembered but tried again; and a decision that rests on nothing is
// not a verdict.
var (
	errStoreError = errors.New("an error is not a verdict and is not stored")
	errNoSample   = errors.New("the results that it is based on are not stored")
)

// Save writes an outcome in one transaction. If two samples have the same digest and
// ordinal, the first wins, even if another process wrote it; the later one is dropped
// silently, with the judgements and the decision that rest on it, so that the stored
// entries always agree. Save refuses an outcome with an error in a sample or in its
// decision, and refuses one whose lease was lost with ErrLeaseLost.
func (l *Ledger) Save(ctx context.Context, o Outcome) error {
	s, err := l.encode(o)
	if err != nil {
		return l.store.Fault("store an outcome", err)
	}
	if o.Decision == nil || o.Lease == nil {
		if err = l.store.Submit(ctx, s.insert); err == nil {
			l.parts.stored(s.unsure, time.UnixMilli(s.now))
		}
		return l.store.Fault("store an outcome", err)
	}
	// Released before it ends, so that a sign of life does not count the ended lease as
	// lost.
	held := o.Lease.drop()
	if err = s.atOnce(ctx, l.store); errors.Is(err, store.ErrRefused) {
		err = l.store.Submit(ctx, s.insert)
	}
	if err != nil && held {
		o.Lease.undrop()
	}
	if err == nil {
		o.Lease.done()
		err = o.Lease.ended(context.WithoutCancel(ctx))
		l.parts.stored(s.unsure, time.UnixMilli(s.now))
	}
	return l.store.Fault("store an outcome", err)
}

// An outcomeRow is an outcome that is ready to be inserted.
type outcomeRow struct {
	Outcome
	ns  string
	now int64
	// transcripts and judgements are parallel to Executions and Samples.
	transcripts, judgements [][]byte
	decision, parts         []byte
	// unsure are the parts that are stored with the decision.
	unsure []storedPart
}

// atOnce stores an outcome that is decided in one round trip.
func (s *outcomeRow) atOnce(ctx context.Context, to *store.Store) error {
	if s.Also != nil && s.Completion == nil {
		return store.ErrRefused
	}
	result, executions, judgements := s.Decision.Result, newBodyRows(s.transcripts), newBodyRows(s.judgements)
	for _, x := range s.Executions {
		executions.Ordinals, executions.Durations = append(executions.Ordinals, int64(x.Ordinal)), append(executions.Durations, int64(x.Duration))
	}
	for _, j := range s.Samples {
		judgements.Ordinals = append(judgements.Ordinals, int64(j.Sample.Ordinal))
	}
	return outcomeChange{
		Epoch: s.Lease.epoch, E: s.Digests.E, J: s.Digests.J, D: s.Digests.D, Namespace: s.ns,
		Level: int(s.Trust.Level), Purpose: int(s.Purpose), Now: s.now, Executions: executions, Judgements: judgements, Used: s.Decision.Samples,
		Verdict: string(result.Verdict), Score: result.Score, Samples: result.Samples, Decision: s.decision,
		Case: caseID(s.Trust.Repository, s.Case), Commit: s.Commit, Parts: s.parts, Unsure: s.unsure, Completion: s.Completion,
	}.Store(ctx, to)
}

// encode does everything that needs no transaction.
func (l *Ledger) encode(o Outcome) (*outcomeRow, error) {
	if err := errors.Join(o.Trust.check(), storable(o)); err != nil {
		return nil, err
	}
	s := &outcomeRow{Outcome: o, ns: o.Trust.namespace(), now: l.now().UnixMilli()}
	for _, x := range o.Executions {
		x.Transcript.Usage = x.Usage
		body, err := json.Marshal(x.Transcript)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", x.Ordinal, err)
		}
		s.transcripts = append(s.transcripts, body)
	}
	for _, j := range o.Samples {
		body, err := json.Marshal(j)
		if err != nil {
			return nil, fmt.Errorf("judgement of sample %d: %w", j.Sample.Ordinal, err)
		}
		s.judgements = append(s.judgements, body)
	}
	if o.Decision == nil {
		return s, nil
	}
	var err error
	if s.decision, err = json.Marshal(o.Decision); err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	s.parts, s.unsure, err = l.parts.encode(o.Parts, time.UnixMilli(s.now))
	return s, err
}

// storable refuses errors.
func storable(o Outcome) error {
	if o.Decision != nil && o.Decision.Result.Verdict == verdict.Error {
		return errStoreError
	}
	for _, j := range o.Samples {
		if j.Sample.Error != "" {
			return errStoreError
		}
		for _, m := range j.Sample.Measurements {
			if m.Error != "" {
				return errStoreError
			}
		}
	}
	return nil
}

func (s *outcomeRow) insert(t *store.Tx) error {
	if err := s.insertParts(t); err != nil {
		return err
	}
	check := s.Lease.check
	if s.Decision != nil {
		check = s.Lease.end
	}
	if err := check(t); err != nil {
		return err
	}
	if s.Also != nil {
		if err := s.Also(t); err != nil {
			return err
		}
	}
	made := map[int]int64{} // samples by ordinal; 0 if another was first
	for i, x := range s.Executions {
		id, err := s.insertSample(t, x, s.transcripts[i])
		if err != nil {
			return fmt.Errorf("sample %d: %w", x.Ordinal, err)
		}
		made[x.Ordinal] = id
	}
	whole, isNew := true, len(s.Samples) > 0
	for i, j := range s.Samples {
		sample, isMade := made[j.Sample.Ordinal]
		isNew = isNew && isMade
		if isMade && sample == 0 {
			whole = false
			continue
		}
		stored, err := s.insertJudgement(t, j.Sample.Ordinal, sample, s.judgements[i])
		if err != nil {
			return fmt.Errorf("judgement of sample %d: %w", j.Sample.Ordinal, err)
		}
		whole = whole && stored
	}
	if s.Decision == nil || !whole {
		return nil
	}
	if err := s.insertDecision(t, isNew); err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	return nil
}

// insertSample returns the id of the sample, or 0 if it is not the first with its
// ordinal.
func (s *outcomeRow) insertSample(t *store.Tx, x Execution, transcript []byte) (int64, error) {
	var id int64
	err := t.Row(`INSERT INTO samples (e, ordinal, ns, level, duration, created, chosen) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (e, ordinal, ns) DO NOTHING RETURNING id`,
		digestBytes(s.Digests.E), x.Ordinal, s.ns, s.Trust.Level, int64(x.Duration), s.now, s.Purpose).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return id, t.Exec("INSERT INTO transcripts (sample, body) VALUES (?, ?)", id, transcript)
}

// insertJudgement reports whether the judgement was the first on its sample; a sample
// of 0 was stored before.
func (s *outcomeRow) insertJudgement(t *store.Tx, ordinal int, sample int64, body []byte) (bool, error) {
	if sample == 0 {
		// A pull request's own sample goes before base's.
		err := t.Row("SELECT id FROM samples WHERE e = ? AND ordinal = ? AND ns IN ('', ?) ORDER BY ns DESC LIMIT 1",
			digestBytes(s.Digests.E), ordinal, s.ns).Scan(&sample)
		if errors.Is(err, sql.ErrNoRows) {
			return false, errNoSample
		}
		if err != nil {
			return false, err
		}
	}
	err := t.Row(`INSERT INTO judgements (j, sample, ns, level, body, created) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (j, sample, ns) DO NOTHING RETURNING id`,
		digestBytes(s.Digests.J), sample, s.ns, s.Trust.Level, body, s.now).Scan(&sample)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// insertDecision stores the decision. It rests on the last of the samples: the
// new ones are the last, and earlier ones that it leaves out are too old. isNew says that
// all samples of the outcome are new.
func (s *outcomeRow) insertDecision(t *store.Tx, isNew bool) error {
	if isNew && s.Decision.Samples == len(s.Samples) {
		last := 0
		for _, j := range s.Samples {
			last = max(last, j.Sample.Ordinal)
		}
		return s.insertVerdict(t, int64(last), s.now)
	}
	var there int
	var last, oldest sql.NullInt64
	err := t.Row("SELECT count(*), max(ordinal), min(created) FROM (SELECT DISTINCT s.ordinal, s.created "+fromJudgements+
		" WHERE j.j = ? AND "+ownFirst+" ORDER BY s.ordinal DESC LIMIT ?) AS used",
		digestBytes(s.Digests.J), s.ns, s.ns, s.ns, s.ns, s.Decision.Samples).Scan(&there, &last, &oldest)
	if err != nil {
		return err
	}
	if there == 0 || there < s.Decision.Samples {
		return errNoSample
	}
	return s.insertVerdict(t, last.Int64, oldest.Int64)
}

// insertVerdict stores the decision with the ordinal of its last sample and the time of
// its oldest one.
func (s *outcomeRow) insertVerdict(t *store.Tx, last, oldest int64) error {
	result := s.Decision.Result
	return t.Exec(`INSERT INTO verdicts (d, last, ns, level, e, j, verdict, score, samples, body, oldest, created, case_id, parts, commit_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (d, last, ns) DO NOTHING`,
		digestBytes(s.Digests.D), last, s.ns, s.Trust.Level, digestBytes(s.Digests.E), digestBytes(s.Digests.J),
		result.Verdict, result.Score, result.Samples, s.decision, oldest, s.now,
		caseID(s.Trust.Repository, s.Case), s.parts, s.Commit)
}
