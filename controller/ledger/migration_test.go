package ledger_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// sumOf returns the bytes of a digest.
func sumOf(digest string) []byte {
	sum, err := hex.DecodeString(digest)
	if err != nil {
		panic(err)
	}
	return sum
}

// oldEntries are rows as earlier versions of the tables had them: in the first three, digests
// were texts. The lease has ended, and an epoch after it was given.
func oldEntries(version int, d plan.Digests) []string {
	sum := func(digest string) string {
		if version > 3 {
			return "unhex('" + digest + "')"
		}
		return "'" + digest + "'"
	}
	blob := func(text string) string { return "CAST('" + text + "' AS BLOB)" }
	const passed = `{"result":{"verdict":"pass","score":1,"samples":1},"usage":{"calls":1},"duration_ns":5,"samples":1}`
	judged := `{"sample":{"ordinal":0,"measurements":[]},"usage":{"calls":0}}`
	entries := []string{
		fmt.Sprintf("INSERT INTO samples (id, e, ordinal, ns, level, duration, created) VALUES (7, %s, 0, '', 3, 5, 1000)", sum(d.E)),
		"INSERT INTO transcripts (sample, body) VALUES (7, " + blob(`{"messages":[{"role":"assistant","content":"yes"}]}`) + ")",
		fmt.Sprintf("INSERT INTO judgements (id, j, sample, ns, level, body, created) VALUES (3, %s, 7, '', 3, %s, 1000)", sum(d.J), blob(judged)),
		fmt.Sprintf(`INSERT INTO verdicts (id, d, last, ns, level, e, j, verdict, score, samples, body, oldest, created, case_id)
			VALUES (4, %s, 0, '', 3, %s, %s, 'pass', 1, 1, %s, 1000, 1000, 'case')`, sum(d.D), sum(d.E), sum(d.J), blob(passed)),
		fmt.Sprintf(`INSERT INTO calls (id, digest, ordinal, seq, ns, level, role, attempt, request_digest, request, reply, created)
			VALUES (9, %s, 0, 0, '', 3, 'target', 0, %s, %s, %s, 1000)`, sum(d.E), sum(d.J), blob(`{"ask":1}`), blob(`{"say":2}`)),
		fmt.Sprintf("INSERT INTO leases (epoch, digest, ns, owner, until) VALUES (5, %s, '', 'gone', 1)", sum(d.E)),
		"INSERT INTO claims (seq, epoch, account, calls, tokens, usd) VALUES (1, 5, 'day', 1, 2, 3)",
		fmt.Sprintf("INSERT INTO wanted (run, digest) VALUES ('gone', %s)", sum(d.E)),
		fmt.Sprintf("INSERT INTO histories (j, since) VALUES (%s, 2000)", sum(d.J)),
	}
	if version > 1 {
		entries = append(entries, fmt.Sprintf("INSERT INTO failures (e, ns, source, symptom, retry, created) VALUES (%s, '', 'bot', 's', 1, 1000)", sum(d.E)))
	}
	return entries
}

