package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Canonical rewrites one JSON value so that equal values have equal bytes: keys sorted
// by their bytes, no white space, no escapes that JSON does not require, and numbers in
// one form, so that 1, 1.0 and 1e0 are the same. No digit is lost. The last of
// duplicate keys counts. The error describes invalid JSON.
func Canonical(data []byte) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading json: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading json: data after the value")
	}
	return appendCanonical(make([]byte, 0, len(data)), value)
}

// appendCanonical writes a value that encoding/json decoded with UseNumber.
func appendCanonical(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, v), nil
	case json.Number:
		s, err := canonicalNumber(string(v))
		return append(dst, s...), err
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendCanonical(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key), ':')
			var err error
			if dst, err = appendCanonical(dst, v[key]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return nil, fmt.Errorf("writing json: unexpected type %T", value)
}

func appendString(dst []byte, s string) []byte {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	// A string always encodes; invalid UTF-8 becomes U+FFFD.
	_ = enc.Encode(s)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

const (
	// Numbers within these bounds are written without an exponent, to be
	// readable; they do not bear on which numbers are equal.
	maxTrailingZeros = 21
	maxLeadingZeros  = 6
)

// canonicalNumber returns the one form of a JSON number, without losing a digit: its digits without
// leading and trailing zeros, scaled by a power of ten.
func canonicalNumber(s string) (string, error) {
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
