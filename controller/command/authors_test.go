package command_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// pullHead is the pull request of a fixture.
var pullHead = command.PullHead{Repository: forge.Repo{Owner: "octo", Name: "demo"}, Number: 1, Head: headSHA}

// config is for an inbox whose reports are read by a function.
func (h *fixture) config(read func(context.Context, int, string) (*report.Report, error)) command.Config {
	h.t.Helper()
	fake := &forgetest.Clock{}
	client, err := forge.New(forge.Config{BaseURL: h.forge.URL, Token: forgetest.TokenUser, Clock: fake})
	if err != nil {
		h.t.Fatal(err)
	}
	return command.Config{
		Client: client, Ledger: h.store, ID: 1, Known: "octo/demo", WebURL: "https://github.com", Report: read, Log: func(int, string) {},
	}
}

// inbox is one of a process that stays, with the lines that it logs.
func (h *fixture) inbox(judged *report.Report, bots ...int64) (*command.Inbox, *[]string) {
	h.t.Helper()
	cfg, log := h.config(func(context.Context, int, string) (*report.Report, error) { return judged, nil }), &[]string{}
	cfg.Bots, cfg.Log = bots, func(_ int, line string) { *log = append(*log, line) }
	return command.NewInbox(cfg), log
}

// process is a look that does not wait forever.
func (h *fixture) process(in *command.Inbox) command.Commands {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	commands, unread, err := in.Process(ctx, pullHead)
	if err != nil || unread != nil || commands.Unanswered != nil {
		h.t.Fatalf("Process: %v, unread: %v, unanswered: %v", err, unread, commands.Unanswered)
	}
	return commands
}

// TestAuthors is who may command. A command of others is stored for no head, is not
// mentioned in reports, and its author sees a reaction. All are processed by one look,
// and the next one of the same inbox finds nothing new.
func TestAuthors(t *testing.T) {
	h := newFixture(t)
	h.forge.SetPermission("lisa", "read")
	h.forge.SetPermission("robin", "write")
	written := []struct {
		by, refused string
		edited      bool
	}{
		{by: "lisa", refused: "its author has no write permission"},
		{by: "robin", refused: "the comment was edited: write a new one", edited: true},
		{by: "-", refused: "its author's account was deleted"},
		{by: "maintainer", refused: "it is from the account that gavel itself writes as"},
		{by: "other[bot]", refused: "it is from a bot that the operator does not list"},
		{by: "hidden", refused: "the permissions of its author could not be read"},
		{by: "deploy[bot]"},
		{by: "robin"},
	}
	h.forge.Inject(forgetest.Fault{Method: http.MethodGet, Path: "/collaborators/hidden/permission", Status: http.StatusForbidden, Times: -1})
	var ids []int64
	for _, w := range written {
		id := h.forge.AddComment(1, w.by, "/gavel run")
		if w.edited {
			h.forge.EditComment(id, "/gavel run a/**")
		}
		ids = append(ids, id)
	}
	in, log := h.inbox(nil, h.forge.UserID("deploy[bot]"))
	for range 2 {
		commands := h.process(in)
		if len(commands.Followed) != 3 || commands.Followed[1].Author != "deploy[bot]" || commands.Followed[2].Author != "robin" || len(commands.Refused) > 0 {
			t.Errorf("followed %+v, refused %q, want those of mona, deploy[bot] and robin, and nothing refused", commands.Followed, commands.Refused)
		}
	}
	stored, err := h.store.Commands(t.Context(), repositoryOf(h), 1)
	if err != nil || len(stored) != len(written)+1 {
		t.Fatalf("stored are %d commands (%v), want %d", len(stored), err, len(written)+1)
	}
	for i, w := range written {
		c, sign := stored[i+1], h.forge.Reactions(1, ids[i], "maintainer")
		if c.Comment != ids[i] || c.Refused != w.refused || (c.Head == "") != (w.refused != "") || !c.Answered {
			t.Errorf("the command of %s is stored as %+v, want it refused: %q", w.by, c, w.refused)
		}
		if (sign == "-1") != (w.refused != "") || sign == "" {
			t.Errorf("%s sees the reaction %q", w.by, sign)
		}
		want := "is followed"
		if w.refused != "" {
			want = "is refused: " + w.refused
		}
		if len(*log) != len(stored) || !strings.HasSuffix((*log)[i+1], want) {
			t.Errorf("the log has %q, want a line that ends with %q", *log, want)
		}
	}
	asked := 0
	for _, r := range h.forge.Requests() {
		if r.Path == "/user" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the forge is asked %d times who we are, want once", asked)
	}
}

