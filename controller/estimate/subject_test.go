package estimate

import (
	"reflect"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// TestReadsWhatIsRemembered holds that a subject is read as it was written, and that
// a text with a byte less or more is none.
func TestReadsWhatIsRemembered(t *testing.T) {
	for name, s := range map[string]Subject{
		"nothing": {},
		"plain":   {samples: 1, said: 70_000, asks: []load.Asked{{}}},
		"all": {
			samples: 6, said: 1, turns: 4, alternative: true, retried: true, retries: 3, editors: 1,
			judges:     []load.Asked{{Role: schema.Judge}, {Target: "second"}},
			comparison: []load.Asked{{Role: schema.Judge}},
			asks:       []load.Asked{{Target: "bot"}, {Role: schema.Judge}, {Role: schema.Simulator}},
		},
	} {
		text := s.Text()
		if got, ok := Read(text); !ok || !reflect.DeepEqual(got, s) {
			t.Errorf("%s: %+v was read, want %+v", name, got, s)
		}
		if _, ok := Read(text + "x"); ok {
			t.Errorf("%s: a byte too many was read", name)
		}
		for n := range text {
			if _, ok := Read(text[:n]); ok {
				t.Errorf("%s: %d of %d bytes were read", name, n, len(text))
			}
		}
	}
}
