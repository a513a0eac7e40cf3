package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// Both sides notice within half a minute that the other machine has disappeared: on
	// a silent connection, after keepIdle and keepCount tries every keepEvery, and with
	// unconfirmed data, after unconfirmed.
	keepIdle, keepEvery = 15 * time.Second, 5 * time.Second
	keepCount           = 3
	unconfirmed         = 30 * time.Second
	// briefly is after how long the server ends a silent transaction of the queue: all
	// workers wait for its locks.
	briefly = 5 * time.Second
)

// session sets parameters of a connection's session that the address does not name,
// including the schema of the tables, and makes both sides notice that the other one is
// gone.
func session(parsed *pgx.ConnConfig, parameters map[string]string) {
	all := map[string]string{
		"application_name":        "gavel",
		"search_path":             Schema + ", public",
		"tcp_keepalives_idle":     seconds(keepIdle),
		"tcp_keepalives_interval": seconds(keepEvery),
		"tcp_keepalives_count":    fmt.Sprint(keepCount),
		"tcp_user_timeout":        fmt.Sprint(unconfirmed.Milliseconds()),
	}
	maps.Copy(all, parameters)
	for name, value := range all {
		if _, given := parsed.RuntimeParams[name]; !given {
			parsed.RuntimeParams[name] = value
		}
	}
	if parsed.ConnectTimeout == 0 {
		parsed.ConnectTimeout = 10 * time.Second
	}
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepEvery, Count: keepCount}, Control: limitUnconfirmed,
	}
	parsed.DialFunc = dialer.DialContext
}

func seconds(d time.Duration) string { return fmt.Sprint(int(d.Seconds())) }

// Pool opens connections for a queue. A process that disappears in the middle of a
// transaction delays others only for some seconds. It returns the errors of [CheckURL].
func Pool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	if err := CheckURL(url); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	session(cfg.ConnConfig, map[string]string{"idle_in_transaction_session_timeout": fmt.Sprint(briefly.Milliseconds())})
	return pgxpool.NewWithConfig(ctx, cfg)
}
