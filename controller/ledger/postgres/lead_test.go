package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// TestOneLeads: of two that ask for the lead one waits, until the other gives it up or
// loses its connection.
func TestOneLeads(t *testing.T) {
	url := postgrestest.URL(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first, err := postgres.TakeLead(ctx, url, func() { t.Error("the first one waits") })
	if err != nil {
		t.Fatal(err)
	}
	take := func() (<-chan struct{}, <-chan *postgres.Lead) {
		waits, leads := make(chan struct{}), make(chan *postgres.Lead)
		go func() {
			l, err := postgres.TakeLead(ctx, url, func() { close(waits) })
			if err != nil {
				t.Error(err)
			}
			leads <- l
		}()
		return waits, leads
	}
	waits, leads := take()
	<-waits
	select {
	case <-leads:
		t.Fatal("two lead at once")
	case <-first.Lost():
		t.Fatal("the first one lost the lead")
	default:
	}
	if err := first.GiveUp(); err != nil {
		t.Error(err)
	}
	second := <-leads

	waits, leads = take()
	<-waits
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	<-second.Lost()
	if err := (<-leads).GiveUp(); err != nil {
		t.Error(err)
	}
	_ = second.GiveUp() // its connection is gone
}

// TestALeadThatCannotBeTaken says so, without the password.
func TestALeadThatCannotBeTaken(t *testing.T) {
	if _, err := postgres.TakeLead(t.Context(), "postgres://ada:hunter2@127.0.0.1:9/gavel?connect_timeout=1", nil); err == nil {
		t.Error("a server that does not listen gives the lead")
	}
	ctx, cancel := context.WithCancel(t.Context())
	url := postgrestest.URL(t)
	held, err := postgres.TakeLead(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.GiveUp() }()
	if _, err := postgres.TakeLead(ctx, url, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is broken off ends with %v", err)
	}
}
