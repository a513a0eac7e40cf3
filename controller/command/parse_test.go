package command

import (
	"strings"
	"testing"
	"unicode"
)

func TestParse(t *testing.T) {
	const sha = "9f31c2e6b3a1d0c4e5f60718293a4b5c6d7e8f90"
	tests := []struct {
		name string
		body string
		want Command
		none bool
	}{
		{name: "help", body: "/gavel help", want: Command{Verb: Help}},
		{name: "nothing more", body: "/gavel", want: Command{Verb: Help}},
		{name: "run", body: "/gavel run", want: Command{Verb: Run}},
		{name: "run a pattern", body: "/gavel  run\tsupport/**  \r\nplease", want: Command{Verb: Run, Argument: "support/**"}},
		{name: "run two", body: "/gavel run a b", want: Command{Verb: Run, Argument: "a b", Problem: "run takes one pattern of keys, such as support/**"}},
		{name: "rerun failed", body: "/gavel rerun failed", want: Command{Verb: Rerun, Argument: Failed}},
		{name: "rerun errors", body: "/gavel Rerun errors", want: Command{Verb: Rerun, Argument: Errors}},
		{name: "rerun a near word", body: "/gavel rerun faild", want: Command{Verb: Rerun, Argument: "faild", Problem: "it is rerun failed or rerun errors; did you mean `failed`?"}},
		{name: "rerun nothing", body: "/gavel rerun", want: Command{Verb: Rerun, Problem: "it is rerun failed or rerun errors"}},
		{name: "approve", body: "/gavel approve `" + strings.ToUpper(sha) + "`", want: Command{Verb: Approve, Argument: sha}},
		{name: "approve in short", body: "/gavel approve 9f31c2e", want: Command{Verb: Approve, Argument: "9f31c2e"}},
		{name: "approve too short", body: "/gavel approve 9f31c2", want: Command{Verb: Approve, Argument: "9f31c2", Problem: "approve takes the id of the commit"}},
		{name: "approve a branch", body: "/gavel approve --upload-pack=x", want: Command{Verb: Approve, Argument: "--upload-pack=x", Problem: "approve takes the id of the commit"}},
		{name: "approve nothing", body: "/gavel approve", want: Command{Verb: Approve, Problem: "approve takes the id of the commit"}},
		{name: "approve two", body: "/gavel approve 9f31c2e 8f31c2e", want: Command{Verb: Approve, Argument: "9f31c2e 8f31c2e", Problem: "approve takes the id of the commit"}},
		{name: "accept", body: "/gavel accept a/b it  is meant", want: Command{Verb: Accept, Argument: "a/b it is meant"}},
		{name: "accept without reason", body: "/gavel accept a/b", want: Command{Verb: Accept, Argument: "a/b", Problem: "accept takes the key of a case, or gavel.yaml, and the reason why that is meant"}},
		{name: "explain", body: "/gavel explain a/b", want: Command{Verb: Explain, Argument: "a/b"}},
		{name: "explain nothing", body: "/gavel explain ", want: Command{Verb: Explain, Problem: "explain takes the key of a case"}},
		{name: "cancel", body: "/gavel cancel", want: Command{Verb: Cancel}},
		{name: "cancel more", body: "/gavel cancel it", want: Command{Verb: Cancel, Argument: "it", Problem: "cancel takes nothing more"}},
		{name: "a near word", body: "/gavel aprove " + sha, want: Command{Verb: "aprove", Argument: sha, Problem: "unknown command \"aprove\"; did you mean `approve`?"}},
		{name: "a far word", body: "/gavel deploy", want: Command{Verb: "deploy", Problem: "unknown command \"deploy\""}},
		{name: "two lines are one", body: "/gavel help\n/gavel approve " + sha, want: Command{Verb: Help}},

		{name: "talk", body: "please run it", none: true},
		{name: "a longer word", body: "/gavelkind run", none: true},
		{name: "in the middle", body: "see /gavel run", none: true},
		{name: "the second line", body: "hello\n/gavel run", none: true},
		{name: "behind an empty one", body: "\n/gavel run", none: true},
		{name: "quoted", body: "> /gavel run", none: true},
		{name: "in a fence", body: "```\n/gavel run\n```", none: true},
		{name: "as code", body: "`/gavel run`", none: true},
		{name: "indented", body: "    /gavel run", none: true},
		{name: "in a list", body: "- /gavel run", none: true},
		{name: "in a comment", body: "<!-- gavel:report -->\n/gavel run", none: true},
		{name: "nothing", none: true},

		{name: "a command sequence", body: "/gavel run \x1b[2J", want: Command{Problem: "it holds characters that cannot be seen"}},
		{name: "reversed", body: "/gavel accept a/b \u202egnihton", want: Command{Problem: "it holds characters that cannot be seen"}},
		{name: "no text", body: "/gavel run \xff", want: Command{Problem: "it holds characters that cannot be seen"}},
		{name: "as long as it may be", body: "/gavel accept a/b " + strings.Repeat("x", maxLine-18), want: Command{Verb: Accept, Argument: "a/b " + strings.Repeat("x", maxLine-18)}},
		{name: "a long line", body: "/gavel accept a/b " + strings.Repeat("x", maxLine-17), want: Command{Problem: "its first line has more than 1000 bytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Parse(test.body)
			if got != test.want || ok == test.none {
				t.Errorf("Parse = %+v %v\nwant %+v %v", got, ok, test.want, !test.none)
			}
		})
	}
}

// FuzzParse: whatever a comment says, a command without a problem is one that is
// known, short, and shows all that it holds.
func FuzzParse(f *testing.F) {
	for _, body := range []string{"/gavel approve 9f31c2e", "/gavel accept a/b `x` <b>", "/gavel\u00a0run", "/gavel run \u202e", "> /gavel run", "/gavel\r\n"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		o, ok := Parse(body)
		if !ok && o != (Command{}) {
			t.Errorf("talk is %+v", o)
		}
		if !ok || o.Problem != "" {
			return
		}
		again, _ := Parse(o.String())
		if again != o || len(o.String()) > maxLine || strings.ContainsFunc(o.String(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is %+v, and that is %+v", body, o, again)
		}
	})
}
