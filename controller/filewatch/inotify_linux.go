package filewatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// interest are the reported events: all that change a name, its content or its mode.
const interest = syscall.IN_CREATE | syscall.IN_MODIFY | syscall.IN_ATTRIB | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO |
	syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR | syscall.IN_DONT_FOLLOW

const (
	// comings add or remove a name.
	comings = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO
	// endings end the watch of a folder, or say that events are missing.
	endings = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_IGNORED | syscall.IN_UNMOUNT | syscall.IN_Q_OVERFLOW
)

// reporting are the types of file systems that only this machine changes, so that the
// kernel reports every change: ext, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs, bcachefs,
// ramfs.
var reporting = map[uint32]bool{
	0xef53: true, 0x58465342: true, 0x9123683e: true, 0x01021994: true, 0x794c7630: true, 0x2fc12fc1: true, 0xf2f52010: true, 0xca451a4e: true,
	0x858458f6: true,
}

// inotify is a [queue] of the kernel. Nothing runs between two reads.
type inotify struct{ fd int }

func openQueue() (queue, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	return inotify{fd}, nil
}

func (q inotify) add(folder string) (int, error) {
	var at syscall.Statfs_t
	if err := syscall.Statfs(folder, &at); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	if kind := uint32(at.Type); !reporting[kind] { //nolint:gosec // its size differs between machines
		return 0, fmt.Errorf("a file system of type %#x may not report changes by others", kind)
	}
	id, err := syscall.InotifyAddWatch(q.fd, folder, interest)
	return id, os.NewSyscallError("inotify_add_watch", err)
}

func (q inotify) read() ([]change, error) {
	var out []change
	buf := make([]byte, 64<<10)
	for {
		n, err := syscall.Read(q.fd, buf)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return out, nil
		case err != nil:
			return nil, os.NewSyscallError("read", err)
		default:
			if out, err = parseEvents(out, buf[:n]); err != nil {
				return nil, err
			}
		}
	}
}

// parseEvents appends the changes in a buffer.
func parseEvents(out []change, buf []byte) ([]change, error) {
	for len(buf) >= syscall.SizeofInotifyEvent {
		id, mask := int32(binary.NativeEndian.Uint32(buf)), binary.NativeEndian.Uint32(buf[4:]) //nolint:gosec // the kernel wrote an int32
		end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if mask&endings != 0 || end > len(buf) {
			return nil, errLost
		}
		name := strings.TrimRight(string(buf[syscall.SizeofInotifyEvent:end]), "\x00")
		out, buf = append(out, change{int(id), name, mask&comings != 0}), buf[end:]
	}
	return out, nil
}

func (q inotify) close() error { return syscall.Close(q.fd) }
