package remeasure

import (
	"reflect"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// TestReadsWhatIsRemembered holds that a workload is read as it was written, and that a
// text with a byte less or more is refused.
func TestReadsWhatIsRemembered(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Workload
	}{
		{"nothing", Workload{}},
		{"plain", Workload{samples: 1, said: 70_000, asks: []load.Callee{{}}}},
		{"all", Workload{
			samples: 6, said: 1, turns: 4, alternative: true, retried: true, given: true, retries: 3, editors: 1,
			judges:     []load.Callee{{Role: schema.Judge}, {Target: "second"}},
			comparison: []load.Callee{{Role: schema.Judge}},
			asks:       []load.Callee{{Target: "bot"}, {Role: schema.Judge}, {Role: schema.Simulator}},
		}},
	} {
		text := tt.s.Text()
		if got, ok := ReadWorkload(text); !ok || !reflect.DeepEqual(got, tt.s) {
			t.Errorf("%s: %+v was read, want %+v", tt.name, got, tt.s)
		}
		if _, ok := ReadWorkload(text + "x"); ok {
			t.Errorf("%s: a byte too many was read", tt.name)
		}
		for n := range text {
			if _, ok := ReadWorkload(text[:n]); ok {
				t.Errorf("%s: %d of %d bytes were read", tt.name, n, len(text))
			}
		}
	}
}
