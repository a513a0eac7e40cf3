package evaluate

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNumber(t *testing.T) {
	for _, tt := range []struct {
		text string
		want readings
	}{
		{"", nil},
		{"no number", nil},
		{"105", readings{105}},
		{"007", readings{7}},
		{"+5", readings{5}},
		{".5", readings{0.5}},
		{"5.", readings{5}},
		{"1,234.5", readings{1234.5}},
		{"1.234,5", readings{1234.5}},
		{"1.234.567,89", readings{1234567.89}},
		{"1,234,567", readings{1234567}},
		{"12,34,567.5", readings{1234567.5}},
		{"1.234", readings{1.234, 1234}},
		{"1,234", readings{1.234, 1234}},
		{"0,234", readings{0.234}},
		{"1234.567", readings{1234.567}},
		{"12,34", readings{12.34}},
		{"1 234 567", readings{1234567}},
		{"1 234 567,5", readings{1234567.5}},
		{"1\u00a0234,567", readings{1234.567}},
		{"1\u202f234", readings{1234}},
		{"1'234.50", readings{1234.5}},
		{"1’234", readings{1234}},
		{"1_000", readings{1000}},
		{"-5", readings{-5}},
		{"−5", readings{-5}},
		{"-$1.50", readings{-1.5}},
		{"$-1.50", readings{-1.5}},
		{"level-3", readings{3}},
		{"about -3 degrees", readings{-3}},
		{"Rp105", readings{105}},
		{"Rp 1.234.567", readings{1234567}},
		{"USD 12.50", readings{12.5}},
		{"€12,50", readings{12.5}},
		{"105kg", readings{105}},
		{"50%", readings{50, 0.5}},
		{"12,5 %", readings{12.5, 0.125}},
		{"1.5e3", readings{1500}},
		{"2E-2", readings{0.02}},
		{"2 juta", readings{2e6}},
		{"1,5 miliar rupiah", readings{1.5e9}},
		{"3 thousand", readings{3000}},
		{"３．５", readings{3.5}},
		{"**42**", readings{42}},
		{"x2", nil},
		{"GPT4 says 5", readings{5}},
		{"h2o", nil},
		{"1.2.3", nil},
		{"1,2,3", nil},
		{"1.234,567.8", nil},
		{"1,2345,678", nil},
		{"10:30", nil},
		{"1/2", nil},
		{"2024-01-05", nil},
		{"3 or 4", nil},
		{"1e999", nil},
		{"1..2", nil},
		{strings.Repeat("9", 400), nil},
		{"\xff5\xff", readings{5}},
	} {
		got := parseNumber(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("parseNumber(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestNear(t *testing.T) {
	for _, tt := range []struct {
		a, b      string
		tolerance float64
		want      bool
	}{
		{"105", "105.01", 0.01, true},
		{"105", "105.0101", 0.01, false},
		{"0.1", "0.3", 0.2, true},
		{"1.234", "1234", 0, true},
		{"50%", "0.5", 0, true},
		{"50%", "500", 0, false},
		{"", "", 1, false},
		{"", "0", 1, false},
	} {
		if got := parseNumber(tt.a).near(parseNumber(tt.b), tt.tolerance); got != tt.want {
			t.Errorf("%q near %q within %v: %v, want %v", tt.a, tt.b, tt.tolerance, got, tt.want)
		}
	}
}

// Whatever the text is, readings are finite; and a number that a program wrote
// is read as what it is, in both customs of writing it.
func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"105", "1.234,5", "−$1,234.50 %", "Rp 1.234.567", "1 234", "1e5", ".", "e", "1'2", "9999999999999999999999", "\xff", "5 juta"} {
		f.Add(s, 1234567.25)
	}
	f.Fuzz(func(t *testing.T, text string, v float64) {
		for _, r := range parseNumber(text) {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				t.Errorf("parseNumber(%q) gives %v", text, r)
			}
		}
		if math.IsNaN(v) || math.Abs(v) > 1e15 {
			return
		}
		written := strconv.FormatFloat(v, 'f', 2, 64)
		want, err := strconv.ParseFloat(written, 64)
		if err != nil {
			t.Fatal(err)
		}
		swap := strings.NewReplacer(".", ",")
		for _, s := range []string{written, swap.Replace(written), "the answer is " + written + " kg.", group(written, ",", "."), group(written, ".", ",")} {
			if got := parseNumber(s); !got.near(readings{want}, 0) {
				t.Errorf("parseNumber(%q) = %v, want %v", s, got, want)
			}
		}
	})
}

// group writes a plain number with separators of thousands.
func group(s, thousands, decimal string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	whole, fraction, _ := strings.Cut(s, ".")
	var parts []string
	for len(whole) > 3 {
		parts = append([]string{whole[len(whole)-3:]}, parts...)
		whole = whole[:len(whole)-3]
	}
	return sign + strings.Join(append([]string{whole}, parts...), thousands) + decimal + fraction
}
