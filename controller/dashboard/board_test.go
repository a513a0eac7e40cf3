package dashboard_test

import (
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
)

// TestBoard shows commits from their beginning to their end, and reports each change.
func TestBoard(t *testing.T) {
	var b dashboard.Board
	look := func(want string, change func()) {
		t.Helper()
		changed := b.Changed()
		change()
		select {
		case <-changed:
		default:
			t.Errorf("nobody is told that the board is %s", want)
		}
		if got := fmt.Sprint(b.All()); got != want {
			t.Errorf("the board is %s, want %s", got, want)
		}
	}
	var one, two func(done, total, again int)
	var end, endTwo func()
	look("[{b 0 0 0 0 }]", func() { one, end = b.Track("b") })
	look("[{a 0 0 0 0 } {b 0 0 0 0 }]", func() { two, endTwo = b.Track("a") })
	look("[{a 0 0 0 0 } {b 1 3 0 0 }]", func() { one(1, 3, 0) })
	const why = "2 cases wait for a worker; the one that is running is busy"
	look("[{a 0 0 0 2 "+why+"} {b 1 3 0 0 }]", func() { b.Waits("a", 2, why) })
	look("[{a 1 2 0 2 "+why+"} {b 1 3 0 0 }]", func() { two(1, 2, 0) })
	if got := b.Why("a"); got != why || b.Why("b") != "" {
		t.Errorf("the cases of a wait because %q, want %q, and those of b because %q", got, why, b.Why("b"))
	}
	look("[{a 1 2 0 0 } {b 1 3 0 0 }]", func() { b.Waits("a", 0, "") })
	look("[{a 2 2 4 0 } {b 1 3 0 0 }]", func() { two(2, 2, 4) })
	look("[{a 2 2 4 0 }]", func() { end() })
	look("[]", func() { endTwo() })
}
