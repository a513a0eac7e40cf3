package confine

import landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

// A Profile says what a process is for. The kernel refuses it more or less.
type Profile int

const (
	// Program is a program of a stranger, without network.
	Program Profile = iota
	// Client is a program of a stranger that may use the network.
	Client
	// Loopback is a program of a stranger in a network namespace of its own, which
	// may connect to what listens there over TCP, and to nothing else.
	Loopback
	// computation is what Process leaves.
	computation
)

// Ruleset lists what Landlock restricts in a version of its interface, unless a
// rule allows it.
func (p Profile) Ruleset(abi int) *landlock.RulesetAttr {
	attr := &landlock.RulesetAttr{HandledAccessFS: landlock.AccessFSRefer - 1}
	for version, right := range map[int]uint64{
		2: landlock.AccessFSRefer, 3: landlock.AccessFSTruncate, 5: landlock.AccessFSIoctlDev, 9: landlock.AccessFSResolveUnix,
	} {
		if abi >= version {
			attr.HandledAccessFS |= right
		}
	}
	if abi >= 6 {
		attr.Scoped = landlock.ScopeSignal
	}
	if p == Client {
		attr.HandledAccessFS &^= landlock.AccessFSResolveUnix
		return attr
	}
	if abi >= 4 {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	if p == Loopback {
		attr.HandledAccessNet &^= landlock.AccessNetConnectTCP // nobody else is in its namespace
	}
	if abi >= 6 {
		attr.Scoped |= landlock.ScopeAbstractUnixSocket
	}
	if abi >= 10 {
		attr.HandledAccessNet |= landlock.AccessNetBindUDP | landlock.AccessNetConnectSendUDP
	}
	return attr
}