// oldLedger makes a ledger as the program with a number of scripts did.
func oldLedger(t *testing.T, driver, path string, version int, d plan.Digests) {
	t.Helper()
	folder, numbered := "migrations", "UPDATE sqlite_sequence SET seq = 40 WHERE name = 'leases'"
	mark := []string{fmt.Sprintf("PRAGMA application_id = %d", 0x6761766c), fmt.Sprintf("PRAGMA user_version = %d", version)}
	if driver == "pgx" {
		folder, numbered = "postgres/migrations", "SELECT setval(pg_get_serial_sequence('leases', 'epoch'), 40)"
		mark = []string{"CREATE TABLE ledger_version (version BIGINT NOT NULL)", fmt.Sprintf("INSERT INTO ledger_version VALUES (%d)", version)}
	}
	db, err := sql.Open(driver, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // what follows reads it
	scripts, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.sql"))
	if err != nil || len(scripts) < version {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	slices.Sort(scripts)
	var texts []string
	for _, name := range scripts[:version] {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range slices.Concat(texts, oldEntries(version, d), []string{numbered}, mark) {
		if driver == "pgx" {
			text = postgresBytes.Replace(text)
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

// postgresBytes writes the bytes of a text as PostgreSQL reads them.
var postgresBytes = strings.NewReplacer("CAST('", "convert_to('", "' AS BLOB)", "', 'UTF8')")

// TestAnOlderLedger gets the tables that it lacks when it is opened, and what it has is
// found under the same digests.
func TestAnOlderLedger(t *testing.T) {
	for version := 1; version <= 4; version++ {
		for driver, path := range map[string]string{"sqlite": filepath.Join(t.TempDir(), "ledger.db"), "pgx": postgrestest.URL(t)} {
			t.Run(fmt.Sprintf("%s %d", driver, version), func(t *testing.T) {
				d := digestsOf("case")
				oldLedger(t, driver, path, version, d)
				l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close() //nolint:errcheck // nothing is written after
				scope := ledger.Scope{Trust: base}
				decided, err := l.Decided(t.Context(), scope, []string{d.D})
				if err != nil || decided[d.D] == nil || decided[d.D].E != d.E || decided[d.D].J != d.J {
					t.Fatalf("decided %+v, %v", decided[d.D], err)
				}
				stored, err := ledger.LoadCase(t.Context(), l, scope, d.E, d.J)
				if err != nil || len(stored.Executions) != 1 || len(stored.Judgements) != 1 || stored.Executions[0].Transcript.LastReply().Content != "yes" {
					t.Errorf("stored %+v, %v", stored, err)
				}
				calls, err := l.Calls(t.Context(), scope, d.E, 0)
				if err != nil || len(calls) != 1 || calls[0].RequestDigest != d.J || string(calls[0].Reply) != `{"say":2}` {
					t.Errorf("calls %+v, %v", calls, err)
				}
				if _, found, err := l.Answer(t.Context(), scope, "question", d.J); found || err != nil {
					t.Errorf("a call of which no question is known is an answer (%v)", err)
				}
				begun, err := ledger.HistoriesBegun(t.Context(), l, []string{d.J})
				if diff := cmp.Diff(map[string][]time.Time{d.J: {time.UnixMilli(2000).UTC()}}, begun); diff != "" || err != nil {
					t.Errorf("histories began %v (-want +got):\n%s", err, diff)
				}
				if v, err := l.Verify(t.Context(), func(string, []verdict.Sample) (verdict.Result, bool) { return verdict.Result{}, false }); err != nil || v.Verdicts != 1 || len(v.Faults) > 0 {
					t.Errorf("verified %+v, %v", v, err)
				}
				epochs := leaseEpochsOf(t, l, path, d.E)
				if len(epochs) != 1 || epochs[0] <= 40 {
					t.Errorf("the next lease has the epochs %v, want one above 40, the last that was given", epochs)
				}
				failures := []ledger.Failure{{E: d.E, Source: "bot", Symptom: "s", At: epoch.UTC()}}
				if err := l.SaveFailure(t.Context(), base, failures[0]); err != nil {
					t.Fatal(err)
				}
				if version > 1 {
					failures = slices.Insert(failures, 0, ledger.Failure{E: d.E, Source: "bot", Symptom: "s", Retry: true, At: time.UnixMilli(1000).UTC()})
				}
				found, err := l.Failures(t.Context(), scope, []string{d.E})
				if diff := cmp.Diff(failures, found[d.E]); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// leaseEpochsOf takes the lease on a digest, next to another process, and returns the epochs
// of the leases on it.
func leaseEpochsOf(t *testing.T, l *ledger.Ledger, path, digest string) (epochs []int64) {
	t.Helper()
	(&fixture{t: t, Ledger: open(t, path)}).want(base)
	run, err := l.BeginRun(t.Context(), base, []string{digest})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the ledger is closed next
	if _, err := run.Lease(t.Context(), digest, ""); err != nil {
		t.Fatal(err)
	}
	err = l.Store().Each(t.Context(), func(rows *sql.Rows) error {
		var epoch int64
		err := rows.Scan(&epoch)
		epochs = append(epochs, epoch)
		return err
	}, "SELECT epoch FROM leases WHERE digest = ?", sumOf(digest))
	if err != nil {
		t.Fatal(err)
	}
	return epochs
}
