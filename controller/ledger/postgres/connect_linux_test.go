package postgres

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// TestConnectionsNoticeAMachineThatIsGone: both sides of a connection over TCP know
// when to give up the other one.
func TestConnectionsNoticeAMachineThatIsGone(t *testing.T) {
	server := postgrestest.Start(t)
	pool, err := Pool(t.Context(), server.Proxy(t).URL(t, server.URL(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	raw, err := conn.Conn().PgConn().Conn().(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (value int) {
		if controlled := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, name) }); controlled != nil || err != nil {
			t.Fatal(controlled, err)
		}
		return value
	}
	for _, tt := range []struct {
		name          string
		level, option int
		want          int
	}{
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
		{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
		{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30000},
	} {
		if got := option(tt.level, tt.option); got != tt.want {
			t.Errorf("%s is %d, want %d", tt.name, got, tt.want)
		}
	}
	var source string
	// The server has no socket over TCP here, so it stores the setting and does not
	// apply it.
	err = conn.QueryRow(t.Context(), "SELECT source FROM pg_settings WHERE name = 'tcp_user_timeout'").Scan(&source)
	if err != nil || source != "client" {
		t.Errorf("the server has its tcp_user_timeout from %q: %v", source, err)
	}
	var frozen string
	if err := conn.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&frozen); err != nil || frozen != "5s" {
		t.Errorf("an idle transaction ends after %q, want 5s: %v", frozen, err)
	}
}
