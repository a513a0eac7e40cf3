package template

import (
	"math"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

func round(c *call) (any, error) {
	digits := c.arg(0)
	if !truthy(digits) {
		digits = 0.0
	}
	factor := math.Pow(10, number(digits))
	n := number(c.value) * factor
	switch c.arg(1) {
	case "ceil":
		n = math.Ceil(n)
	case "floor":
		n = math.Floor(n)
	default:
		if whole := math.Floor(n); n-whole >= 0.5 {
			n = whole + 1
		} else {
			n = whole
		}
	}
	return n / factor, nil
}

var fraction = lazyregexp.New(`^[+-]?(Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)`)

func toFloat(c *call) (any, error) {
	s, err := c.x.compared(c.at, c.value)
	if err != nil {
		return nil, err
	}
	f, wrong := strconv.ParseFloat(fraction.FindString(strings.TrimLeftFunc(s, isSpace)), 64)
	if wrong != nil && !math.IsInf(f, 0) {
		return c.arg(0), nil
	}
	return f, nil
}

func toInt(c *call) (any, error) {
	c.byName("default", "base")
	s, err := c.x.compared(c.at, c.value)
	if err != nil {
		return nil, err
	}
	base := c.arg(1)
	if isUndefined(base) {
		base = 10.0
	}
	if f := wholeNumber(strings.TrimLeftFunc(s, isSpace), number(base)); !math.IsNaN(f) {
		return f, nil
	}
	return c.arg(0), nil
}

// digitsOf are the digits of the largest base.
const digitsOf = "0123456789abcdefghijklmnopqrstuvwxyz"

// wholeNumber reads the number at the start of a text as JavaScript's parseInt does. It is
// NaN without one.
func wholeNumber(s string, base float64) float64 {
	s, sign := strings.ToLower(s), 1.0
	if rest, isNegative := strings.CutPrefix(s, "-"); isNegative {
		s, sign = rest, -1
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	rest, isHex := strings.CutPrefix(s, "0x")
	switch {
	case (math.IsNaN(base) || base == 0) && isHex, base == 16 && isHex:
		s, base = rest, 16
	case math.IsNaN(base) || base == 0:
		base = 10
	}
	if base = math.Trunc(base); base < 2 || base > 36 {
		return math.NaN()
	}
	end := len(s) - len(strings.TrimLeft(s, digitsOf[:int(base)]))
	if end == 0 {
		return math.NaN()
	}
	if base == 10 {
		f, _ := strconv.ParseFloat(s[:end], 64) // digits; infinite if it is too large
		return sign * f
	}
	total := 0.0
	for i := range end {
		total = total*base + float64(strings.IndexByte(digitsOf, s[i]))
	}
	return sign * total
}
