// Package decimal writes equal numbers of JSON alike, without losing a digit.
//
// Callers want [Canonical].
package decimal

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// Numbers within these bounds are written without an exponent, to be
	// readable; they do not bear on which numbers are equal.
	maxTrailingZeros = 21
	maxLeadingZeros  = 6
)

// Canonical returns the one form of a JSON number: its digits without
// leading and trailing zeros, scaled by a power of ten.
func Canonical(s string) (string, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		sign, mantissa = "-", rest
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", nil
	}
	scale := 0
	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return "", fmt.Errorf("number %.40s: exponent out of range", s)
		}
		scale = int(n)
	}
	scale -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	scale += len(digits) - len(trimmed)
	return sign + placePoint(trimmed, scale), nil
}

// placePoint writes digits × 10^scale.
func placePoint(digits string, scale int) string {
	point := len(digits) + scale
	switch {
	case scale >= 0 && scale <= maxTrailingZeros:
		return digits + strings.Repeat("0", scale)
	case scale < 0 && point > 0:
		return digits[:point] + "." + digits[point:]
	case scale < 0 && -point < maxLeadingZeros:
		return "0." + strings.Repeat("0", -point) + digits
	case len(digits) == 1:
		return digits + "e" + strconv.Itoa(point-1)
	}
	return digits[:1] + "." + digits[1:] + "e" + strconv.Itoa(point-1)
}