// TestAReactionIsAMemory: a process whose ledger is gone takes a command that has our
// reaction below it as taken when it was written, and answers it no more. It is about
// this head if that was there before; only an approval needs no proof of that.
func TestAReactionIsAMemory(t *testing.T) {
	for _, tt := range []struct {
		name, body, sign string
		by               string // who reacted
		known            bool   // the head has a status that is older
		counts           bool
		recovered        bool
	}{
		{"of an earlier head", "/gavel run", "+1", "maintainer", false, false, true},
		{"of this head", "/gavel run", "+1", "maintainer", true, true, true},
		{"of a head of another pull request", "/gavel run", "+1", "maintainer", false, false, true},
		{"an approval", "/gavel approve " + headSHA, "+1", "maintainer", false, true, true},
		{"one that was refused", "/gavel approve 4b07d1a", "-1", "maintainer", true, false, true},
		{"another reaction of ours", "/gavel run", "heart", "maintainer", true, true, false},
		{"a reaction of others", "/gavel run", "+1", "lisa", true, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			h.forge.DeleteComment(h.command)
			if tt.known {
				h.forge.AddStatus(forgetest.Status{SHA: headSHA, State: "pending", Context: "gavel/validate"})
			}
			if strings.HasSuffix(tt.name, "another pull request") {
				h.forge.AddStatus(forgetest.Status{SHA: headSHA, State: "failure", Context: "gavel/validate", TargetURL: "https://forge.example/run/5?pr=2"})
			}
			id := h.forge.AddComment(1, "mona", tt.body)
			h.forge.React(id, tt.by, tt.sign)
			before := len(h.forge.Writes())
			in, _ := h.inbox(nil)
			commands := h.process(in)
			if counts := len(commands.Followed) == 1; counts != tt.counts || len(commands.Refused) > 0 {
				t.Errorf("followed %+v, refused %q, want it to count: %v", commands.Followed, commands.Refused, tt.counts)
			}
			if answered := len(h.forge.Writes()) > before; answered == tt.recovered {
				t.Errorf("it is answered: %v, want %v", answered, !tt.recovered)
			}
			stored, err := h.store.Commands(t.Context(), repositoryOf(h), 1)
			if err != nil || len(stored) != 1 || stored[0].Taken.Equal(stored[0].Written) != tt.recovered {
				t.Errorf("stored are %+v (%v), want one that was taken when it was written: %v", stored, err, tt.recovered)
			}
		})
	}
}

