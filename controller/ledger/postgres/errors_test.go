package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

func fault(code, constraint string) error {
	return fmt.Errorf("change: %w", &pgconn.PgError{Code: code, ConstraintName: constraint})
}

// TestErrorsThatPass: by their codes, which ones are waited out, and which ones a change is
// made again after.
func TestErrorsThatPass(t *testing.T) {
	for _, tt := range []struct {
		what, code      string
		lost, transient bool
	}{
		{"a refused serialization", "40001", false, true},
		{"a deadlock", "40P01", false, true},
		{"a server that is stopped by its operator", "57P01", true, true},
		{"a server that crashed", "57P02", true, true},
		{"a server that starts", "57P03", true, true},
		{"a transaction that was idle for too long", "25P03", true, true},
		{"too many connections", "53300", true, true},
		{"a connection that failed", "08000", true, true},
		{"a connection that is not there", "08003", true, true},
		{"a connection that broke", "08006", true, true},
		{"a statement that was cancelled", "57014", false, false},
		{"a full disk", "53100", false, false},
		{"a duplicate", "23505", false, false},
		{"a syntax error", "42601", false, false},
	} {
		err := fault(tt.code, "")
		if got := isLost(err); got != tt.lost {
			t.Errorf("%s (%s) is waited out: %v, want %v", tt.what, tt.code, got, tt.lost)
		}
		if got := isTransient(err); got != tt.transient {
			t.Errorf("a change is made again after %s (%s): %v, want %v", tt.what, tt.code, got, tt.transient)
		}
	}
}

// TestAChangeIsMadeAgain after an error that passes, until it succeeds, and not after one
// that does not pass.
func TestAChangeIsMadeAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		errors []error
		calls  int
		code   string
	}{
		{"two deadlocks", []error{fault("40P01", ""), fault("40P01", ""), nil}, 3, ""},
		{"a serialization", []error{fault("40001", ""), nil}, 2, ""},
		{"a restart", []error{fault("57P01", ""), fault("57P03", ""), nil}, 3, ""},
		{"a full server", []error{fault("53300", ""), nil}, 2, ""},
		{"a duplicate", []error{fault("23505", ""), nil}, 1, "23505"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &engine{wait: time.Minute, places: make(chan struct{}, 1)}
			calls := 0
			err := e.change(t.Context(), func(context.Context) error { calls++; return tt.errors[calls-1] })
			var failed *pgconn.PgError
			if errors.As(err, &failed) != (tt.code != "") || failed != nil && failed.Code != tt.code || calls != tt.calls {
				t.Errorf("%d calls, %v, want %d and the code %q", calls, err, tt.calls, tt.code)
			}
			if len(e.places) != 0 {
				t.Error("the place is not given back")
			}
		})
	}
}

// TestWhatADuplicateMeans: a duplicate token means that the change was made before, and
// any other duplicate row refuses it.
func TestWhatADuplicateMeans(t *testing.T) {
	if err := singly(fault(duplicate, "submissions_pkey")); err != nil {
		t.Errorf("a token that is there: %v, want that the change was made", err)
	}
	if err := singly(nil); err != nil {
		t.Errorf("no error: %v", err)
	}
	for _, err := range []error{
		fault(duplicate, "verdicts_pkey"), fault(duplicate, ""), fault("22P02", ""), fault("23502", ""), fault("23503", ""), fault("23503", "submissions_pkey"), fault("42501", ""),
	} {
		if got := singly(err); !errors.Is(got, store.ErrRefused) {
			t.Errorf("%v: %v, want a refusal", err, got)
		}
	}
	for _, code := range []string{"40001", "57P01", "42601"} {
		if got := singly(fault(code, "submissions_pkey")); got == nil || errors.Is(got, store.ErrRefused) {
			t.Errorf("%s: %v, want the error itself", code, got)
		}
	}
}

// TestHints holds what each error of a database tells people to do.
func TestHints(t *testing.T) {
	const stopped = "PostgreSQL is busy or is being stopped: run again; finished results are kept"
	for _, tt := range []struct {
		err  error
		want string
	}{
		{store.ErrNewer, "update gavel"},
		{io.ErrUnexpectedEOF, "PostgreSQL cannot be reached: once it can, run again; finished results are kept"},
		{fault("28P01", ""), "the user or the password in the address is not the one that PostgreSQL has"},
		{fault("28000", ""), "the user or the password in the address is not the one that PostgreSQL has"},
		{fault("3D000", ""), "make the database: createdb NAME"},
		{fault("42501", ""), "give the role the right to make and use tables: GRANT CREATE ON DATABASE … TO …"},
		{fault("42601", ""), ""},
		{fault("53100", ""), "PostgreSQL has no room or no connections left: once it has, run again; finished results are kept"},
		{fault("53300", ""), "PostgreSQL has no room or no connections left: once it has, run again; finished results are kept"},
		{fault("55P03", ""), stopped},
		{fault("57P01", ""), stopped},
		{fault("23505", ""), ""},
		{errors.New("something else"), ""},
	} {
		if got := (&engine{}).Hint(tt.err); got != tt.want {
			t.Errorf("of %v the hint is %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestAListOfSQLite is one of PostgreSQL, whatever is in its brackets.
func TestAListOfSQLite(t *testing.T) {
	for _, tt := range []struct{ from, to string }{
		{"SELECT json_group_array(id) FROM t", "SELECT coalesce(json_agg(id)::text, '[]') FROM t"},
		{"SELECT json_group_array(DISTINCT max(a, (b + c))), count(*) FROM t", "SELECT coalesce(json_agg(DISTINCT max(a, (b + c)))::text, '[]'), count(*) FROM t"},
		{
			"SELECT json_group_array(a), (SELECT json_group_array(upper(b)) FROM u) FROM t",
			"SELECT coalesce(json_agg(a)::text, '[]'), (SELECT coalesce(json_agg(upper(b))::text, '[]') FROM u) FROM t",
		},
	} {
		if got := translate(tt.from).text; got != tt.to {
			t.Errorf("%s becomes\n%s, want\n%s", tt.from, got, tt.to)
		}
	}
}

// TestADatabaseThatIsMissing is an error that says how to make it, and has no part of the
// address that is a secret.
func TestADatabaseThatIsMissing(t *testing.T) {
	u, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path, u.User = "/nowhere", url.UserPassword("postgres", "hidden-word")
	_, err = Open(t.Context(), Config{URL: u.String()})
	if err == nil || !strings.Contains(err.Error(), "make the database: createdb NAME") || strings.Contains(err.Error(), "hidden-word") {
		t.Errorf("the error is %v, want one that says to make the database", err)
	}
	if _, err = Pending(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(), "make the database: createdb NAME") {
		t.Errorf("the error of a check is %v, want one that says to make the database", err)
	}
}

// TestTheAnswerComesFirst: the server's reason to refuse a connection comes before the tries to
// reach it.
func TestTheAnswerComesFirst(t *testing.T) {
	address, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.User("nobody_at_all")
	_, err = Open(t.Context(), Config{URL: address.String()})
	if err == nil {
		t.Fatal("a role that does not exist is let in")
	}
	text := err.Error()
	answer, tries := strings.Index(text, `role "nobody_at_all" does not exist`), strings.Index(text, "failed to connect")
	if answer < 0 || tries >= 0 && tries < answer {
		t.Errorf("the error is %s", text)
	}
}
