package confine

import landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

// A Profile is the purpose of a process, which determines its rights.
type Profile int

const (
	// Program is a program of a stranger, without network.
	Program Profile = iota
	// Client is a program of a stranger that may use the network.
	Client
	// Loopback is a stranger's program in a private network namespace, which may
	// connect to listeners there over TCP, and to nothing else.
	Loopback
	// Listener is a stranger's program in a private network namespace, which may listen
	// there over TCP too.
	Listener
	// computation is the profile of Process.
	computation
)

// Ruleset lists everything that a version of Landlock restricts unless a rule allows
// it.
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
	switch p { // their namespaces are private
	case Loopback:
		attr.HandledAccessNet &^= landlock.AccessNetConnectTCP
	case Listener:
		attr.HandledAccessNet &^= landlock.AccessNetConnectTCP | landlock.AccessNetBindTCP
	}
	if abi >= 6 {
		attr.Scoped |= landlock.ScopeAbstractUnixSocket
	}
	if abi >= 10 {
		attr.HandledAccessNet |= landlock.AccessNetBindUDP | landlock.AccessNetConnectSendUDP
	}
	return attr
}
