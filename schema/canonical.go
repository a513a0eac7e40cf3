package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical rewrites one JSON value so that equal values have equal bytes: keys sorted
// by their bytes, no white space, no escapes that JSON does not require, and numbers in
// one form, so that 1, 1.0 and 1e0 are the same. No digit is lost. The last of
// duplicate keys counts. The error describes invalid JSON.
func Canonical(data []byte) (json.RawMessage, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("reading json: %w", invalid(data))
	}
	c := canonicalizer{data: string(data), out: make([]byte, 0, len(data)), values: make([]jsonValue, 0, min(1+len(data)/8, 64))}
	c.read()
	if err := c.write(0); err != nil {
		return nil, err
	}
	return c.out, nil
}

// invalid returns the mistake of a text that is not one JSON value.
func invalid(data []byte) error {
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)); err != nil {
		return err
	}
	return errors.New("data after the value")
}

// A canonicalizer reads a valid JSON text into values, and writes them in their canonical
// form.
type canonicalizer struct {
	data   string
	at     int // the place in data
	values []jsonValue
	out    []byte
}

// A jsonValue is followed by its content: by the items of an array, or by the keys of an
// object with a value after each.
type jsonValue struct {
	kind byte   // the first byte
	text string // a string without quotes and escapes, a number or a word
	next int    // the index after the content
}

// read reads the value at the place.
func (c *canonicalizer) read() {
	i, kind := len(c.values), c.peek()
	c.values = append(c.values, jsonValue{kind: kind})
	switch kind {
	case '{', '[':
		for c.at++; c.peek() != kind+2; { // the bracket that closes
			c.read()
		}
		c.at++
	case '"':
		c.values[i].text = c.readString()
	default:
		end := strings.IndexAny(c.data[c.at:], ",:]} \t\r\n")
		if end < 0 {
			end = len(c.data) - c.at
		}
		c.values[i].text = c.data[c.at : c.at+end]
		c.at += end
	}
	c.values[i].next = len(c.values)
}

// peek goes to the next byte that is not white space, a comma or a colon.
func (c *canonicalizer) peek() byte {
	for strings.IndexByte(" \t\r\n,:", c.data[c.at]) >= 0 {
		c.at++
	}
	return c.data[c.at]
}

// readString reads a string. Invalid UTF-8 becomes U+FFFD.
func (c *canonicalizer) readString() string {
	from, escaped := c.at, false
	for c.at++; c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			escaped = true
			c.at++
		}
	}
	c.at++
	if text := c.data[from+1 : c.at-1]; !escaped && utf8.ValidString(text) {
		return text
	}
	var s string
	_ = json.Unmarshal([]byte(c.data[from:c.at]), &s) // it is valid
	return s
}

// write writes the value with an index.
func (c *canonicalizer) write(i int) error {
	v := c.values[i]
	switch v.kind {
	case '{':
		return c.writeObject(i)
	case '[':
		c.out = append(c.out, '[')
		for item := i + 1; item < v.next; item = c.values[item].next {
			if item > i+1 {
				c.out = append(c.out, ',')
			}
			if err := c.write(item); err != nil {
				return err
			}
		}
		c.out = append(c.out, ']')
	case '"':
		c.writeString(v.text)
	case 't', 'f', 'n':
		c.out = append(c.out, v.text...)
	default:
		number, err := canonicalNumber(v.text)
		if err != nil {
			return err
		}
		c.out = append(c.out, number...)
	}
	return nil
}

// writeObject writes the object with an index.
func (c *canonicalizer) writeObject(i int) error {
	keys := make([]int, 0, 8)
	for key := i + 1; key < c.values[i].next; key = c.values[key+1].next {
		keys = append(keys, key)
	}
	slices.SortStableFunc(keys, func(a, b int) int { return strings.Compare(c.values[a].text, c.values[b].text) })
	c.out = append(c.out, '{')
	for k, key := range keys {
		if k+1 < len(keys) && c.values[key].text == c.values[keys[k+1]].text {
			continue // the last of duplicates counts
		}
		if c.out[len(c.out)-1] != '{' {
			c.out = append(c.out, ',')
		}
		c.writeString(c.values[key].text)
		c.out = append(c.out, ':')
		if err := c.write(key + 1); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

func (c *canonicalizer) writeString(text string) {
	c.out = append(c.out, '"')
	written := 0
	for i, r := range text {
		if r >= ' ' && r != '"' && r != '\\' && r != '\u2028' && r != '\u2029' {
			continue
		}
		c.out = append(c.out, text[written:i]...)
		written = i + utf8.RuneLen(r)
		if short := strings.IndexRune("\"\\\b\f\n\r\t", r); short >= 0 {
			c.out = append(c.out, '\\', `"\bfnrt`[short])
		} else {
			c.out = fmt.Appendf(c.out, `\u%04x`, r)
		}
	}
	c.out = append(append(c.out, text[written:]...), '"')
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
	if len(s) <= maxTrailingZeros && s != "-0" && !strings.ContainsAny(s, ".eE") {
		return s, nil
	}
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
