package postgres

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnconfirmed has a connection end where the other side does not confirm what is
// sent, as a machine that is gone. By itself the system sends again for a quarter of an
// hour.
func limitUnconfirmed(network, _ string, conn syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var set error
	err := conn.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unconfirmed.Milliseconds()))
	})
	return errors.Join(err, set)
}
