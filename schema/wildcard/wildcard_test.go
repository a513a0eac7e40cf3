package wildcard

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		glob, name string
		want       bool
	}{
		{"math/level_1/sum", "math/level_1/sum", true},
		{"math/*/sum", "math/level_1/sum", true},
		{"math/*", "math/level_1/sum", false},
		{"math/**", "math/level_1/sum", true},
		{"math/**", "math", true},
		{"**/sum", "math/level_1/sum", true},
		{"**", "anything/at/all", true},
		{"m**h", "math", true},
		{"**/level_?/**", "a/b/level_2/c", true},
		{"**/level_?/**", "a/b/level_22/c", false},
		{"[", "[", true},
		{"[", "x", false},
		{"math/level_1/sum/more", "math/level_1/sum", false},
		{"a/**/b/**/c", "a/b/x/b/y/c", true},
		{"a/**/b/**/c", "a/x/c", false},
		{"**/**/c", "c", true},
		{"**/b", "b/a", false},
		{"a/**/[", "a/b", false},
		{strings.Repeat("*", MaxPattern+1), "a", false},
		{strings.Repeat("a", MaxPattern+1), strings.Repeat("a", MaxPattern+1), true},
	} {
		if got := Match(test.glob, test.name); got != test.want {
			t.Errorf("Match(%q, %q) = %v", test.glob, test.name, got)
		}
	}
}

// TestAbuseGlobsEnd has globs that would take forever if every ** were
// tried at every position.
func TestAbuseGlobsEnd(t *testing.T) {
	name := strings.Repeat("a/", 200) + "b"
	done := make(chan bool)
	go func() {
		for n := range 60 {
			if Match(strings.Repeat("**/a/", n+12)+"c", name) || !Match(strings.Repeat("**/a/", n+12)+"b", name) {
				t.Errorf("%d times ** match wrongly", n+12)
			}
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute): // it takes a few milliseconds
		t.Fatal("matching the glob did not end")
	}
}

// TestGlobsMatchAsDefined holds random globs against the plain meaning of **.
func TestGlobsMatchAsDefined(t *testing.T) {
	var plain func(glob, name []string) bool
	plain = func(glob, name []string) bool {
		if len(glob) == 0 {
			return len(name) == 0
		}
		if glob[0] == "**" {
			return plain(glob[1:], name) || len(name) > 0 && plain(glob, name[1:])
		}
		if len(name) == 0 {
			return false
		}
		ok, _ := path.Match(glob[0], name[0])
		return ok && plain(glob[1:], name[1:])
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(words []string, n int) []string {
		var out []string
		for range n {
			out = append(out, words[random.IntN(len(words))])
		}
		return out
	}
	matches := 0
	for range 20_000 {
		glob, name := pick([]string{"**", "**", "a", "b", "?", "a*"}, 1+random.IntN(6)), pick([]string{"a", "b", "ab"}, 1+random.IntN(7))
		want := plain(glob, name) || slices.Equal(glob, name)
		if got := Match(strings.Join(glob, "/"), strings.Join(name, "/")); got != want {
			t.Fatalf("Match(%q, %q) = %v", glob, name, got)
		}
		if want {
			matches++
		}
	}
	if matches < 1000 {
		t.Errorf("only %d globs match", matches)
	}
}
