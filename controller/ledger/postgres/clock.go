package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// Ahead returns how far a clock is ahead of a database's, below 0 if it is behind. It is 0
// if the difference is within the time that the database took to answer.
func Ahead(ctx context.Context, url string, now func() time.Time) (ahead time.Duration, err error) {
	parsed, err := parse(Config{URL: url})
	if err != nil {
		return 0, err
	}
	db := stdlib.OpenDB(*parsed)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, Brief(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var there time.Time
	before := now()
	if err := conn.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
		return 0, Brief(err)
	}
	switch after := now(); {
	case before.After(there):
		return before.Sub(there), nil
	case after.Before(there):
		return after.Sub(there), nil
	}
	return 0, nil
}
