package review_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// follow judges pull request 1 with an approval of a commit, none where that is
// empty.
func (d *fixture) follow(approved string) *report.Report {
	d.t.Helper()
	r, err := review.New(d.cfg).Pull(d.t.Context(), 1, "")
	if err != nil {
		d.t.Fatal(err)
	}
	var commands command.Commands
	if approved == "head" {
		approved = r.Head()
	}
	if approved != "" {
		commands.Followed = []report.Command{{CommentID: 7, Author: "mona", Verb: report.CommandApprove, Argument: approved}}
	}
	r.Follow(commands)
	report, unpublished, err := r.Run(d.t.Context())
	if err != nil || unpublished != nil {
		d.t.Fatal(err, unpublished)
	}
	return report
}

// another is a commit that is not a head.
const another = "4b07d1a6d8aa4b6f9a6f9b3f6b8f0c1d2e3f4a5b"

// TestAnApprovedHeadConfiguresItself where base has nothing, and nowhere else.
func TestAnApprovedHeadConfiguresItself(t *testing.T) {
	mock := func(reply string) []byte {
		return []byte("version: 1\ntargets: {bot: {provider: mock, replies: [{reply: " + reply + "}]}}\n")
	}
	suite := map[string][]byte{
		"gavel.yaml":                               mock("hello"),
		"test_definitions/talk/domain.json":        []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`),
		"test_definitions/talk/level_1/hello.json": []byte(`{"id": "hello", "name": "Hello", "prompt": "hi", "expected": {"keywords": ["hello"]}}`),
	}
	for _, test := range []struct {
		name           string
		base           []byte
		approved, want string
	}{
		{"nobody approved", nil, "", "main has no gavel.yaml yet: validated and planned only, until somebody with write permission approves or it is merged"},
		{"another is approved", nil, another, "main has no gavel.yaml yet: validated and planned only, until somebody with write permission approves or it is merged"},
		{"approved", nil, "head", "no case regressed"},
		{"base has its own", mock("bye"), "head", "1 case was not run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := map[string][]byte{"README.md": []byte("hello\n")}
			if test.base != nil {
				base["gavel.yaml"] = test.base
			}
			d := newFixture(t, gitrepo.NewCommit{Write: base}, gitrepo.NewCommit{Branch: "topic", Write: suite})
			d.pull(1)
			if got := d.follow(test.approved).Gate; !strings.Contains(got.Reason, test.want) {
				t.Errorf("gate %+v, want %q", got, test.want)
			}
		})
	}
}

// TestAbuseProgramsOfTheHead come from base until the head is approved, unless people
// who may write have opened and pushed it, and always if the operator wants that.
func TestAbuseProgramsOfTheHead(t *testing.T) {
	agent := func(words string) map[string][]byte {
		return map[string][]byte{"agent.sh": []byte("echo " + words + "\n")}
	}
	base := agent("base")
	base["gavel.yaml"] = []byte("version: 1\ntargets: {bot: {provider: command, argv: [sh, agent.sh], inputs: [agent.sh]}}\n")
	base["test_definitions/talk/domain.json"] = []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`)
	base["test_definitions/talk/level_1/hello.json"] = []byte(`{"id": "hello", "name": "Hello", "prompt": "hi", "expected": {"keywords": ["hello"]}}`)
	for _, test := range []struct {
		name               string
		pull               forgetest.Pull
		programs, approved string
		// pushers brought the branch to the head, the last one wins.
		pushers   []string
		bots      []string
		runs, own bool
		said      string
	}{
		{name: "nobody approved", said: "agent.sh is changed here: programs run as base has them until the head is approved"},
		{name: "another is approved", approved: another, said: "until the head is approved"},
		{name: "approved", approved: "head", runs: true, own: true},
		{name: "a fork, approved", pull: forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}, approved: "head", runs: true, own: true},
		{name: "the operator runs base's", programs: review.ProgramsBase, approved: "head", said: "programs run as base has them"},
		{name: "a writer's own", pushers: []string{"maintainer"}, runs: true, own: true},
		{name: "of another writer", pushers: []string{"maintainer", "mona"}, runs: true, own: true},
		{name: "and pushed by a bot", pushers: []string{"maintainer", "helper[bot]"}, said: "until the head is approved, since helper[bot], who pushed it, is a bot"},
		{name: "and pushed by a listed bot", pushers: []string{"helper[bot]"}, bots: []string{"helper[bot]"}, runs: true, own: true},
		{name: "and pushed by a reader", pushers: []string{"reader"}, said: "it is not known that reader, who pushed it, has write permission"},
		{name: "by a deleted account", pushers: []string{"-"}, said: "it is not known who pushed it"},
		{name: "another branch's", pushers: []string{"other:maintainer"}, said: "it is not known who pushed it"},
		{name: "a reader opened it", pull: forgetest.Pull{Author: "reader"}, pushers: []string{"maintainer"}, said: "reader has no write permission"},
		{name: "a bot opened it", pull: forgetest.Pull{Author: "helper[bot]"}, pushers: []string{"maintainer"}, said: "helper[bot] has no write permission"},
		{name: "a listed bot opened it", pull: forgetest.Pull{Author: "helper[bot]"}, pushers: []string{"maintainer"}, bots: []string{"helper[bot]"}, runs: true, own: true},
		{name: "a listed bot's fork", pull: forgetest.Pull{HeadRepo: "stranger/demo", Author: "helper[bot]"}, bots: []string{"helper[bot]"}, said: "fork"},
		{name: "a writer's fork", pull: forgetest.Pull{HeadRepo: "mona/demo", Author: "mona"}, pushers: []string{"mona"}, said: "fork"},
		{name: "a writer's, stricter", programs: review.ProgramsApproved, pushers: []string{"maintainer"}, said: "programs run as base has them until the head is approved"},
		{name: "a writer's, base's", programs: review.ProgramsBase, pushers: []string{"maintainer"}, said: "programs run as base has them"},
		{name: "a writer's, none", programs: review.ProgramsNever, pushers: []string{"maintainer"}, own: true, said: "the operator allows none"},
		{name: "approved, none", programs: review.ProgramsNever, approved: "head", own: true, said: "the operator allows none"},
		{name: "a fork, another's approval", pull: forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}, approved: another, said: "until somebody with write permission approves"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newFixture(t, gitrepo.NewCommit{Write: base}, gitrepo.NewCommit{Branch: "topic", Write: agent("head")})
			d.pull(1)
			test.pull.Number, test.pull.HeadSHA, test.pull.HeadRef, test.pull.BaseSHA = 1, d.head, "topic", d.base
			d.forge.AddPull(test.pull)
			d.cfg.Programs = test.programs
			d.forge.SetPermission("mona", "write")
			for _, login := range test.pushers {
				branch, who, other := strings.Cut(login, ":")
				if !other {
					branch, who = "topic", login
				}
				d.forge.Push(branch, d.head, who)
			}
			for _, login := range test.bots {
				d.cfg.Bots = append(d.cfg.Bots, d.forge.UserID(login))
			}
			inner := d.cfg.Execute
			var runs, own bool
			d.cfg.Execute = func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
				row := p.Plan.Rows[0]
				runs, own = e.NotRun == "" && (e.Withhold == nil || e.Withhold(row) == ""), p.Head().Programs == nil
				said := e.NotRun
				if e.Withhold != nil {
					said += e.Withhold(row)
				}
				if !strings.Contains(said, test.said) {
					t.Errorf("it says %q, want %q", said, test.said)
				}
				e.NotRun = "not here"
				return inner(ctx, p, e)
			}
			d.follow(test.approved)
			if runs != test.runs || own != test.own {
				t.Errorf("runs %v with its own programs %v, want %v %v", runs, own, test.runs, test.own)
			}
		})
	}
}
