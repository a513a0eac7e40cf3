package main

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

// Away wraps do for callers that retry while a database is unreachable, for at most
// wait: from the second call on it logs the error.
func Away(log zerolog.Logger, wait time.Duration, do func() error) func() error {
	var last error
	said := false
	return func() error {
		if last != nil && !said {
			said = true
			log.Warn().AnErr("err", postgres.Brief(last)).Msgf("the database cannot be reached; waiting up to %v", wait)
		}
		last = do()
		return last
	}
}
