package gitrepo

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime returns the time of the last change of a file's content or status.
func changeTime(info fs.FileInfo) (t time.Time, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec)), true
}
