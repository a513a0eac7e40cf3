package ledger

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// leaseEpochs takes leases. It draws their epochs in advance: a stored lease whose
// connection was lost is recognized by its epoch. Its zero value is ready, and safe for
// concurrent use.
type leaseEpochs struct {
	mu   sync.Mutex
	left []int64 // guarded by mu
}

// Acquire stores a lease if its digest has none, expired or not.
func (e *leaseEpochs) Acquire(ctx context.Context, s *store.Store, x *Lease, judgement string) (err error) {
	if x.epoch, err = e.draw(ctx, s); err != nil {
		return err
	}
	var taken bool
	// The second statement sees what was stored before the first.
	err = s.Single(ctx, store.Alongside, store.Statement{Text: `WITH own AS (
			INSERT INTO leases (epoch, digest, ns, owner, until) SELECT ?5, ?1, ?2, ?3, ?4
			WHERE NOT EXISTS (SELECT 1 FROM leases WHERE digest = ?1 AND ns IN ('', ?2))
			ON CONFLICT (epoch) DO UPDATE SET until = excluded.until RETURNING epoch
		)
		SELECT EXISTS (SELECT 1 FROM own) OR EXISTS (SELECT 1 FROM leases WHERE epoch = ?5)`,
		Args: []any{digestBytes(x.digest), x.handle.trust.namespace(), x.handle.run, x.handle.ledger.soon(), x.epoch}, Into: []any{&taken},
	}, store.Statement{Text: unused, Args: []any{digestBytes(x.digest), digestBytes(judgement)}, Into: []any{&x.blank}})
	if err == nil && !taken {
		err = store.ErrRefused
	}
	return err
}

// draw returns an epoch that no other lease has.
func (e *leaseEpochs) draw(ctx context.Context, s *store.Store) (int64, error) {
	const atOnce = 100
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.left) == 0 {
		err := s.Single(ctx, store.Alongside, store.Statement{
			Text: "SELECT array_agg(nextval(pg_get_serial_sequence('leases', 'epoch'))) FROM generate_series(1, ?)", Args: []any{atOnce}, Into: []any{&e.left},
		})
		if err != nil {
			return 0, err
		}
	}
	epoch := e.left[0]
	e.left = e.left[1:]
	return epoch, nil
}

// A callRow is a row of the journal.
type callRow struct {
	Digest         string
	Ordinal, Seq   int
	Namespace      string
	Level, Attempt int
	Role           string
	RequestDigest  string
	Question       any // see questionKey
	Request, Reply []byte
	Created        int64
	Paid           []any // the values of unreportedColumns
}

// Store stores a call, in the place of an earlier one, while the lease is held. If the same
// call is there, its answer was lost, and it was paid for.
func (c callRow) Store(ctx context.Context, s *store.Store, epoch int64) error {
	var held bool
	err := s.Single(ctx, store.Alongside, store.Statement{Text: `WITH held AS (SELECT epoch FROM leases WHERE epoch = ?12 FOR UPDATE), stored AS (
			INSERT INTO calls (digest, ordinal, seq, ns, level, role, attempt, request_digest, request, reply, created, question)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?13 FROM held
			ON CONFLICT (digest, ordinal, seq, ns) DO UPDATE SET level = excluded.level, role = excluded.role,
				attempt = excluded.attempt, request_digest = excluded.request_digest,
				request = excluded.request, reply = excluded.reply, created = excluded.created, question = excluded.question
			WHERE (calls.level, calls.role, calls.attempt, calls.request_digest, calls.request, calls.reply, calls.created, calls.question)
				IS DISTINCT FROM (excluded.level, excluded.role, excluded.attempt, excluded.request_digest,
					excluded.request, excluded.reply, excluded.created, excluded.question)
			RETURNING id
		), paid AS (
			INSERT INTO unreported (` + unreportedColumns + `)
			SELECT ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25 FROM stored WHERE ?14 <> ''` + unreportedAdded + `
		)
		SELECT EXISTS (SELECT 1 FROM held)`,
		Args: append([]any{digestBytes(c.Digest), c.Ordinal, c.Seq, c.Namespace, c.Level, c.Role, c.Attempt, digestBytes(c.RequestDigest), c.Request, c.Reply, c.Created, epoch, c.Question}, c.Paid...),
		Into: []any{&held},
	})
	if err == nil && !held {
		err = store.ErrRefused
	}
	return err
}

// An outcomeChange is the result of a run for a case that is decided.
type outcomeChange struct {
	Epoch          int64 // the epoch of the lease
	E, J, D        string
	Namespace      string
	Level, Purpose int
	Now            int64
	Executions     bodyRows
	Judgements     bodyRows
	Used           int // on how many samples the decision rests
	Verdict        string
	Score          *float64
	Samples        int
	Decision       []byte
	Case, Commit   string
	Parts          []byte
	Unsure         []storedPart     // are stored with it
	Completion     *store.Statement // is run in the same transaction; nil for none
}

// bodyRows are the rows of one table. Durations are the durations of executions.
type bodyRows struct {
	Ordinals  []int64
	Durations []int64
	Bodies    [][]byte
}

