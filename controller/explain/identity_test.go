package explain

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/load"
)

var settings = schema.Settings{Definitions: []string{"test_definitions"}}

// TestMain answers as the child that evaluates .cue files.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// TestIdentify follows one case of a file through its versions: what happens to
// the other case, and the place of the case, is not a change of it.
func TestIdentify(t *testing.T) {
	const file = "test_definitions/desk.yaml"
	day := func(n int) time.Time { return time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC) }
	on := func(n int, text string) Version {
		tree := fstest.MapFS{}
		if text != "" {
			tree[file] = &fstest.MapFile{Data: []byte(text)}
		}
		return Version{FS: tree, At: day(n)}
	}
	const (
		a, other, b = "- {name: A, max_turns: 2}\n", "- {name: A, max_turns: 3}\n", "- {name: B, max_turns: 2}\n"
		labelled    = "- {name: A, max_turns: 2, tags: [red-team]}\n"
		exported    = "- {name: A, id: 0f8fad5b-d9cb-469f-a165-70867728950e, max_turns: 2}\n"
		invalid     = "- {name: A, max_turn: 2}\n"
	)
	for _, tt := range []struct {
		name             string
		versions         []Version
		partial          bool
		created, updated int // 0 if it is not known
	}{
		{"written once", []Version{on(1, a)}, false, 1, 1},
		{"changed", []Version{on(5, a), on(3, other)}, false, 3, 5},
		{"a label counts", []Version{on(5, a), on(3, labelled)}, false, 3, 5},
		{"another case changed", []Version{on(5, a+b), on(3, a)}, false, 3, 3},
		{"moved down", []Version{on(5, b+a), on(4, a+b), on(3, a)}, false, 3, 3},
		{"came later", []Version{on(5, b+a), on(4, a+b), on(3, b)}, false, 4, 4},
		{"changed before another", []Version{on(6, b+a), on(5, a), on(3, other)}, false, 3, 5},
		{"deleted and back", []Version{on(6, a), on(5, ""), on(3, a)}, false, 3, 6},
		{"could not be read", []Version{on(6, a), on(5, invalid), on(3, a)}, false, 3, 6},
		{"never committed", nil, false, 0, 0},
		{"earlier ones are lost", []Version{on(5, a)}, true, 0, 0},
		{"changed, earlier lost", []Version{on(6, a), on(5, other)}, true, 0, 6},
		{"the name before was not", []Version{on(6, a), on(5, b)}, false, 6, 6},
	} {
		h := History{Repository: "octo/demo", Settings: settings, Versions: tt.versions, Whole: !tt.partial}
		got, err := Identify(t.Context(), &desk(t, on(9, a+b)).CaseInfo, h)
		if err != nil {
			t.Fatal(err)
		}
		if dayOf(got.Created) != tt.created || dayOf(got.Updated) != tt.updated {
			t.Errorf("%s: created on day %d and updated on day %d, want %d and %d", tt.name, dayOf(got.Created), dayOf(got.Updated), tt.created, tt.updated)
		}
	}
	for _, tt := range []struct{ text, want string }{{a + b, "961f3bef-8e23-5acd-9c52-70f989d676ab"}, {exported, "0f8fad5b-d9cb-469f-a165-70867728950e"}} {
		got, err := Identify(t.Context(), &desk(t, on(9, tt.text)).CaseInfo, History{Repository: "octo/demo"})
		if err != nil || got.ID != tt.want {
			t.Errorf("id %s, want %s; %v", got.ID, tt.want, err)
		}
	}
}

// desk is the case A of a version.
func desk(t *testing.T, v Version) *schema.Case {
	t.Helper()
	loaded, err := load.Load(t.Context(), v.FS, load.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range loaded.Cases {
		if c.Labels.Name == "A" {
			return c
		}
	}
	t.Fatalf("there is no case A: %v", loaded.Problems)
	return nil
}

func dayOf(at *time.Time) int {
	if at == nil {
		return 0
	}
	return at.Day()
}