// TestExplain answers with what the report has of a case. The rest of it is read
// from the ledger: the transcript of the last sample.
func TestExplain(t *testing.T) {
	pass := verdict.Pass
	head := headSHA
	for _, tt := range []struct {
		name   string
		stored []string // what the agent said in each sample
		want   string
	}{
		{"nothing is stored", nil, "pass, at"},
		{"a transcript", []string{"Good morning"}, "Good morning"},
		{"the last of two", []string{"Good morning", "Good night"}, "Good night"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			h.forge.DeleteComment(h.command)
			h.forge.AddComment(1, "mona", "/gavel explain a")
			if len(tt.stored) > 0 {
				o := ledger.Outcome{
					Trust: ledger.Trust{Level: ledger.LevelOperator}, Digests: plan.Digests{E: "e", J: "j", D: "d"}, Case: "a",
					Decision: &ledger.Decision{Result: verdict.Result{Verdict: verdict.Pass, Reason: "it is polite", Evaluators: []verdict.EvaluatorResult{{Name: "polite", Reason: "it is polite"}}}, Samples: 1},
				}
				for i, said := range tt.stored {
					o.Executions = append(o.Executions, ledger.Execution{Ordinal: i, Transcript: verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: said}}}})
					o.Samples = append(o.Samples, ledger.Judgement{Sample: verdict.Sample{Ordinal: i}})
				}
				if err := h.store.Save(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			in, _ := h.inbox(&report.Report{Head: &head, Cases: []report.Row{{Key: "a", Verdict: &pass, Digest: "d"}}})
			if commands := h.process(in); len(commands.Followed)+len(commands.Refused) > 0 || commands.Waiting {
				t.Errorf("an explanation comes to %+v, want nothing to run", commands)
			}
			answers := h.forge.Written(1, "maintainer", "<!-- gavel:answer")
			if len(answers) != 1 || !strings.Contains(answers[0], tt.want) || len(tt.stored) == 2 && strings.Contains(answers[0], tt.stored[0]) {
				t.Errorf("the answers are %q, want one with %q", answers, tt.want)
			}
		})
	}
}

// TestAReportThatCannotBeRead is not one that is missing: no command is taken.
func TestAReportThatCannotBeRead(t *testing.T) {
	h, broken := newFixture(t), errors.New("the disk is away")
	in := command.NewInbox(h.config(func(context.Context, int, string) (*report.Report, error) { return nil, broken }))
	if _, _, err := in.Process(t.Context(), pullHead); !errors.Is(err, broken) {
		t.Errorf("Process = %v, want %v", err, broken)
	}
	if stored, err := h.store.Commands(t.Context(), repositoryOf(h), 1); err != nil || len(stored) > 0 {
		t.Errorf("stored are %+v (%v), want nothing", stored, err)
	}
}

// TestOneAtATime: two looks at a pull request wait for each other, and the second finds
// nothing to answer. A look at another pull request does not wait.
func TestOneAtATime(t *testing.T) {
	h := newFixture(t)
	h.forge.AddPull(forgetest.Pull{Number: 2, HeadSHA: headSHA, HeadRef: "topic", BaseSHA: headSHA})
	inside, leave := make(chan struct{}, 3), make(chan struct{})
	in := command.NewInbox(h.config(func(_ context.Context, number int, _ string) (*report.Report, error) {
		if number == 1 {
			inside <- struct{}{}
			<-leave
		}
		return nil, nil
	}))
	done := make(chan error)
	for range 2 {
		go func() {
			_, unread, err := in.Process(t.Context(), pullHead)
			done <- errors.Join(err, unread)
		}()
	}
	<-inside
	other := pullHead
	other.Number = 2
	if _, unread, err := in.Process(t.Context(), other); err != nil || unread != nil {
		t.Errorf("another pull request: %v, %v", err, unread)
	}
	if len(inside) > 0 {
		t.Error("two looks at a pull request are at work at once")
	}
	close(leave)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := len(h.forge.Writes()); got != 1 {
		t.Errorf("the command is answered by %d writes, want one", got)
	}
}

// TestSecretsInRefusals: what a report says of refused commands has no secret.
func TestSecretsInRefusals(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	h := newFixture(t)
	h.forge.AddComment(1, "mona", "/gavel frobnicate "+secret)
	in, _ := h.inbox(nil)
	refused := strings.Join(h.process(in).Refused, "\n")
	if !strings.Contains(refused, "frobnicate") || strings.Contains(refused, secret) {
		t.Errorf("refused are %q, want the command without its secret", refused)
	}
}
