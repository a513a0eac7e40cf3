package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// shares are the fields of the gate that are shares, written in percent.
var shares = []string{"max_cost_rise", "max_time_rise", "max_tokens_rise"}

// percentForm is the form of a share. Texts that are none are left to the checker.
type percentForm struct{ of *float64 }

// UnmarshalJSON reads the text form.
func (s *percentForm) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if of, ok := parsePercent(text); ok {
		s.of = &of
	}
	return nil
}

// parsePercent reads a share in percent, such as 50% or 7.5 %: 0 or more, and at most 100
// times.
func parsePercent(text string) (float64, bool) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimSpace(number)
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || strings.Trim(number, "0123456789.") != "" || n > 10_000 {
		return 0, false
	}
	return n / 100, true
}

// percent refuses a text that is not a share.
func (k *checker) percent(where ...any) {
	if !k.Doc.Has(where...) {
		return
	}
	text := k.Doc.Text(where...)
	if _, ok := parsePercent(text); !ok {
		k.Fail("bad-share", fmt.Sprintf("`%s` is %q, which is not a share of base's", where[len(where)-1], text), "write it in percent, such as 50%", where...)
	}
}

// inPercent makes the hint for a number in the place of a share write percent.
func inPercent(p schema.Problem) schema.Problem {
	field, _, _ := strings.Cut(strings.TrimPrefix(p.Message, "`"), "`")
	number := plainNumber.FindStringSubmatch(p.Hint)
	if !slices.Contains(shares, field) || p.Rule != "wrong-type" || number == nil {
		return p
	}
	if n, err := strconv.ParseFloat(number[1], 64); err == nil && n <= 3 {
		p.Hint = fmt.Sprintf(`write "%s%%"`, strconv.FormatFloat(n*100, 'f', -1, 64))
	} else {
		p.Hint = fmt.Sprintf(`write "%s%%"`, number[1])
	}
	return p
}
