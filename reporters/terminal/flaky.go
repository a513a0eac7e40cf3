package terminal

import (
	"fmt"
	"io"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Flaky writes the flaky cases: how often each differs, its cost, and the newest
// measurement that disagrees.
func Flaky(w io.Writer, list report.FlakyList, o Options) error {
	p := newPage(o)
	for _, c := range list.Cases {
		p.flaky(c)
	}
	summary := fmt.Sprintf("%s of %s", textfmt.Count(len(list.Cases), "flaky case"), textfmt.Int(int64(list.Examined)))
	if list.Unknown > 0 {
		summary += fmt.Sprintf("; %s %s fewer than %d measurements, so nothing is known of %s (gavel run --repeat %d takes more)",
			textfmt.Int(int64(list.Unknown)), textfmt.Verb(list.Unknown, "has", "have"), report.Fewest, textfmt.Verb(list.Unknown, "it", "them"), report.Fewest)
	}
	p.paragraph(margin{}, summary, bold)
	return p.writeTo(w)
}

func (p *page) flaky(c *report.FlakyCase) {
	p.paragraph(margin{first: "≈ ", color: yellow}, c.Name, bold)
	said := fmt.Sprintf("usually %s; %s", c.Usual, c)
	if c.Cost != nil {
		said += "; " + textfmt.Count(c.Cost.Samples, "sample") + ", " + textfmt.Count(c.Cost.Calls, "call")
		if usd := c.Cost.CostUSD; usd != nil && *usd > 0 {
			said += ", " + textfmt.USD(*usd)
		}
	}
	p.paragraph(margin{first: "  "}, said, "")
	odd := c.Disagrees
	why := fmt.Sprintf("%s on %s: %s", odd.Verdict, odd.At.UTC().Format(time.DateOnly), odd.Reason)
	p.paragraph(margin{first: "  "}, why, colorOf(odd.Verdict))
	if odd.Reply != "" {
		p.paragraph(margin{first: "  "}, "replied: "+textfmt.Clip(textfmt.Line(odd.Reply), 200), dim)
	}
}
