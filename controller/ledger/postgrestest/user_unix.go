//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// lower makes root run a program as the user postgres: PostgreSQL refuses root. The
// program is not in the group of processes that a terminal interrupts.
func lower(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	uid, gid, err := owner()
	if err == nil && uid >= 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return err
}

// give gives a folder to the user of the server.
func give(dir string) error {
	uid, gid, err := owner()
	if err != nil || uid < 0 {
		return err
	}
	return os.Chown(dir, uid, gid)
}

// owner returns the user of the server, -1 for the user who runs the test.
func owner() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return -1, -1, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, fmt.Errorf("%w, for root cannot run it: %w", ErrMissing, err)
	}
	if uid, err = strconv.Atoi(who.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(who.Gid)
	return uid, gid, err
}
