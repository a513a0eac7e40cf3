package cuefile

import (
	"errors"
	"testing"
	"time"
)

// TestBudget holds that spent steps are missing, and that every evaluation adds the
// usual number.
func TestBudget(t *testing.T) {
	evaluate := func(b *Budget) error {
		_, err := b.Evaluate(t.Context(), "x.cue", []byte("a: 1"))
		return err
	}
	once := &Budget{left: 1}
	if err := evaluate(once); err != nil {
		t.Fatal(err)
	}
	var wrong Problems
	if err := evaluate(once); !errors.As(err, &wrong) || wrong[0].Rule != "cue-limit" {
		t.Errorf("a spent budget gives %v", err)
	}
	again := &Budget{left: 1, each: time.Hour}
	for range 3 {
		if err := evaluate(again); err != nil {
			t.Fatal(err)
		}
	}
	if b := NewBudget(); b.isSpent() || b.each <= 0 {
		t.Error("a new budget is spent")
	}
}

// TestBudgetOfConstraints holds that checking takes from it, too.
func TestBudgetOfConstraints(t *testing.T) {
	b := &Budget{left: 1}
	c, err := b.Compile(t.Context(), []File{{"own.cue", []byte("#A: {n: int}")}}, []File{{"team.cue", []byte("#A: n: <5")}})
	if err != nil {
		t.Fatal(err)
	}
	var wrong FileProblems
	if _, err := c.Check(t.Context(), "#A", []byte(`{"n": 1}`)); !errors.As(err, &wrong) || wrong[0].At.File != "team.cue" {
		t.Errorf("a spent budget gives %v", err)
	}
}
