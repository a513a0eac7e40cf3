package github

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// GroupStatuses are the statuses of the groups that the report has a gate of,
// by the rules of [StatusFor].
func GroupStatuses(r *report.Report) []Status {
	var all []Status
	for _, g := range r.GroupGates {
		s := verdictFor(r.GroupReport(g))
		s.Context = GroupContext(g.Group)
		all = append(all, s)
	}
	return all
}

// Names that a context contains as they are, and the end of all others.
var (
	plainName  = lazyregexp.New(`^[!-~]+( [!-~]+)*$`)
	digestedAs = lazyregexp.New(`~[0-9a-fA-F]{16}$`)
)

// GroupContext is the context of a group's status: gavel/verdict/ and the name.
// It depends on the name alone, since branch protection names it. A name that is
// too long, or that has anything but printable ASCII, ends with a digest: it may
// look like another one, or be one where a forge compares without accents.
// Whether letters are capitals makes no other context.
func GroupContext(name string) string {
	const prefix, digits = ContextVerdict + "/", 16
	if len(prefix)+len(name) <= maxContext && plainName.MatchString(name) && !digestedAs.MatchString(name) {
		return prefix + name
	}
	sum := sha256.Sum256([]byte(strings.ToLower(name)))
	shown := textfmt.Line(name)
	for len(prefix)+len(shown)+1+digits > maxContext {
		_, size := utf8.DecodeLastRuneInString(shown)
		shown = shown[:len(shown)-size]
	}
	return prefix + shown + "~" + hex.EncodeToString(sum[:])[:digits]
}
