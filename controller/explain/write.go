package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Detail selects optional parts of the output.
type Detail struct {
	// Digests are the three digests with their parts.
	Digests bool
	// Prompts are the judges' prompts and replies, word for word.
	Prompts bool
}

// Write writes a case for people, the most important first: the verdict, the
// conversation turn by turn with the findings of each turn, every judgement, and the
// reason why the case runs or not.
func (x Case) Write(w io.Writer, more Detail) error {
	var b strings.Builder
	writeHead(&b, x)
	for _, s := range x.Samples {
		t := s.Transcript
		fmt.Fprintf(&b, "\n%s, %s", SampleName(s.Ordinal, s.Variant), textfmt.Count(t.Usage.Calls+t.Simulated.Calls, "call"))
		if t.Ended != "" {
			fmt.Fprintf(&b, ", ended by %s", t.Ended)
		}
		b.WriteString("\n")
		writeTranscript(&b, t, remarks(x.Judgements, s))
	}
	writeUnfinished(&b, x)
	asked := false
	for _, s := range x.Judgements {
		for _, m := range s.Measurements {
			fmt.Fprintf(&b, "\n%s by %s: %s\n", SampleName(s.Ordinal, s.Variant), m.Evaluator, textfmt.Line(m.Reason))
			writeMeasurement(&b, m, more)
			asked = asked || m.Asked != ""
		}
	}
	writePlan(&b, x)
	if more.Digests {
		writeDigests(&b, x)
	}
	switch {
	case asked && !more.Prompts && !more.Digests:
		b.WriteString("--prompts adds what judges were asked and answered, --digests what the digests consist of\n")
	case asked && !more.Prompts:
		b.WriteString("--prompts adds what judges were asked and answered\n")
	case !more.Digests:
		b.WriteString("--digests adds what the digests consist of\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeHead writes the case's name and verdict.
func writeHead(b *strings.Builder, x Case) {
	fmt.Fprintf(b, "%s\n  %s:%d\n", x.Key, x.File, x.Line)
	if x.Form != "" {
		fmt.Fprintf(b, "  in the form of %s\n", x.Form)
	}
	for _, rule := range x.Differing {
		fmt.Fprintf(b, "  %s\n", textfmt.Line(rule))
	}
	if id := x.Identity; id != nil {
		fmt.Fprintf(b, "  id %s%s%s\n", textfmt.Line(id.ID), day(", created ", id.Created), day(", updated ", id.Updated))
	}
	if x.Decision != nil {
		fmt.Fprintf(b, "  %s %s: %s\n", x.Decision.Verdict, textfmt.OutOf(x.Decision.Score, x.scale), textfmt.Line(x.Decision.Reason))
		writeShare(b, x.Decision.PassShare)
		writeAttempts(b, x)
	}
}

// writeShare writes pass^k of a case that asks for a share of its samples. The counts are in
// the reason.
func writeShare(b *strings.Builder, share *verdict.PassShare) {
	if share == nil {
		return
	}
	fmt.Fprintf(b, "  %d of %d samples pass, %d of %d must\n ", share.Passes, share.Samples, share.Need, share.Of)
	for k, chance := range share.PassK {
		if k == mostPowers {
			b.WriteString(" …")
			break
		}
		fmt.Fprintf(b, " pass^%d %.3f", k+1, chance)
	}
	b.WriteString("\n")
}

// mostPowers is how many of the values pass^k are written.
const mostPowers = 10

// writePlan writes the next run's action for the case, and its past cost.
func writePlan(b *strings.Builder, x Case) {
	action := x.Action.Text()
	if x.Action == plan.Reuse && x.Decision == nil {
		action = "unaffected"
	}
	fmt.Fprintf(b, "\nplan: %s", action)
	if len(x.Reasons) > 0 {
		fmt.Fprintf(b, ", %s", plan.Summarise(x.Reasons))
	}
	b.WriteString("\n")
	switch {
	case x.Error != "":
		fmt.Fprintf(b, "The newest run has no verdict of it: %s\n", textfmt.Line(x.Error))
		return
	case x.Decision == nil:
		b.WriteString("No verdict is stored for this state: run it with gavel run.\n")
		return
	}
	tokens := "tokens unknown" // no target reported them
	if n := x.Usage.Tokens(); n > 0 || x.Usage.Calls == 0 {
		tokens = fmt.Sprintf("%d tokens", n)
	}
	fmt.Fprintf(b, "%s, %s%s\n", textfmt.Count(x.Usage.Calls, "call"), tokens, textfmt.Cost(x.CostUSD))
	reused := 0
	for _, call := range x.Calls {
		if call.Reused {
			reused++
		}
	}
	if reused > 0 {
		fmt.Fprintf(b, "%s of judges reused from an earlier judgement\n", textfmt.Count(reused, "call"))
	}
}

// writeDigests writes the digests and their parts.
func writeDigests(b *strings.Builder, x Case) {
	fmt.Fprintf(b, "\nDigests\n  execution %s\n  judgement %s\n  decision  %s\n\nParts\n", x.Digests.E, x.Digests.J, x.Digests.D)
	for _, p := range x.Digests.Parts {
		fmt.Fprintf(b, "  %-9s  %.12s  %s", p.Layer, p.Digest, p.Title())
		if p.Show != "" {
			fmt.Fprintf(b, " %s", textfmt.Line(p.Show))
		}
		fmt.Fprintf(b, "  %s\n", strings.Join(p.Files, ", "))
	}
}

// writeAttempts writes the attempts, the rewritten prompt and the second one.
func writeAttempts(b *strings.Builder, x Case) {
	if x.Decision.NoThreshold {
		b.WriteString("  no threshold: every score passes\n")
	}
	if r := reporters.NewAttempts(x.Decision.Attempts, x.Decision.Comparison); r != nil {
		for _, line := range r.Lines(x.scale) {
			fmt.Fprintf(b, "  %s\n", line)
		}
	}
}

// SampleName returns the name of a sample, counted from 1.
func SampleName(ordinal int, variant string) string {
	name := fmt.Sprintf("Sample %d", ordinal+1)
	if variant != "" {
		name += " of " + variant
	}
	return name
}

// remarks returns the findings of each turn of a sample.
func remarks(judged []Judgement, of Sample) map[int][]string {
	found := map[int][]string{}
	add := func(c verdict.Criterion) {
		turns := c.Turns
		c.Turns = nil
		for _, turn := range turns {
			found[turn] = append(found[turn], fmt.Sprintf("%s %s  %s", textfmt.Line(c.ID), criterionScore(c), textfmt.Line(c.Remark())))
		}
	}
	for _, s := range judged {
		if s.Ordinal != of.Ordinal || s.Variant != of.Variant {
			continue
		}
		for _, m := range s.Measurements {
			for _, c := range m.Criteria {
				add(c)
			}
		}
	}
	return found
}

// criterionScore formats the score of a criterion that was measured. A quantity has none
// before it is compared with its bounds.
func criterionScore(c verdict.Criterion) string {
	switch {
	case c.NotApplicable:
		return "n/a "
	case c.Value != nil:
		return "–   "
	}
	return textfmt.Score(&c.Score, 2)
}

// writeTranscript numbers the turns as judges and reports do.
func writeTranscript(b *strings.Builder, t verdict.Transcript, remarks map[int][]string) {
	if t.System != "" {
		fmt.Fprintf(b, "     system     %s\n", textfmt.Line(t.System))
	}
	if len(t.Tools) > 0 {
		names := make([]string, len(t.Tools))
		for i, tool := range t.Tools {
			names[i] = textfmt.Line(tool.Name)
		}
		fmt.Fprintf(b, "     tools      %s\n", strings.Join(names, ", "))
	}
	for i, m := range t.Messages {
		thinking, said := verdict.Thought(m)
		if thinking != "" {
			fmt.Fprintf(b, "%4d %-10s thought first: %s (--json has all of it)\n", i+1, m.Role, textfmt.Fit(textfmt.Line(thinking), 60))
		}
		if said != "" || thinking == "" && len(m.ToolCalls) == 0 {
			fmt.Fprintf(b, "%4d %-10s %s\n", i+1, m.Role, textfmt.Line(said))
		}
		for _, call := range m.ToolCalls {
			fmt.Fprintf(b, "%4d %-10s calls %s(%s)\n", i+1, m.Role, textfmt.Line(call.Function.Name), textfmt.Line(call.Function.Arguments))
		}
		for _, text := range remarks[i+1] {
			fmt.Fprintf(b, "                > %s\n", text)
		}
	}
	for _, text := range t.Notes {
		fmt.Fprintf(b, "     note       %s\n", textfmt.Line(text))
	}
}

// writeUnfinished shows the transcript of a sample that never ended.
func writeUnfinished(b *strings.Builder, x Case) {
	last := ""
	for _, call := range x.Calls {
		if slices.ContainsFunc(x.Samples, func(s Sample) bool { return s.Ordinal == call.Ordinal && s.Variant == call.Variant }) {
			continue
		}
		if name := SampleName(call.Ordinal, call.Variant); name != last {
			fmt.Fprintf(b, "\n%s, not finished\n", name)
			last = name
		}
		var reply target.Reply
		if json.Unmarshal(call.Reply, &reply) != nil {
			continue // an older version wrote it
		}
		for _, m := range reply.Messages {
			text := textfmt.Line(m.Content)
			for _, c := range m.ToolCalls {
				text += fmt.Sprintf(" calls %s(%s)", textfmt.Line(c.Function.Name), textfmt.Line(c.Function.Arguments))
			}
			fmt.Fprintf(b, "     %-10s %s\n", call.Role, strings.TrimSpace(text))
		}
	}
}

func writeMeasurement(b *strings.Builder, m verdict.Measurement, more Detail) {
	for _, c := range m.Criteria {
		fmt.Fprintf(b, "  %-30s %s  %s\n", textfmt.Line(c.ID), criterionScore(c), textfmt.Line(c.Remark()))
	}
	if more.Prompts && m.Asked != "" {
		fmt.Fprintf(b, "  asked\n%s\n  answered\n%s\n", quoted(m.Asked), quoted(m.Answered))
	}
}

// quoted indents a text of several lines.
func quoted(text string) string {
	return "    | " + strings.ReplaceAll(strings.TrimRight(textfmt.Clean(text), "\n"), "\n", "\n    | ")
}

// day formats a date after a word; empty without a date.
func day(word string, at *time.Time) string {
	if at == nil {
		return ""
	}
	return word + at.UTC().Format(time.DateOnly)
}
