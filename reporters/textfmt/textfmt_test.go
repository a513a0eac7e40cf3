package textfmt

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNumbers(t *testing.T) {
	half, small := 0.5, 0.12345
	for _, tc := range []struct{ name, got, want string }{
		{"one case", Count(1, "case"), "1 case"},
		{"no cases", Count(0, "case"), "0 cases"},
		{"many cases", Count(1204, "case"), "1,204 cases"},
		{"million", Int(1234567), "1,234,567"},
		{"three digits", Int(100), "100"},
		{"negative", Int(-1000), "−1,000"},
		{"score", Score(&half, 2), "0.50"},
		{"rounded score", Score(&small, 3), "0.123"},
		{"nearly one", Score(new(0.9996), 3), "0.999"},
		{"nearly one, two decimals", Score(new(0.996), 2), "0.99"},
		{"one", Score(new(1.0), 3), "1.000"},
		{"one but for the last digits", Score(new(0.9999999999), 3), "1.000"},
		{"one part in a million", Score(new(0.999999), 3), "0.999"},
		{"hardly anything", Score(new(0.0004), 3), "0.001"},
		{"nothing at all", Score(new(0.0), 3), "0.000"},
		{"below one", Score(new(0.9994), 3), "0.999"},
		{"nearly ten of ten", OutOf(new(0.9996), 10), "9.99/10"},
		{"ten of ten", OutOf(new(1.0), 10), "10.00/10"},
		{"nearly nothing of ten", OutOf(new(0.0001), 10), "0.01/10"},
		{"nearly five", Native(new(0.9999), 5), "4.99"},
		{"five", Native(new(1.0), 5), "5"},
		{"points", Points(new(0.9996), 10), "9.99"},
		{"no score", Score(nil, 2), "–"},
		{"gain", Signed(0.5, 2), "+0.50"},
		{"loss", Signed(-0.027, 3), "−0.027"},
		{"nothing", Signed(-0.0001, 2), "0"},
		{"free", USD(0), "$0"},
		{"a trace", USD(0.00001), "< $0.0001"},
		{"below a cent", USD(0.0031), "$0.0031"},
		{"dollars", USD(6.041), "$6.04"},
		{"milliseconds", Duration(850 * time.Millisecond), "850 ms"},
		{"seconds", Duration(2340 * time.Millisecond), "2.3 s"},
		{"many seconds", Duration(42 * time.Second), "42 s"},
		{"minutes", Duration(134 * time.Second), "2 min 14 s"},
		{"hours", Duration(65 * time.Minute), "1 h 5 min"},
		{"just now", Age(59 * time.Second), "less than a minute"},
		{"a minute ago", Age(119 * time.Second), "1 minute"},
		{"hours ago", Age(23 * time.Hour), "23 hours"},
		{"days ago", Age(300 * time.Hour), "12 days"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"unicode", "größer 試験 👩‍👩‍👧", "größer 試験 👩‍👩‍👧"},
		{"colour", "\x1b[31mred", "␛[31mred"},
		{"bell and null", "a\x07\x00", "a␇␀"},
		{"one-byte CSI", "\u009b31m", "\uFFFD31m"},
		{"delete", "\x7f", "␡"},
		{"reading direction", "\u202Egnp.exe\u202C", "gnp.exe"},
		{"hidden", "a\u200Bb\uFEFF\U000E0041", "ab"},
		{"line breaks", "a\r\nb\rc\u2028d", "a\nb\nc\nd"},
		{"bad UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"marks on nothing", "\u0301\ufe0fa \ufe0f\u200db\n\u0301c\u202e", "a b\nc"},
		{"marks on something", warning + family + accents, warning + family + accents},
		{"marks", "Z" + strings.Repeat("\u0301", 9), "Z\u0301\u0301\u0301"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Clean(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"ab cd", 4, "ab…"},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
	} {
		if got := Clip(tc.in, tc.n); got != tc.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
}

// FuzzLine checks that nothing is left that moves a cursor.
func FuzzLine(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Add("a\u2029b\u0085c\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		if !utf8.ValidString(got) {
			t.Errorf("invalid UTF-8 in %q", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%U in %q", r, got)
			}
		}
		if again := Line(got); again != got {
			t.Errorf("cleaned again it is %q, before %q", again, got)
		}
	})
}

const (
	warning = "\u26a0\ufe0f"                               // a sign that is drawn as an emoji
	thumb   = "\U0001f44d\U0001f3fd"                       // with a skin tone
	family  = "\U0001f468\u200d\U0001f469\u200d\U0001f467" // three, joined
	flag    = "\U0001f1e8\U0001f1ed"                       // of two letters
	accents = "e\u0301\u0323"                              // one letter with two marks
	hangul  = "\u1112\u1161\u11ab"                         // one syllable of three parts
)

func TestColumns(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"nothing", "", 0}, {"ASCII", "a b", 3}, {"Latin", "größer", 6},
		{"warning", warning, 2}, {"warning without colour", "\u26a0", 1}, {"skin tone", thumb, 2},
		{"family", family, 2}, {"flag", flag, 2}, {"keycap", "1\ufe0f\u20e3", 2},
		{"combining marks", accents, 1}, {"Hangul", hangul, 2}, {"Han", "日本語", 6},
		{"half width", "\uff71", 1}, {"full width", "\uff21", 2}, {"line", "─│…", 3},
		{"mixed", "a" + family + accents + "語", 6},
	} {
		if got := Columns(tt.text); got != tt.want {
			t.Errorf("%s: %q has %d columns, want %d", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		in   string
		room int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本語", 2, "…"},
		{family + family, 4, family + family}, {family + family, 3, family + "…"}, {family + family, 2, "…"},
		{accents + accents + accents, 2, accents + "…"}, {thumb + "ab", 3, thumb + "…"},
	} {
		if got := Fit(tt.in, tt.room); got != tt.want || Columns(got) > tt.room {
			t.Errorf("Fit(%q, %d) = %q, want %q", tt.in, tt.room, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		in   string
		room int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "bcd"}, {"abcd", 0, ""}, {"日本語", 5, "本語"},
		{"a" + family + accents, 3, family + accents}, {"a" + family + accents, 2, accents},
	} {
		if got := Tail(tt.in, tt.room); got != tt.want {
			t.Errorf("Tail(%q, %d) = %q, want %q", tt.in, tt.room, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in   string
		room int
		want []string
	}{
		{"", 5, nil}, {"a bc d", 4, []string{"a bc", "d"}}, {"a  b", 9, []string{"a b"}},
		{"abcdef gh", 4, []string{"abcd", "ef", "gh"}}, {"a bcdefg", 4, []string{"a", "bcde", "fg"}},
		{family + family + family + " " + family, 5, []string{family + family, family + " " + family}},
		{"日本 語", 4, []string{"日本", "語"}}, {accents + accents + " a", 4, []string{accents + accents + " a"}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.in, tt.room)); diff != "" {
			t.Errorf("Wrap(%q, %d), -want +got:\n%s", tt.in, tt.room, diff)
		}
	}
}

// FuzzColumns checks that no text is wider than its room once it is cut, and
// that wrapping loses none of it.
func FuzzColumns(f *testing.F) {
	for _, s := range []string{"a bc", family + " " + thumb, accents, "日本 語", "a \ufe0f b", "\u200d\xff"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, room int) {
		room = 2 + (room&0xff)%40
		s = Line(s)
		cut := map[string]string{"Fit": Fit(s, room), "Cut": Cut(s, room), "Tail": Tail(s, room)}
		for name, got := range cut {
			if n := Columns(got); n > room {
				t.Errorf("%s(%q, %d) has %d columns: %q", name, s, room, n, got)
			}
		}
		lines := Wrap(s, room)
		for _, line := range lines {
			if n := Columns(line); n > room {
				t.Errorf("Wrap(%q, %d) has a line of %d columns: %q", s, room, n, line)
			}
		}
		all := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := strings.Join(lines, ""); all(got) != all(s) {
			t.Errorf("Wrap(%q, %d) has another text: %q", s, room, lines)
		}
	})
}

// TestSentence: words have a capital letter, paths and names do not.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"choose a file": "Choose a file", "domain \"x\" has tests": "Domain \"x\" has tests", "greet.yaml is not a file": "greet.yaml is not a file",
		"gavel.yaml:11:1: error": "gavel.yaml:11:1: error", "domain_id: write one": "domain_id: write one", "weight: write one": "weight: write one",
		"id \"x\": write letters": "id \"x\": write letters", "test_definitions/a.json exists": "test_definitions/a.json exists", "": "",
	} {
		if got := Sentence(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
