package maintenance

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// The units of sizes, the longest suffix first.
var units = []struct {
	suffix string
	bytes  float64
}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

// ParseBytes parses a size such as 500MB.
func ParseBytes(text string) (int64, error) {
	number, factor := strings.ToUpper(strings.TrimSpace(text)), 1.
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*factor > math.MaxInt64/2 {
		return 0, fmt.Errorf("%s is not a size; write 500MB or 2GB", text)
	}
	return int64(n * factor), nil
}

// ParsePull parses the name of a pull request such as octo/demo#7.
func ParsePull(text string) (ledger.Trust, error) {
	name, number, _ := strings.Cut(text, "#")
	repo, err := forge.ParseRepo(name)
	n, bad := strconv.Atoi(number)
	if err != nil || bad != nil || n <= 0 {
		return ledger.Trust{}, fmt.Errorf("%s is not a pull request; write owner/name#7", text)
	}
	return ledger.Trust{Level: ledger.LevelPull, Repository: repo.String(), PullRequest: n}, nil
}

func size(n int64) string {
	for _, u := range units[:2] {
		if float64(n) >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/u.bytes, u.suffix)
		}
	}
	return fmt.Sprintf("%.0f KB", float64(n)/1e3)
}

func count(n int64, what string) string { return textfmt.Count(int(n), what) }

// Verified describes the findings of a verification.
func Verified(v ledger.Verification) string {
	var b strings.Builder
	for _, f := range v.Faults {
		fmt.Fprintf(&b, "%s: %s\n", f.Entry, textfmt.Line(f.Message))
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", v.More)
	}
	found := "all holds"
	if n := len(v.Faults) + v.More; n > 0 {
		found = textfmt.Count(n, "fault")
	}
	fmt.Fprintf(&b, "%s, %d of them re-decided from their samples: %s\n", textfmt.Count(v.Verdicts, "verdict"), v.Redecided, found)
	return b.String()
}

// Text formats the totals.
func (t Totals) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s, %s and %s in %s\n", count(t.Runs, "run"), count(t.Verdicts, "verdict"),
		count(t.Samples, "sample"), count(t.Judgements, "judgement"), count(t.Calls, "call"), size(t.Bytes+t.Free))
	if t.ReuseRate != nil {
		fmt.Fprintf(&b, "reused: %d of %s (%.0f %%)\n", t.Reused, textfmt.Count(t.Judged+t.Reused, "case"), 100**t.ReuseRate)
	}
	fmt.Fprintf(&b, "spent: %s\n", t.Spent)
	if n := t.Unreported.Runs; n > 0 {
		fmt.Fprintf(&b, "  in %s without a report, running or interrupted: %s\n", textfmt.Count(n, "run"), t.Unreported.Amount)
	}
	fmt.Fprintf(&b, "saved: %s\n", t.Saved)
	for _, a := range t.Accounts {
		fmt.Fprintf(&b, "budget of %s: %s, %d tokens, %s\n", textfmt.Line(a.Name), count(a.Calls, "call"), a.Tokens, textfmt.USD(a.USD))
	}
	return b.String()
}

// String formats an amount.
func (x Amount) String() string {
	return textfmt.Count(x.Calls, "call") + ", " + textfmt.Spent(x.USD, x.Unpriced)
}
