package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// leading is the lock of the leader. The server drops it with the leader's session, and
// ends a session that is silent for silence: a machine that has disappeared leads no
// longer than this.
const (
	leading = 0x6761766c02
	silence = 8 * time.Second
	beat    = 2 * time.Second
)

// A Lead is the right to be the one controller of a database.
type Lead struct {
	conn *pgx.Conn
	lost chan struct{}
	end  context.CancelFunc
	done chan struct{}
}

// TakeLead waits until no other process leads the processes of the database, and then
// leads. waiting is called once if another one does. It returns the error of ctx and,
// before the first connection, an error if the server cannot be reached.
func TakeLead(ctx context.Context, url string, waiting func()) (*Lead, error) {
	var conn *pgx.Conn
	for said := false; ; {
		var err error
		if conn == nil {
			if conn, err = leader(ctx, url); err != nil && !said {
				return nil, fmt.Errorf("lead the processes of %s: %w", Redacted(url), Brief(err))
			}
		}
		taken := false
		if conn != nil {
			if err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(leading)).Scan(&taken); err != nil {
				_ = conn.Close(ctx) // the next turn connects again
				conn = nil
			}
		}
		if taken {
			return keepLead(conn), nil
		}
		if !said && err == nil {
			said = true
			waiting()
		}
		select {
		case <-ctx.Done():
			if conn != nil {
				_ = conn.Close(context.WithoutCancel(ctx)) // ctx has the reason
			}
			return nil, ctx.Err()
		case <-time.After(beat / 2):
		}
	}
}

// leader opens a separate connection, whose silence the server notices.
func leader(ctx context.Context, url string) (*pgx.Conn, error) {
	parsed, err := parse(Config{URL: url, Wait: time.Second})
	if err != nil {
		return nil, err
	}
	parsed.RuntimeParams["idle_session_timeout"] = fmt.Sprint(silence.Milliseconds())
	return pgx.ConnectConfig(ctx, parsed)
}

// keepLead holds the lock until it is lost or given up.
func keepLead(conn *pgx.Conn) *Lead {
	ctx, end := context.WithCancel(context.Background())
	l := &Lead{conn: conn, lost: make(chan struct{}), end: end, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(beat):
			}
			asking, stop := context.WithTimeout(ctx, silence/2)
			_, err := conn.Exec(asking, "SELECT 1")
			stop()
			if err != nil && ctx.Err() == nil {
				close(l.lost)
				return
			}
		}
	}()
	return l
}

// Lost is closed when the connection was lost, and with it the lead: another process may
// lead from then on.
func (l *Lead) Lost() <-chan struct{} { return l.lost }

// GiveUp lets another process lead. It may be called once.
func (l *Lead) GiveUp() error {
	l.end()
	<-l.done
	ctx, stop := context.WithTimeout(context.Background(), silence/2)
	defer stop()
	return l.conn.Close(ctx)
}
