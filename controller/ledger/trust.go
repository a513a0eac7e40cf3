package ledger

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Level is how much a verdict is trusted.
type Level int

const (
	// LevelPull is a head that nobody with write permission vouches for.
	LevelPull Level = 1
	// LevelBase is a commit that the repository has accepted.
	LevelBase Level = 2
	// LevelOperator is the person at the keyboard.
	LevelOperator Level = 3
)

// Trust is written into every entry.
type Trust struct {
	Level      Level
	Repository string
	// PullRequest is 0 if there is none. An entry written at LevelPull without one
	// serves nobody.
	PullRequest int
}

// namespace separates the entries that only the same pull request may read
// ("owner/name#7") from those that all may read (""). Uniqueness counts within
// a namespace, so that an untrusted entry never blocks a trusted one.
func (t Trust) namespace() string {
	if t.Level >= LevelBase {
		return ""
	}
	return t.Repository + "#" + strconv.Itoa(t.PullRequest)
}

// check refuses a forgotten level.
func (t Trust) check() error {
	if t.Level < LevelPull || t.Level > LevelOperator {
		return fmt.Errorf("there is no trust level %d", t.Level)
	}
	return nil
}

// A Scope says which entries a reader may use.
//
// Entries of level base or above serve every reader; entries of a pull request serve
// only readers at LevelPull of the same repository and pull request. A reader at a
// higher level sees none of them, whatever pull request it names, because its verdicts
// are served to all. If both have a sample with the same ordinal, a pull request reads
// its own, so that a later sample of base does not separate its transcripts from their
// judgements.
type Scope struct {
	Trust
	// NotBefore leaves out entries with samples that are older; zero leaves nothing
	// out.
	NotBefore time.Time
	// Before leaves out the decisions that were made then or later; zero leaves
	// nothing out. Samples are not concerned.
	Before time.Time
	// Nothing leaves everything out: reuse is off.
	Nothing bool
}

// notBefore returns NotBefore in the unit of the tables. The zero time is the least
// value, so that every entry is younger.
func (s Scope) notBefore() int64 { return s.NotBefore.UnixMilli() }

// notAfter returns Before in the unit of the tables; for the zero time every entry is
// older.
func (s Scope) notAfter() int64 {
	if s.Before.IsZero() {
		return math.MaxInt64
	}
	return s.Before.UnixMilli()
}

// Namespace is the one that the scope reads in addition to the trusted "".
func (s Scope) Namespace() string {
	if s.PullRequest == 0 {
		return ""
	}
	return s.Trust.namespace()
}
