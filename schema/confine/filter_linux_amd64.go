package confine

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_X86_64

// neededHere lists older forms of calls that other architectures lack.
var neededHere = []uint32{unix.SYS_POLL, unix.SYS_EPOLL_WAIT, unix.SYS_TIME, unix.SYS_ARCH_PRCTL}
