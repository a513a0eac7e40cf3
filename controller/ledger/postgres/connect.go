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
	// A machine that is gone without a word is noticed in half a minute, by both sides:
	// where nothing is said, after keepIdle and keepCount tries every keepEvery, and
	// where something is not confirmed, after unconfirmed.
	keepIdle, keepEvery = 15 * time.Second, 5 * time.Second
	keepCount           = 3
	unconfirmed         = 30 * time.Second
	// briefly is after how long the server ends a transaction of the queue in which
	// nothing is said: what it locks is what all workers wait for.
	briefly = 5 * time.Second
)

// session sets parameters of a connection's session that the address does not name, the
// schema of the tables among them, and has both sides notice that the other one is gone.
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

// Pool opens connections for a queue. A process that is gone without a word in the middle
// of a transaction holds nobody up for longer than some seconds. The error is that of an
// address that cannot be read, and may quote its password.
func Pool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	session(cfg.ConnConfig, map[string]string{"idle_in_transaction_session_timeout": fmt.Sprint(briefly.Milliseconds())})
	return pgxpool.NewWithConfig(ctx, cfg)
}
