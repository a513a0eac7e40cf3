package document

import (
	"testing"
)

func TestUnread(t *testing.T) {
	many := map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 3}
	for _, tt := range []struct {
		cases map[string]int
		want  string
	}{
		{nil, ""},
		{map[string]int{"a program": 1}, "9 of 10 cases are run; 1 needs what is not read (a program: 1)"},
		{map[string]int{"b": 2, "a": 1}, "7 of 10 cases are run; 3 need what is not read (b: 2, a: 1)"},
		{many, "2 of 10 cases are run; 8 need what is not read (f: 3, a: 1, b: 1, c: 1, d: 1, …)"},
	} {
		if got := Unread(tt.cases, 10); got != tt.want {
			t.Errorf("of %v the sentence is %q, want %q", tt.cases, got, tt.want)
		}
	}
	const want = "the only case is not run; it needs what is not read (a program: 1)"
	if got := Unread(map[string]int{"a program": 1}, 1); got != want {
		t.Errorf("of one case the sentence is %q, want %q", got, want)
	}
}
