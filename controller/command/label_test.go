package command_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/report"
)

// TestALabel asks for a run of the head if its sender may write, once, on GitHub and on
// Gitea.
func TestALabel(t *testing.T) {
	for _, base := range []string{"", "/api/v1"} {
		for _, tt := range []struct {
			name   string
			sender forge.User
			head   string
			bots   []int64
			runs   bool
			said   string
		}{
			{name: "a writer", sender: forge.User{ID: 101, Login: "mona"}, runs: true, said: "is followed"},
			{name: "a reader", sender: forge.User{ID: 102, Login: "rita"}, said: "the sender has no write permission"},
			{name: "a bot", sender: forge.User{ID: 103, Login: "helper[bot]", Bot: true}, said: "a bot that the operator does not list"},
			{name: "a listed bot", sender: forge.User{ID: 103, Login: "helper[bot]", Bot: true}, bots: []int64{103}, runs: true, said: "is followed"},
			{name: "ourselves", sender: forge.User{ID: 104, Login: "maintainer"}, said: "gavel itself"},
			{name: "another head", sender: forge.User{ID: 101, Login: "mona"}, head: strings.Repeat("b", 40), said: "is ignored: it was added at bbbbbbbbbbbb"},
		} {
			h := newFixture(t)
			h.forge.DeleteComment(h.command)
			if base != "" {
				h.forge.SetPermission("maintainer", "admin")
			}
			client, err := forge.New(forge.Config{BaseURL: h.forge.URL + base, Token: forgetest.TokenUser, Clock: &forgetest.Clock{}})
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			inbox := command.NewInbox(command.Config{
				Client: client, Ledger: h.store, ID: 1, Known: "octo/demo", Bots: tt.bots,
				Report: func(context.Context, int, string) (*report.Report, error) { return nil, nil },
				Log:    func(_ int, line string) { lines = append(lines, line) },
			})
			head := headSHA
			if tt.head != "" {
				head = tt.head
			}
			place := command.PullHead{
				Repository: forge.Repo{Owner: "octo", Name: "demo"}, Number: 1, Head: headSHA,
				Label: &forge.Labeled{ID: -7, Sender: tt.sender, Head: head},
			}
			for range 2 { // a delivery comes twice
				commands, unread, err := inbox.Process(t.Context(), place)
				if err != nil || unread != nil {
					t.Fatal(unread, err)
				}
				runs := len(commands.Followed) == 1 && commands.Followed[0].Verb == report.CommandRun && commands.Followed[0].Author == tt.sender.Login
				if runs != tt.runs || !tt.runs && len(commands.Followed) != 0 {
					t.Errorf("%s%s: followed %+v", base, tt.name, commands.Followed)
				}
			}
			if !strings.Contains(strings.Join(lines, "\n"), tt.said) || tt.runs && len(lines) != 1 {
				t.Errorf("%s%s: the log says %q", base, tt.name, lines)
			}
			if writes := h.forge.Writes(); len(writes) != 0 {
				t.Errorf("%s%s: wrote %v", base, tt.name, writes)
			}
		}
	}
}
