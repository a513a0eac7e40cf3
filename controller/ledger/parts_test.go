package ledger_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
)

// testParts holds that the newest decision of a case tells what it consisted
// of, to those who may see it, and in its repository alone.
func testParts(t *testing.T, b backend) {
	k := newFixture(t, b)
	digest := strings.Repeat("0123456789abcdef", 4)
	part := func(show string) []plan.Part {
		return []plan.Part{{Layer: plan.Decision, Name: "threshold", Of: "tone", Number: 2, Digest: digest, Show: show, Files: []string{"a.json"}}}
	}
	save := func(trust ledger.Trust, name, id, show string) {
		d := digestsOf(name)
		o := outcome(trust, d, 0, "text")
		o.Case, o.Parts = id, part(show)
		k.save(o)
	}
	save(base, "one", "a", "0.5")
	save(base, "two", "a", "0.6")
	save(base, "three", "b\x00small", "0.7")
	save(pull7, "four", "a", "0.8")
	kept := func(show string) []plan.Part {
		p := part(show)
		p[0].Digest, p[0].Files = digest[:plan.OutlineDigits], nil
		return p
	}
	elsewhere := base
	elsewhere.Repository = "other/repository"
	for _, test := range []struct {
		name  string
		trust ledger.Trust
		want  [][]plan.Part
	}{
		{"base", base, [][]plan.Part{kept("0.6"), kept("0.7"), nil}},
		{"a pull request", pull7, [][]plan.Part{kept("0.8"), kept("0.7"), nil}},
		{"another repository", elsewhere, make([][]plan.Part, 3)},
	} {
		got, err := k.LastParts(t.Context(), ledger.Scope{Trust: test.trust}, []string{"a", "b\x00small", "b"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// testSharedParts stores a part once for all cases that have it, as long as one has it.
func testSharedParts(t *testing.T, b backend) {
	k := newFixture(t, b)
	part := func(name string) plan.Part {
		return plan.Part{Layer: plan.Execution, Name: name, Digest: strings.Repeat("0123456789abcdef", 4)}
	}
	save := func(name string, parts ...plan.Part) plan.Digests {
		d := digestsOf(name)
		o := outcome(base, d, 0, "text")
		o.Case, o.Parts = name, parts
		k.save(o)
		return d
	}
	stored := func() (names []string, touched map[string]time.Time) {
		t.Helper()
		touched = map[string]time.Time{}
		k.check(k.Store().Each(t.Context(), func(rows *sql.Rows) error {
			var body []byte
			var at int64
			var p plan.Part
			err := errors.Join(rows.Scan(&body, &at), json.Unmarshal(body, &p))
			names, touched[p.Name] = append(names, p.Name), time.UnixMilli(at)
			return err
		}, "SELECT body, touched FROM parts"))
		slices.Sort(names)
		return names, touched
	}
	wantStored := func(when string, want ...string) {
		t.Helper()
		if names, _ := stored(); !slices.Equal(names, want) {
			t.Errorf("%s the parts %v are stored, want %v", when, names, want)
		}
	}
	wantNames := func(id string, want ...string) {
		t.Helper()
		parts, err := k.LastParts(t.Context(), ledger.Scope{Trust: base}, []string{id})
		k.check(err)
		var names []string
		for _, p := range parts[0] {
			names = append(names, p.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s has the parts %v, want %v", id, names, want)
		}
	}
	one := save("one", part("model"), part("messages of one"), part("model"))
	save("two", part("model"), part("messages of two"))
	save("none")
	wantStored("after two cases", "messages of one", "messages of two", "model")
	wantNames("one", "model", "messages of one", "model")
	wantNames("two", "model", "messages of two")

	// A process relies on what it stored for an hour.
	for _, after := range []time.Duration{time.Hour, time.Hour + time.Minute} {
		k.now = epoch.Add(after)
		save("again "+after.String(), part("model"))
		if _, touched := stored(); touched["model"].After(epoch) != (after > time.Hour) {
			t.Errorf("after %v the model was touched at %v", after, touched["model"])
		}
	}

	// Older verdicts have JSON.
	body, err := json.Marshal([]plan.Part{part("old")})
	k.check(err)
	k.check(k.Store().Submit(t.Context(), func(tx *store.Tx) error {
		return tx.Exec("UPDATE verdicts SET parts = ? WHERE d = ?", body, sumOf(digestsOf("two").D))
	}))
	wantNames("two", "old")
	if v := k.verify(nil); len(v.Faults) > 0 {
		t.Errorf("faults: %v", v.Faults)
	}

	k.now = epoch.Add(23 * time.Hour)
	gc := ledger.Collection{Before: epoch.Add(time.Minute), Needed: []plan.Digests{one}}
	_, err = k.Collect(t.Context(), gc)
	k.check(err)
	wantStored("within a day", "messages of one", "messages of two", "model")
	k.now = epoch.Add(25 * time.Hour)
	gc.DryRun = true
	_, err = k.Collect(t.Context(), gc)
	k.check(err)
	wantStored("after a dry run", "messages of one", "messages of two", "model")
	gc.DryRun = false
	_, err = k.Collect(t.Context(), gc)
	k.check(err)
	wantStored("after a day", "messages of one", "model")
	wantNames("one", "model", "messages of one", "model")

	// A part that is lost is said.
	k.check(k.Store().Submit(t.Context(), func(tx *store.Tx) error { return tx.Exec("DELETE FROM parts") }))
	if _, err := k.LastParts(t.Context(), ledger.Scope{Trust: base}, []string{"none", "one"}); err == nil || !strings.Contains(err.Error(), "parts of one: part 1 is missing") {
		t.Errorf("without its parts: %v", err)
	}
	want := ledger.Fault{Entry: "verdict " + one.D, Message: "a part of its case is missing or cannot be read"}
	if v := k.verify(nil); !slices.Contains(v.Faults, want) {
		t.Errorf("faults %v, want %v", v.Faults, want)
	}
}
