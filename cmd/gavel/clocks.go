package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

// mostApart is how far the clock of a machine may be from its database's. Leases last ten
// seconds by the clocks of two machines.
const mostApart = 3 * time.Second

// clockProblem says that a clock is too far ahead of its database's, or behind it; empty if it
// is not.
func clockProblem(ahead time.Duration) string {
	direction := "ahead of"
	if ahead < 0 {
		ahead, direction = -ahead, "behind"
	}
	if ahead <= mostApart {
		return ""
	}
	return fmt.Sprintf("it is %v %s the database's, and leases end by the clocks: servers and workers take cases from each other, and agents are asked twice; synchronize the clocks, as with NTP",
		ahead.Round(time.Second), direction)
}

// logClock warns of a clock that is too far from the database's.
func logClock(ctx context.Context, log zerolog.Logger, url string) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	ahead, err := postgres.Ahead(ctx, url, time.Now)
	if problem := clockProblem(ahead); err == nil && problem != "" {
		log.Warn().Msg("the clock: " + problem)
	}
}
