package confine

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_AARCH64

// neededHere is empty: this architecture lacks older forms of calls.
var neededHere []uint32