// newBodyRows returns rows with bodies, and none of the rest.
func newBodyRows(bodies [][]byte) bodyRows {
	return bodyRows{Ordinals: []int64{}, Durations: []int64{}, Bodies: append([][]byte{}, bodies...)}
}

// Store stores an outcome and ends its lease. It refuses if the lease is lost, or if
// another process was first with a sample or a judgement.
func (o outcomeChange) Store(ctx context.Context, s *store.Store) error {
	var whole int64
	keys, bodies := make([]int64, len(o.Unsure)), make([][]byte, len(o.Unsure))
	for i, p := range o.Unsure {
		keys[i], bodies[i] = p.key, p.body
	}
	statements := []store.Statement{{Text: outcome, Args: []any{
		o.Epoch, uuid.NewString(), digestBytes(o.E), digestBytes(o.J), digestBytes(o.D), o.Namespace, o.Level, o.Now, o.Purpose,
		o.Executions.Ordinals, o.Executions.Durations, o.Executions.Bodies, o.Judgements.Ordinals, o.Judgements.Bodies,
		o.Used, o.Verdict, o.Score, o.Samples, o.Decision, o.Case, o.Parts, o.Commit, keys, bodies,
	}, Into: []any{&whole}}}
	if o.Completion != nil {
		statements = append(statements, *o.Completion)
	}
	return s.Single(ctx, store.Alongside, statements...)
}

// outcome ends the lease, which nobody can take over before the transaction ends, and
// stores all rows or none: if one is missing, its last line is not a number. An
// existing token is found before anything else, since held asks for it first.
const outcome = `WITH fresh AS (INSERT INTO submissions (token) VALUES (?2::uuid) RETURNING token),
	held AS (DELETE FROM leases WHERE epoch = ?1 AND EXISTS (SELECT 1 FROM fresh) RETURNING epoch),
	named AS (
		INSERT INTO parts (key, body, touched) SELECT key, body, ?8::bigint FROM unnest(?23::bigint[], ?24::bytea[]) AS p (key, body) ORDER BY key
		ON CONFLICT (key) DO UPDATE SET touched = excluded.touched
	),
	x AS (SELECT * FROM unnest(?10::bigint[], ?11::bigint[], ?12::bytea[]) AS x (ordinal, duration, body)),
	made AS (
		INSERT INTO samples (e, ordinal, ns, level, duration, created, chosen)
		SELECT ?3::bytea, ordinal, ?6::text, ?7::bigint, duration, ?8::bigint, ?9::bigint FROM x
		ON CONFLICT (e, ordinal, ns) DO NOTHING RETURNING id, ordinal
	),
	transcribed AS (INSERT INTO transcripts (sample, body) SELECT made.id, x.body FROM made JOIN x USING (ordinal)),
	y AS (SELECT * FROM unnest(?13::bigint[], ?14::bytea[]) AS y (ordinal, body)),
	placed AS (
		SELECT made.id, ordinal, ?8::bigint AS created, y.body FROM y JOIN made USING (ordinal)
		UNION ALL
		SELECT old.id, y.ordinal, old.created, y.body FROM y CROSS JOIN LATERAL (
			SELECT s.id, s.created FROM samples s WHERE s.e = ?3::bytea AND s.ordinal = y.ordinal AND s.ns IN ('', ?6::text) ORDER BY s.ns DESC LIMIT 1
		) AS old WHERE y.ordinal <> ALL (?10::bigint[])
	),
	judged AS (
		INSERT INTO judgements (j, sample, ns, level, body, created) SELECT ?4::bytea, id, ?6::text, ?7::bigint, body, ?8::bigint FROM placed
		ON CONFLICT (j, sample, ns) DO NOTHING RETURNING sample
	),
	used AS (
		SELECT DISTINCT ordinal, created FROM (
			SELECT ordinal, created FROM placed
			UNION ALL
			SELECT s.ordinal, s.created FROM judgements j JOIN samples s ON s.id = j.sample
			WHERE j.j = ?4::bytea AND j.ns IN ('', ?6::text) AND s.ns IN ('', ?6::text) AND s.ordinal <> ALL (?10::bigint[]) AND (s.ns = ?6::text OR NOT EXISTS
				(SELECT 1 FROM samples own WHERE own.e = s.e AND own.ordinal = s.ordinal AND own.ns = ?6::text))
		) AS both_of ORDER BY ordinal DESC LIMIT ?15::bigint
	),
	decided AS (
		INSERT INTO verdicts (d, last, ns, level, e, j, verdict, score, samples, body, oldest, created, case_id, parts, commit_id)
		SELECT ?5::bytea, max(ordinal), ?6::text, ?7::bigint, ?3::bytea, ?4::bytea, ?16, ?17::double precision, ?18::bigint, ?19::bytea, min(created), ?8::bigint, ?20, ?21::bytea, ?22 FROM used
		ON CONFLICT (d, last, ns) DO NOTHING
	)
	SELECT CAST(CASE WHEN NOT EXISTS (SELECT 1 FROM held) THEN 'refused'
		WHEN (SELECT count(*) FROM made) = cardinality(?10::bigint[])
		AND (SELECT count(*) FROM judged) = cardinality(?13::bigint[])
		AND (SELECT count(*) FROM used) = ?15::bigint THEN '1' ELSE 'refused' END AS BIGINT)`
