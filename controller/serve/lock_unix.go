//go:build unix

package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// ErrLocked means that another server has the ledger.
var ErrLocked = errors.New("another gavel serve uses this ledger; end that one, or give this one a ledger of its own")

// Lock takes a ledger for one server, as long as the process lives or until release.
// Other commands may still use it.
func Lock(ledgerFile string) (release func() error, err error) {
	if err := safefile.MkdirAll(filepath.Dir(ledgerFile), 0o700); err != nil {
		return nil, fmt.Errorf("lock the ledger: %w", err)
	}
	f, err := safefile.OpenFile(ledgerFile+"-server", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the ledger: %w", err)
	}
	// The kernel drops the lock with the process, however that ends.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", ledgerFile, err), f.Close())
	}
	return f.Close, nil
}

// Locked reports whether another server has a ledger. It writes nothing.
func Locked(ledgerFile string) bool {
	f, err := os.Open(ledgerFile + "-server")
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// mayWrite asks the system whether this user may write a file or a folder.
func mayWrite(path string) error {
	mode := uint32(unix.R_OK | unix.W_OK)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		mode |= unix.X_OK
	}
	if err := unix.Access(path, mode); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
