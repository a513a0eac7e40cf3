package sqlexec

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/schema"
)

// QueryWithin is Query with another bound on the time of the statement.
func QueryWithin(ctx context.Context, files []schema.File, statement string, within time.Duration) (Result, error) {
	return ask(ctx, request{files, statement, within})
}
