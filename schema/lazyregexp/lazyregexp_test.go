package lazyregexp

import (
	"sync"
	"testing"
)

// TestAWrongPattern is found by every test of the package that declares it.
func TestAWrongPattern(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a pattern that cannot be compiled is declared, want a panic")
		}
	}()
	New("(")
}

// TestCompiledOnUse: a program other than tests compiles a pattern once, when it uses
// it.
func TestCompiledOnUse(t *testing.T) {
	defer func(was bool) { tested = was }(tested)
	tested = false
	wrong, digits := New("("), New("[0-9]+")
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got := digits.FindString("a 42 b"); got != "42" {
				t.Errorf("the match is %q, want 42", got)
			}
		})
	}
	all.Wait()
	defer func() {
		if recover() == nil {
			t.Error("the first use of a wrong pattern does not panic")
		}
	}()
	wrong.MatchString("")
}
