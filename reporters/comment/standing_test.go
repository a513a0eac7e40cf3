package comment

import "testing"

// TestTheLastStatusCounts in whatever order a forge lists statuses: of a context, of a
// subject, and of those that an earlier version left without a record.
func TestTheLastStatusCounts(t *testing.T) {
	plain := []wireStatus{{ID: 1, Context: ContextVerdict, State: StatePending}, {ID: 2, Context: ContextVerdict, State: StateSuccess}, {ID: 3, Context: ContextVerdict, State: StateFailure}}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		at := &standing{newest: map[string]wireStatus{}, unrecorded: map[string]wireStatus{}, by: map[string]map[subject]claim{}}
		for _, i := range order {
			at.note(plain[i])
		}
		if got := at.own(ContextVerdict, subject{number: 7}); got != StateFailure {
			t.Errorf("in the order %v the state is %s, want the last one's, failure", order, got)
		}
		if got := at.newest[ContextVerdict].ID; got != 3 {
			t.Errorf("in the order %v the newest status is %d, want 3", order, got)
		}
	}
}
