package review

import (
	"context"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// making returns how programs run that make parts of the definitions of a head.
func (r *Review) making() controller.Making {
	m := r.Making
	if r.Programs == ProgramsNever {
		m.Never = "it starts a program, and the operator allows none"
	}
	m.Withheld = func(ctx context.Context) (until string, withheld bool) {
		return r.untilAllowed(ctx, func() bool { return true })
	}
	return m
}

// untilAllowed returns when the programs of a head that differ from base start, as the ending of
// a sentence, and whether they do not start now. Only a plan that starts some asks the forge
// for the head's pusher.
func (r *Review) untilAllowed(ctx context.Context, starts func() bool) (until string, withheld bool) {
	if r.merged || r.approved && r.approvable() {
		return "", false
	}
	if r.approvable() {
		until = " " + report.UntilApproved
	}
	// Another process that judges cases of this head knows the answer, and decides as
	// this one did, whatever is stored by then.
	if r.byWriters() && r.trust.Run && r.outsider != nil && (r.loaded || starts()) {
		stranger := r.outsider(ctx)
		if stranger == "" {
			return "", false
		}
		until += ", since " + stranger
	}
	return until, true
}

// programs decides which programs run for an unmerged head: base's, or also the
// programs of an approved head or one pushed by people with write permission. A case is
// withheld if its programs, the definition that names them or a file that they read
// differ from base. Since a program may load more than it declares, even the others
// only see base's files.
func (r *Review) programs(ctx context.Context, p *controller.Prepared, e *controller.RunOptions) error {
	if r.Programs == ProgramsNever {
		e.Withhold = p.WithholdPrograms(e.Withhold, func() string { return "it starts a program, and the operator allows none" })
		return nil
	}
	until, withheld := r.untilAllowed(ctx, p.MayStart)
	if !withheld {
		return nil
	}
	changed, err := p.Changed(ctx)
	if err != nil {
		return fmt.Errorf("compare %s with %s: %w", p.Base().Commit, p.Head().Commit, err)
	}
	p.UseProgramsOfBase()
	e.Withhold = func(row plan.Row) string {
		start, starts := p.Starts(row)
		if !starts || row.Asked { // it is the same case at base
			return ""
		}
		switch file, read := start.Changed(changed); {
		case file == "":
			return ""
		case read:
			return fmt.Sprintf("it has a program read %s, which is changed here: programs see base's files%s", file, until)
		default:
			return fmt.Sprintf("it starts a program, and %s is changed here: programs run as base has them%s", file, until)
		}
	}
	return nil
}

// byWriters reports whether people with write permission need no approval.
func (r *Review) byWriters() bool { return r.Programs == ProgramsWriters || r.Programs == "" }

// listed reports whether an account is a bot that counts as a person.
func (c *Config) listed(user forge.User) bool {
	return user.Bot && slices.Contains(c.Bots, user.ID)
}

// stranger returns the reason why the head's programs need an approval: the person who
// opened the pull request or pushed its head has no write permission, or is not a
// person. It is empty if both have it. The names in commits prove nothing: anybody may
// write any name.
func (r *Review) stranger(ctx context.Context, pull forge.Pull) string {
	if pull.Fork {
		return "the head comes from a fork"
	}
	if pull.Bot && !r.listed(forge.User{ID: pull.AuthorID, Bot: true}) {
		return pull.Author + ", who opened the pull request, is a bot"
	}
	pusher, err := r.Client.Pusher(ctx, r.Repository, pull.HeadRef, r.head)
	switch {
	case err != nil:
		return "it is not known who pushed it" // the case is worth more than a second try
	case r.listed(pusher):
		return ""
	case pusher.Bot:
		return pusher.Login + ", who pushed it, is a bot"
	}
	// Its author has write permission: otherwise nothing would run.
	if pusher.ID == pull.AuthorID && pusher.ID != 0 {
		return ""
	}
	permission, err := r.Client.Permission(ctx, r.Repository, pusher.Login)
	if err != nil || !permission.CanWrite() {
		return fmt.Sprintf("it is not known that %s, who pushed it, has write permission", pusher.Login)
	}
	return ""
}
