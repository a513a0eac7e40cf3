package main

import (
	"time"

	"github.com/rs/zerolog"
)

// Away returns do for those who call it again while a database cannot be reached, for
// at most as long as wait: the log says so, with the error, when it is called a second
// time.
func Away(log zerolog.Logger, wait time.Duration, do func() error) func() error {
	var last error
	said := false
	return func() error {
		if last != nil && !said {
			said = true
			log.Warn().AnErr("err", last).Msgf("the database cannot be reached; waiting up to %v", wait)
		}
		last = do()
		return last
	}
}
