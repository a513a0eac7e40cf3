package number

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Readings
	}{
		{"", nil},
		{"no number", nil},
		{"105", Readings{105}},
		{"007", Readings{7}},
		{"+5", Readings{5}},
		{".5", Readings{0.5}},
		{"5.", Readings{5}},
		{"1,234.5", Readings{1234.5}},
		{"1.234,5", Readings{1234.5}},
		{"1.234.567,89", Readings{1234567.89}},
		{"1,234,567", Readings{1234567}},
		{"12,34,567.5", Readings{1234567.5}},
		{"1.234", Readings{1.234, 1234}},
		{"1,234", Readings{1.234, 1234}},
		{"0,234", Readings{0.234}},
		{"1234.567", Readings{1234.567}},
		{"12,34", Readings{12.34}},
		{"1 234 567", Readings{1234567}},
		{"1 234 567,5", Readings{1234567.5}},
		{"1\u00a0234,567", Readings{1234.567}},
		{"1\u202f234", Readings{1234}},
		{"1'234.50", Readings{1234.5}},
		{"1’234", Readings{1234}},
		{"1_000", Readings{1000}},
		{"-5", Readings{-5}},
		{"−5", Readings{-5}},
		{"-$1.50", Readings{-1.5}},
		{"$-1.50", Readings{-1.5}},
		{"level-3", Readings{3}},
		{"about -3 degrees", Readings{-3}},
		{"Rp105", Readings{105}},
		{"Rp 1.234.567", Readings{1234567}},
		{"USD 12.50", Readings{12.5}},
		{"€12,50", Readings{12.5}},
		{"105kg", Readings{105}},
		{"50%", Readings{50, 0.5}},
		{"12,5 %", Readings{12.5, 0.125}},
		{"1.5e3", Readings{1500}},
		{"2E-2", Readings{0.02}},
		{"2 juta", Readings{2e6}},
		{"1,5 miliar rupiah", Readings{1.5e9}},
		{"3 thousand", Readings{3000}},
		{"３．５", Readings{3.5}},
		{"**42**", Readings{42}},
		{"x2", nil},
		{"GPT4 says 5", Readings{5}},
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
		{"\xff5\xff", Readings{5}},
	} {
		got := Parse(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", tt.text, diff)
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
		if got := Parse(tt.a).Near(Parse(tt.b), tt.tolerance); got != tt.want {
			t.Errorf("%q near %q within %v: %v, want %v", tt.a, tt.b, tt.tolerance, got, tt.want)
		}
	}
}

// Readings are finite, whatever the text is; and a number that a program wrote
// is read as what it is, in both customs of writing it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"105", "1.234,5", "−$1,234.50 %", "Rp 1.234.567", "1 234", "1e5", ".", "e", "1'2", "9999999999999999999999", "\xff", "5 juta"} {
		f.Add(s, 1234567.25)
	}
	f.Fuzz(func(t *testing.T, text string, v float64) {
		for _, r := range Parse(text) {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				t.Errorf("Parse(%q) gives %v", text, r)
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
			if got := Parse(s); !got.Near(Readings{want}, 0) {
				t.Errorf("Parse(%q) = %v, want %v", s, got, want)
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

// TestBare tells a number with nothing around it from a text about one.
func TestBare(t *testing.T) {
	for _, text := range []string{"105", " 105 ", "-5", "−5", "+1", ".5", "1.234,5", "1 234", "50%", "50 %", "$5", "$ -5", "5 €", "-$5", "1e3", "１０５"} {
		if !IsBare(text) || Parse(text) == nil {
			t.Errorf("%q is not bare, want it bare", text)
		}
	}
	for _, text := range []string{"", "-", "five", "It is not 105", "105 kg", "Rp105", "x2", "= 105", "(105)", "15 * 7", "10:30", "2 juta"} {
		if IsBare(text) {
			t.Errorf("%q is bare, want it not bare", text)
		}
	}
}

// TestLoneSeparator has the custom say what 1.234 is.
func TestLoneSeparator(t *testing.T) {
	for _, tt := range []struct {
		answer, reply string
		want          bool
	}{
		{"1234", "1.234", true}, {"1234", "1,234", true}, {"1.5", "1.500", true}, {"1500", "1.500", true}, {"1.5", "1500", false},
		{"2", "2.000", false}, {"1.25", "1,25", true}, {"1.234", "1234", true}, {"many", "1", false},
	} {
		got := ParseIn(tt.reply, CustomOf(tt.answer)).Near(Parse(tt.answer), 0)
		if got != tt.want {
			t.Errorf("%s for %s: equal is %v, want %v", tt.reply, tt.answer, got, tt.want)
		}
	}
}
