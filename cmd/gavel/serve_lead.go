package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/run"
)

var errLeadLost = fmt.Errorf("the connection to the database was lost, and another controller may lead: %w", run.ErrHandedOver)

// lead serves with a database while no other controller does, and waits while one does,
// until ctx is cancelled.
func (s *server) lead(ctx context.Context) error {
	for {
		var lead *postgres.Lead
		answering := func() {}
		err := postgres.Patiently(ctx, patience, Away(s.log, patience, func() (err error) {
			lead, err = postgres.TakeLead(ctx, s.database, func() {
				answering = s.standby()
			})
			return err
		}))
		answering() // before this controller listens itself
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		err = s.while(ctx, lead)
		if !errors.Is(err, errLeadLost) {
			return err
		}
		s.log.Error().Msg(errLeadLost.Error())
	}
}

var errWaits = errors.New("another controller leads")

// standby serves health checks for a waiting controller: it is alive, but not ready.
// The caller calls end.
func (s *server) standby() (end func()) {
	line := s.log.Info()
	at, end, err := serveHealth(cmp.Or(s.operator.File.Probes, s.operator.File.Listen), func() error { return errWaits })
	if err != nil { // for example if the leading controller is on this machine
		end = func() {}
	} else {
		line = line.Str("listen", at.String())
	}
	line.Msg("another controller leads; this one waits")
	return end
}

// while serves while this controller leads.
func (s *server) while(ctx context.Context, lead *postgres.Lead) error {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-lead.Lost():
			end(errLeadLost)
		case <-inner.Done():
		}
	}()
	logClock(inner, s.log, s.database)
	err := s.serveLedger(inner, ledger.Config{Path: s.database})
	if gave := lead.GiveUp(); context.Cause(inner) == nil || ctx.Err() != nil {
		err = errors.Join(err, gave)
	}
	if ctx.Err() == nil && errors.Is(context.Cause(inner), errLeadLost) {
		return errLeadLost
	}
	return err
}
