package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// TestPower: a case that answers one way or the other, and one of a target without chance.
// Broken for good, the first one is seen more often the steadier it is known to be; the mean
// of one case is not tested.
func TestPower(t *testing.T) {
	p := newProject(t)
	p.commit(map[string]string{casePath("hello"): caseOf("hello", moody)})
	power := func() (table report.PowerTable) {
		t.Helper()
		if err := json.Unmarshal([]byte(p.local(exitPass, "power", "talk/level_1/hello", "--json")), &table); err != nil {
			t.Fatal(err)
		}
		return table
	}
	before := power()
	if before.Cases != 1 || before.Unjudged != 1 || len(before.Rows) != 5 || before.Rows[0].Name != "as it is" || before.Rows[0].Tests() {
		t.Errorf("before any run: %+v", before)
	}
	p.local(exitGate, "run", "--repeat", "6")
	after := power()
	if after.Unjudged != 0 || after.Rows[0].Broken >= before.Rows[0].Broken {
		t.Errorf("of a case that passes now and then: %+v, before: %+v", after, before)
	}
	if text := p.local(exitPass, "power"); !strings.Contains(text, "as it is") || !strings.Contains(text, "is not tested, and these are") {
		t.Errorf("printed\n%s", text)
	}
}
