package terminal

import (
	"io"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A LastReply is the last reply of the agent in a case that failed.
type LastReply struct{ Case, Text string }

// Said writes at most two lines of each reply, and the command that shows the rest of
// the first one. It writes nothing without replies.
func Said(w io.Writer, all []LastReply, o Options) error {
	if len(all) == 0 {
		return nil
	}
	const inset = "    "
	p := newPage(o)
	p.WriteString("\nWhat the agent said last:\n")
	for _, s := range all {
		p.paragraph(margin{first: "  "}, s.Case, "")
		lines := textfmt.Wrap(textfmt.Line(s.Text), p.Width-len(inset)-1)
		if len(lines) > 2 {
			lines = append(lines[:1:1], lines[1]+"…")
		}
		for _, line := range lines {
			p.WriteString(inset + p.paint(dim, line) + "\n")
		}
	}
	p.WriteString("gavel explain '" + strings.ReplaceAll(textfmt.Line(all[0].Case), "'", `'\''`) + "' shows the rest\n")
	return p.writeTo(w)
}

// Unanswered writes the command that shows the exchange with a target that gave no
// answer.
func Unanswered(w io.Writer, target string) error {
	_, err := io.WriteString(w, "\ngavel try "+textfmt.Line(target)+" shows what the target is sent and what it answers\n")
	return err
}
