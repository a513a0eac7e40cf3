package command_test

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
)

const headSHA = "9f31c2e000000000000000000000000000000001"

// A fixture is a forge with a pull request on which mona, who may write, wrote
// a command.
type fixture struct {
	t       *testing.T
	forge   *forgetest.Forge
	path    string // of the ledger
	store   *ledger.Ledger
	command int64 // the comment
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{t: t, forge: forgetest.New(t), path: filepath.Join(t.TempDir(), "ledger.db")}
	h.store = ledgertest.Open(t, ledger.Config{Path: h.path})
	h.forge.SetPermission("mona", "write")
	h.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: headSHA, HeadRef: "topic", BaseSHA: headSHA})
	h.command = h.forge.AddComment(1, "mona", "/gavel run")
	return h
}

// take is one look by a process of its own.
func (h *fixture) take() (command.Commands, error) {
	h.t.Helper()
	fake := &forgetest.Clock{}
	client, err := forge.New(forge.Config{BaseURL: h.forge.URL, Token: forgetest.TokenUser, Clock: fake})
	if err != nil {
		h.t.Fatal(err)
	}
	commands, unread, err := command.NewInbox(command.Config{
		Client: client, Ledger: h.store, ID: 1, Known: "octo/demo", WebURL: "https://github.com",
		Report: func(context.Context, int, string) (*report.Report, error) {
			return nil, nil
		},
		Log: func(_ int, line string) { h.t.Log(line) },
	}).Process(h.t.Context(), command.PullHead{Repository: forge.Repo{Owner: "octo", Name: "demo"}, Number: 1, Head: headSHA})
	if err != nil {
		h.t.Fatal(err)
	}
	return commands, unread
}

// TestACommandThatCannotBeAsked: where the forge does not say who wrote a command,
// what that person may do, or whether it was answered before, or the ledger does
// not store it, nothing is followed, the look says that it is incomplete, and the
// next one takes it.
func TestACommandThatCannotBeAsked(t *testing.T) {
	away := func(path string) func(*fixture) {
		return func(h *fixture) {
			h.forge.Inject(forgetest.Fault{Method: http.MethodGet, Path: path, Status: http.StatusInternalServerError, Times: -1})
		}
	}
	for _, tt := range []struct {
		name   string
		breaks func(*fixture)
		mends  func(*fixture)
	}{
		{"who we are", away("/user"), nil},
		{"the permission", away("/collaborators/mona/permission"), nil},
		{"the reactions", away("/reactions"), nil},
		{"the ledger takes no command", refusing, accepting},
		{"the ledger is away", closing("/collaborators/mona/permission"), reopening},
		{"the comments at all", away("/issues/1/comments"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			tt.breaks(h)
			commands, unread := h.take()
			if unread == nil || len(commands.Followed)+len(commands.Refused) > 0 {
				t.Errorf("followed %v, refused %q, unread: %v", commands.Followed, commands.Refused, unread)
			}
			if got := h.forge.Reactions(1, h.command, "maintainer"); got != "" {
				t.Errorf("its author was told %q", got)
			}
			h.forge.Heal()
			if tt.mends != nil {
				tt.mends(h)
			}
			if stored, err := h.store.Commands(t.Context(), repositoryOf(h), 1); err != nil || len(stored) > 0 {
				t.Errorf("stored %v, %v", stored, err)
			}
			commands, unread = h.take()
			if unread != nil || len(commands.Followed) != 1 || commands.Followed[0].Author != "mona" {
				t.Errorf("then followed %v, unread: %v", commands.Followed, unread)
			}
			if got := h.forge.Reactions(1, h.command, "maintainer"); got != "+1" {
				t.Errorf("then its author was told %q", got)
			}
		})
	}
}

// closing takes the ledger away when a path is asked for.
func closing(path string) func(*fixture) {
	return func(h *fixture) {
		h.forge.Inject(forgetest.Fault{Path: path, Hold: func() {
			if err := h.store.Close(); err != nil {
				h.t.Error(err)
			}
		}})
	}
}

// refusing has the ledger refuse commands, and nothing else; accepting undoes it.
func refusing(h *fixture) {
	h.sql("CREATE TRIGGER refuse BEFORE INSERT ON commands BEGIN SELECT RAISE(ABORT, 'refused'); END")
}

func accepting(h *fixture) { h.sql("DROP TRIGGER refuse") }

// sql changes the file of the ledger.
func (h *fixture) sql(statement string) {
	h.t.Helper()
	db, err := sql.Open("sqlite", h.path)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := db.Exec(statement); err != nil {
		h.t.Error(err)
	}
	if err := db.Close(); err != nil {
		h.t.Error(err)
	}
}

func reopening(h *fixture) { h.store = ledgertest.Open(h.t, ledger.Config{Path: h.path}) }

// repositoryOf is the ledger's name for the repository of a fixture.
func repositoryOf(h *fixture) string { return strings.TrimPrefix(h.forge.URL, "http://") + "/1" }

// TestAnAnswerThatWaits: that its author cannot be told keeps no command from being
// followed, and the next look tells it once.
func TestAnAnswerThatWaits(t *testing.T) {
	h := newFixture(t)
	h.forge.Inject(forgetest.Fault{Method: http.MethodPost, Path: "/reactions", Status: http.StatusInternalServerError, Times: -1})
	commands, unread := h.take()
	if unread != nil || commands.Unanswered == nil || len(commands.Followed) != 1 {
		t.Errorf("followed %v, unread: %v, unanswered: %v", commands.Followed, unread, commands.Unanswered)
	}
	h.forge.Heal()
	for range 2 {
		commands, unread = h.take()
		if unread != nil || commands.Unanswered != nil || len(commands.Followed) != 1 {
			t.Errorf("followed %v, unread: %v, unanswered: %v", commands.Followed, unread, commands.Unanswered)
		}
	}
	if got := h.forge.Reactions(1, h.command, "maintainer"); got != "+1" {
		t.Errorf("its author was told %q", got)
	}
}
