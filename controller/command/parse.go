// Package command processes commands in comments on pull requests: `/gavel run`,
// `/gavel approve`, and others.
//
// [Parse] reads one comment. A comment is data, whatever its text.
package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The commands.
const (
	Run     = "run"     // with a glob of keys, or of open cases
	Rerun   = "rerun"   // with failed or errors
	Approve = "approve" // with the commit
	Accept  = "accept"  // with the key of a case, and the reason
	Explain = "explain" // with the key of a case
	// Quarantine has the key of a case, the last day and the reason.
	Quarantine = ledger.QuarantineVerb
	Cancel     = "cancel"
	Help       = "help"
)

// The arguments of run.
const (
	Failed = "failed"
	Errors = "errors"
)

var verbs = []string{Run, Rerun, Approve, Accept, Explain, Quarantine, Cancel, Help}

// prefix begins the first line of every command.
const prefix = "/gavel"

// maxLine bounds the first line, in bytes.
const maxLine = 1000

// A Command is the command in a comment.
type Command struct {
	// Verb is one of the constants above, or another word if Problem is set.
	Verb string
	// Argument is the rest of the line with single spaces.
	Argument string
	// Problem is the reason why it cannot be understood; empty if it can.
	Problem string
}

// Parse reads the body of a comment. It is a command if its first line begins
// with /gavel; text below that, or quoted, indented or in a fence, is
// discussion.
func Parse(body string) (Command, bool) {
	line, _, _ := strings.Cut(body, "\n")
	rest, ok := strings.CutPrefix(line, prefix)
	if !ok || rest != "" && !unicode.IsSpace([]rune(rest)[0]) {
		return Command{}, false
	}
	if len(line) > maxLine {
		return Command{Problem: fmt.Sprintf("its first line has more than %d bytes", maxLine)}, true
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return Command{Verb: Help}, true
	}
	o := Command{Verb: strings.ToLower(words[0]), Argument: strings.Join(words[1:], " ")}
	o.Problem = o.problem()
	if strings.ContainsFunc(o.Verb+o.Argument, unseen) || !utf8.ValidString(line) {
		o = Command{Problem: "it holds characters that cannot be seen"}
	}
	if o.Verb == Approve {
		o.Argument = strings.ToLower(strings.Trim(o.Argument, "`"))
	}
	return o, true
}

// unseen reports characters that disguise a text.
func unseen(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// commitPattern is a commit id, or a prefix as people write it.
var commitPattern = lazyregexp.New("^`?(?:[0-9a-fA-F]{7,40}|[0-9a-fA-F]{64})`?$")

// problem describes the mistake in a command.
func (o Command) problem() string {
	first, more, _ := strings.Cut(o.Argument, " ")
	switch o.Verb {
	case Run:
		if more != "" {
			return "run takes one pattern of keys, such as support/**"
		}
	case Rerun:
		if o.Argument != Failed && o.Argument != Errors {
			return join("it is rerun failed or rerun errors", suggest.DidYouMean(first, []string{Failed, Errors}))
		}
	case Approve:
		if !commitPattern.MatchString(o.Argument) {
			return "approve takes the id of the commit"
		}
	case Accept:
		if first == "" || more == "" {
			return "accept takes the key of a case, or gavel.yaml, and the reason why that is meant"
		}
	case Quarantine:
		if _, rest, _ := strings.Cut(more, " "); rest == "" {
			return "quarantine takes the key of a case, the date until which it is out of the gate, and the reason"
		}
	case Explain:
		if o.Argument == "" {
			return "explain takes the key of a case"
		}
	case Cancel, Help:
		if o.Argument != "" {
			return o.Verb + " takes nothing more"
		}
	default:
		return join(fmt.Sprintf("unknown command %q", o.Verb), suggest.DidYouMean(o.Verb, verbs))
	}
	return ""
}

// join appends a hint to a message.
func join(said, hint string) string { return strings.TrimSuffix(said+"; "+hint, "; ") }

// String returns the command as it was written.
func (o Command) String() string {
	return strings.TrimSpace(prefix + " " + o.Verb + " " + o.Argument)
}
