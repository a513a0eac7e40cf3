package comment

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// next writes a sentence about what to do, if a state asks for it. A commit that waits has
// a block of its own, see approval.
func (c *comment) next() {
	if text := c.nextStep(); text != "" {
		c.line("**Next:** " + text)
		c.line("")
	}
}

func (c *comment) nextStep() string {
	d, failed := c.r.Diff, c.r.Gate.Result == report.GateFail
	accept, rerun := c.command("/gavel accept <case>"), c.command("/gavel rerun")
	switch {
	case c.approve() != "" || c.acceptance() != "":
		return ""
	case schema.HasErrors(c.r.Problems) && d.Regressions > 0:
		return "correct what is invalid and fix what got worse, and push" + or("if the new behaviour is right, comment", accept) + "."
	case schema.HasErrors(c.r.Problems):
		return "correct what is invalid, and push."
	case d.Regressions > 0:
		return "fix what got worse, and push" + or("if the new behaviour is right, comment", accept) + "."
	case report.Errors(c.r) > 0:
		return "look at the errors, and judge their cases again" + or("comment", rerun) + "."
	case d.Unclear > 0 && !failed:
		return "nothing has to be done; the unclear cases can be measured again" + or("comment", rerun) + "."
	case failed:
		return "change what the gate names below, and push" + or("to judge the failed cases again, comment", rerun) + "."
	}
	return ""
}

// or appends a command that people can comment, if it is offered.
func or(when, command string) string {
	if command == "" {
		return ""
	}
	return "; " + when + " <code>" + textfmt.Markdown(command, 100) + "</code>"
}

// command returns the offered command that begins with a text; empty for none.
func (c *comment) command(begin string) string {
	i := slices.IndexFunc(c.o.Commands, func(s string) bool { return strings.HasPrefix(s, begin) })
	if i < 0 {
		return ""
	}
	return c.o.Commands[i]
}
