package maintenance

import (
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// Limits are the requested limits of a ledger, as written on a command line.
type Limits struct {
	// MaxAge and MaxBytes are 0 and empty for no limit.
	MaxAge   time.Duration
	MaxBytes string
	// Closed are pull requests such as octo/demo#7.
	Closed []string
	DryRun bool
}

// Collection parses the limits at a time. Errors name the flag and the repair.
func (f Limits) Collection(now time.Time) (ledger.Collection, error) {
	c := ledger.Collection{DryRun: f.DryRun}
	if f.MaxAge <= 0 && f.MaxBytes == "" {
		return c, errors.New("give --max-age, such as 90d, or --max-bytes, such as 500MB")
	}
	if f.MaxAge > 0 {
		c.Before = now.Add(-f.MaxAge)
	}
	if f.MaxBytes != "" {
		if f.DryRun {
			return c, errors.New("--dry-run lists only what is removed for its age: leave out --max-bytes")
		}
		var err error
		if c.MaxBytes, err = ParseBytes(f.MaxBytes); err != nil {
			return c, fmt.Errorf("--max-bytes %w", err)
		}
	}
	for _, text := range f.Closed {
		t, err := ParsePull(text)
		if err != nil {
			return c, fmt.Errorf("--closed %w", err)
		}
		c.Closed = append(c.Closed, t)
	}
	return c, nil
}
