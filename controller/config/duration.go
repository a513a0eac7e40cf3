package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// day is the unit d.
const day = 24 * time.Hour

// durations are the fields that are durations, in both configurations.
var durations = []string{"timeout", "wait_for", "max_age", "history", "poll", "deadline"}

// plainNumber matches the hint for a number in the place of a text.
var plainNumber = lazyregexp.New(`^write "([0-9.]+)"$`)

// withUnit makes the hint for a duration without a unit name one.
func withUnit(p schema.Problem) schema.Problem {
	field, _, _ := strings.Cut(strings.TrimPrefix(p.Message, "`"), "`")
	if slices.Contains(durations, field) && p.Rule == "wrong-type" {
		p.Hint = plainNumber.ReplaceAllString(p.Hint, "write ${1}s, if these are seconds")
	}
	return p
}

// ParseDuration reads a duration with its units, such as 60s, 1h30m, 90d or
// 1d12h. A day has 24 hours. The error says what to write instead.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		days, rest = "0", text
	}
	n, err := strconv.ParseFloat(days, 64)
	var more time.Duration
	if err == nil && (rest != "" || !ok) {
		more, err = time.ParseDuration(rest)
	}
	whole := n * float64(day)
	// A sign after the days, or letters that a number may have, make it
	// something other than a duration.
	switch {
	case err != nil, strings.Trim(days, "0123456789.") != "" && ok, ok && strings.ContainsAny(rest, "+-"), !(math.Abs(whole) < math.MaxInt64-math.Abs(float64(more))):
		return 0, fmt.Errorf("%q is not a duration; write it with a unit, such as 60s, 5m, 12h or 90d", text)
	}
	return time.Duration(whole) + more, nil
}
