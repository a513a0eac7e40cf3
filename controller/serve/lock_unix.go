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

// Lockable reports, without writing anything, why a server could not take a ledger; nil if
// it could, or another one has it.
func Lockable(ledgerFile string) error {
	name := ledgerFile + "-server"
	mode := uint32(unix.R_OK | unix.W_OK)
	for {
		err := unix.Access(name, mode)
		parent := filepath.Dir(name)
		if !errors.Is(err, unix.ENOENT) || parent == name {
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return err
		}
		name, mode = parent, unix.W_OK|unix.X_OK
	}
}
