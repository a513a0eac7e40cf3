package evaluate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// mostShown bounds an excerpt that a criterion shows, in characters.
const mostShown = 300

// contrast adds the expected and the actual text to a criterion that does not hold. Long
// texts with the same beginning are shown from shortly before their first difference.
func contrast(c *verdict.Criterion, expected, actual string) {
	if c.Score == 1 || expected == "" {
		return
	}
	same := 0
	for same < min(len(expected), len(actual)) && expected[same] == actual[same] {
		same++
	}
	from := 0
	if same > mostShown/2 {
		from = same - mostShown/4
	}
	for from > 0 && !utf8.RuneStart(expected[from]) {
		from--
	}
	c.Expected, c.Actual = excerpt(expected, from), excerpt(actual, from)
}

// excerpt returns a text from an index on, cut to mostShown characters.
func excerpt(s string, from int) string {
	s = s[from:min(len(s), from+(mostShown+1)*utf8.UTFMax)]
	runes := []rune(strings.ToValidUTF8(s, "\ufffd"))
	s = string(runes)
	if len(runes) > mostShown {
		s = string(runes[:mostShown-1]) + "…"
	}
	if from > 0 {
		s = "…" + s
	}
	return s
}

// uncontrasted returns criteria without the texts for people, for programs.
func uncontrasted(criteria []verdict.Criterion) []verdict.Criterion {
	out := slices.Clone(criteria)
	for i := range out {
		out[i].Expected, out[i].Actual = "", ""
	}
	return out
}

// contrastOrder adds the expected and the actual calls, in order, to a criterion.
func contrastOrder(c *verdict.Criterion, wanted, made []Call) {
	contrast(c, listCalls(wanted), listCalls(made))
}

// contrastCalls adds an expected call and the calls of its tool, or all calls without one,
// to a criterion. It adds nothing if some call fits, since then only the order or the
// number of calls is wrong.
func contrastCalls(c *verdict.Criterion, want Call, fits []bool, made []Call) {
	if slices.Contains(fits, true) {
		return
	}
	of := slices.DeleteFunc(slices.Clone(made), func(m Call) bool { return m.Name != want.Name })
	if len(of) == 0 {
		of = made
	}
	contrast(c, want.source(), listCalls(of))
}

// listCalls returns calls with their arguments, one a line.
func listCalls(calls []Call) string {
	var b strings.Builder
	for i, c := range calls {
		if b.Len() > 2*mostShown*utf8.UTFMax { // more is never shown
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.source())
	}
	return b.String()
}

// source returns a call as its name with the arguments in parentheses.
func (c Call) source() string { return c.Name + "(" + strings.TrimSpace(c.Text) + ")" }

// callsOf returns the calls in a list.
func callsOf[T any](list []T, call func(T) Call) []Call {
	out := make([]Call, len(list))
	for i, x := range list {
		out[i] = call(x)
	}
	return out
}
