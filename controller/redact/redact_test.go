package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	mixed = strings.Repeat("aB3x", 15)
	pem   = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + strings.Repeat("MIIEow/+aB3x\n", 20) + "-----END RSA PRIVATE KEY-----"
	jwt   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// TestText has a secret of each form, and texts that only look like one.
func TestText(t *testing.T) {
	quoted, err := json.Marshal(pem)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"key sk-ant-api03-" + mixed + "-AA!", "key [redacted]!"},
		{`{"k":"sk-proj-` + mixed + `_x"}`, `{"k":"[redacted]"}`},
		{"sk-" + mixed[:20] + ".", "[redacted]."},
		{"sk-abcdefghijklmnopqrstuvwxyz", "[redacted]"},
		{"two: sk-" + mixed + " sk-" + mixed, "two: [redacted] [redacted]"},
		{"ghp_" + mixed[:36], "[redacted]"},
		{"gho_" + mixed[:36] + ",ghr_" + mixed, "[redacted],[redacted]"},
		{"github_pat_" + mixed[:22] + "_" + mixed, "[redacted]"},
		{"id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."},
		{"?key=AIza" + mixed[:35] + "&x", "?key=[redacted]&x"},
		{"AQ." + mixed, "[redacted]"},
		{"Bearer " + jwt + ", and more", "Bearer [redacted], and more"},
		{"a\n" + pem + "\nb", "a\n[redacted]\nb"},
		{`{"key":` + string(quoted) + `,"more":1}`, `{"key":"[redacted]","more":1}`},
		{"cut: " + pem[:200], "cut: [redacted]"},
	} {
		if got := Text(tt.in); got != tt.want {
			t.Errorf("%q gives\n%q, want\n%q", tt.in, got, tt.want)
		}
	}
	for _, in := range []string{
		"sk-learn-compatible-estimators-and-pipelines",
		"sk-" + mixed[:19],
		"task-" + mixed, "disk-" + mixed, "risk_sk-" + mixed[:5],
		"sk-ant-short", "AIza, FAQ. " + mixed, "AIza" + mixed[:20], "see FAQ." + mixed,
		"ghp_short", "xghp_" + mixed, "ghx_" + mixed, "github_pattern_of_" + mixed[:10],
		"AKIAIOSFODNN7EXAMPLEX", "AKIAIOSFODNN7EXAMPL", "AKIAiosfodnn7example", "MAKIAIOSFODNN7EXAMPLE",
		"9f31c2e0c1a74f0b8f9d1f2f4f4c8a6f0f2b7e11",                         // a commit
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", // a SHA-256
		"sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"123e4567-e89b-12d3-a456-426614174000", // a UUID
		"support/level_1/test_refund_window", "https://github.com/octo/demo/blob/9f31c2e0c1a74f0b8f9d1f2f4f4c8a6f0f2b7e11/a.json#L1",
		"eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.short.x", "keyJhbGciOiJIUzI1NiJ9." + mixed + "." + mixed,
		"-----BEGIN PRIVATE KEY-----", "a file begins with -----BEGIN PRIVATE KEY----- and ends with -----END",
		strings.ReplaceAll(pem, "PRIVATE", "PUBLIC"), strings.ReplaceAll(pem, "RSA PRIVATE KEY", "CERTIFICATE"),
	} {
		if got := Text(in); got != in {
			t.Errorf("%q is taken for a secret: %q", in, got)
		}
	}
}

// TestHostileTexts are long, and looked at once from start to end: each byte is
// part of no more than a few looks.
func TestHostileTexts(t *testing.T) {
	const size = 4 << 20
	for _, part := range []string{"sk-", "sk-a-", "eyJaaaaaaaaaa-", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "github_pat_", "ghp_", "AQ.", "AKIA"} {
		in := strings.Repeat(part, size/len(part))
		if got := Text(in); len(got) > len(in) {
			t.Errorf("%q grows", part)
		}
	}
}

// TestMasked: a masked text has the form of its secret, so that a rule which forbids
// keys finds it, and is not a secret.
func TestMasked(t *testing.T) {
	for _, secret := range []string{"sk-proj-" + mixed, "ghp_" + mixed[:36], "AKIAIOSFODNN7EXAMPLE", jwt, pem} {
		in := "it is " + secret + ", and 42"
		got, found := Masked(in)
		masked := found[secret]
		if masked == "" || got != "it is "+masked+", and 42" || len(masked) != len(secret) || masked == secret {
			t.Errorf("%q gives %q, %q", in, got, found)
		}
		if Text(got) != "it is [redacted], and 42" {
			t.Errorf("the mask has lost its form: %q", got)
		}
		if again, more := Masked(got); again != got || len(more) > 0 {
			t.Errorf("masked again it is %q", again)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("sk-"+mixed, 3)
	f.Add(pem, 40)
	f.Add(jwt+jwt, 7)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		got := Text(s)
		if again := Text(got); again != got && !strings.Contains(s, Sign) {
			t.Errorf("hidden again it is %q, before %q", again, got)
		}
		if masked, _ := Masked(s); len(masked) != len(s) {
			t.Errorf("%d bytes are masked to %d", len(s), len(masked))
		}
	})
}

type inner struct {
	Text  string
	Raw   json.RawMessage
	Count int
}

type outer struct {
	Name   string
	Inner  *inner
	List   []inner
	Names  map[string][]string
	Any    any
	Bytes  []byte
	hidden string
	Pair   [2]string
	*inner
}

// TestIn hides in everything that can be reached, and changes nothing that
// others hold.
func TestIn(t *testing.T) {
	const secret = "hunter22"
	hide := func(s string) string { return strings.ReplaceAll(s, secret, Sign) }
	make := func(s string) outer {
		in := inner{Text: s, Raw: json.RawMessage(`{"a":"` + s + `"}`), Count: 1}
		return outer{
			Name: s, Inner: &in, List: []inner{{Text: "plain"}, in}, Names: map[string][]string{"plain": {s}, s: {"x"}},
			Any: in, Bytes: []byte("kept"), hidden: "kept", Pair: [2]string{"a", s}, inner: &inner{Text: "kept"},
		}
	}
	was, want := make("a "+secret), make("a "+Sign)
	compare := cmp.AllowUnexported(outer{})
	got := Apply(was, hide)
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(make("a "+secret), was, compare); diff != "" {
		t.Errorf("the original has changed: %s", diff)
	}
	plain := make("plain")
	if got := Apply(&plain, hide); got != &plain {
		t.Error("a value without a secret is copied")
	}
	if got := Apply([]string(nil), hide); got != nil {
		t.Errorf("nil gives %v", got)
	}
}

func TestWriter(t *testing.T) {
	var b strings.Builder
	w := Writer{&b, Text}
	in := "key sk-" + mixed + "\n"
	if n, err := w.Write([]byte(in)); n != len(in) || err != nil || b.String() != "key [redacted]\n" {
		t.Errorf("wrote %d, %v: %q, want the key redacted and no error", n, err, b.String())
	}
	if w.Unwrap() != &b {
		t.Error("the writer below is another")
	}
}

func BenchmarkText(b *testing.B) {
	in := strings.Repeat(`{"key":"task-refund/level_1/test_refund_window","file":"test_definitions/support/level_1/test_refund_window.json"}`, 10_000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		Text(in)
	}
}
