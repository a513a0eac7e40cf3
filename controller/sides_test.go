package controller_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// stateOf is a repository of these texts.
func stateOf(t *testing.T, commit string, texts map[string]string) controller.Checkout {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg, problems := config.Parse("gavel.yaml", []byte(texts["gavel.yaml"]))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	return controller.Checkout{Commit: commit, FS: files, Config: cfg}
}

// A scanned state is one that others are compared with.
type scanned struct {
	controller.Checkout
	snapshot *load.Snapshot
}

func scan(t *testing.T, texts map[string]string) scanned {
	t.Helper()
	s := stateOf(t, strings.Repeat("b", 40), texts)
	snapshot, err := load.Scan(t.Context(), s.FS, load.Options{Settings: s.Config.Settings()})
	if err != nil {
		t.Fatal(err)
	}
	return scanned{s, snapshot}
}

// between is the plan of one repository against another, made of all cases or,
// where base's snapshot is given, of those that the change can affect.
func between(t *testing.T, was, is controller.Checkout, snapshot *load.Snapshot) *controller.Prepared {
	t.Helper()
	return planOf(t, was, controller.Request{Head: is, Snapshot: snapshot})
}

// remembered is the plan of one repository against another, with unaffected cases from
// memory.
func remembered(t *testing.T, was, is controller.Checkout) *controller.Prepared {
	t.Helper()
	return planOf(t, was, controller.Request{Head: is, Remembered: func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
		s, err := load.Scan(ctx, is.FS, load.Options{Settings: is.Config.Settings(), Note: notes.Take})
		if err != nil {
			return nil, err
		}
		var body strings.Builder
		if err := s.Encode(&body); err != nil {
			return nil, err
		}
		return load.Decode(body.String())
	}})
}

// planOf is the plan of a request against base.
func planOf(t *testing.T, was controller.Checkout, req controller.Request) *controller.Prepared {
	t.Helper()
	base, _ := was.FS.(fstest.MapFS)
	head, _ := req.Head.FS.(fstest.MapFS)
	req.Base, req.ConfigFile, req.LookupEnv = &was, "gavel.yaml", nowhere
	req.Changed = func(context.Context, []string) ([]string, error) {
		files := maps.Clone(base)
		maps.Copy(files, head)
		maps.DeleteFunc(files, func(file string, _ *fstest.MapFile) bool {
			a, b := base[file], head[file]
			return a != nil && b != nil && string(a.Data) == string(b.Data)
		})
		return slices.Sorted(maps.Keys(files)), nil
	}
	prepared, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// samePlans holds that planning only what a change can affect is planning all,
// with the rest as a number, and that both affect the cases whose digests say
// so.
func samePlans(t *testing.T, base scanned, head controller.Checkout, affected func(key string) bool) {
	t.Helper()
	all, some := between(t, base.Checkout, head, nil), between(t, base.Checkout, head, base.snapshot)
	for _, row := range all.Plan.Rows {
		if is := row.Action != plan.Reuse; is != affected(row.Key) {
			t.Errorf("%s: planned to %s, its digest differs: %v", row.Key, row.Action, affected(row.Key))
		}
	}
	if diff := cmp.Diff(rows(all.Plan), rows(some.Plan)); diff != "" {
		t.Errorf("of all cases, of the affected ones (-all +affected):\n%s", diff)
	}
	if diff := cmp.Diff(all.Problems, some.Problems); diff != "" {
		t.Errorf("problems (-all +affected):\n%s", diff)
	}
	known := remembered(t, base.Checkout, head)
	if diff := cmp.Diff(listed(all.Plan), listed(known.Plan)); diff != "" {
		t.Errorf("of all cases, of what is remembered (-all +remembered):\n%s", diff)
	}
	if diff := cmp.Diff(all.Problems, known.Problems); diff != "" {
		t.Errorf("problems (-all +remembered):\n%s", diff)
	}
}

// listed is all that a report says of the rows of a plan, and whether the cases
// that are judged are there.
func listed(p *plan.Plan) []string {
	info := func(c *schema.CaseInfo) string {
		if c == nil {
			return "none"
		}
		listing := *c
		listing.Inputs, listing.Labels.Description = nil, ""
		return fmt.Sprintf("%+v", listing)
	}
	var out []string
	for _, r := range p.Rows {
		lacking := r.Action == plan.Run && (r.HeadCase == nil || r.Base != nil && r.BaseCase == nil)
		digests := fmt.Sprint(r.HeadDigests.E, r.HeadDigests.J, r.HeadDigests.D, r.BaseDigests.D)
		out = append(out, fmt.Sprint(r.Key, " ", r.Action, " ", r.Target, " ", r.MovedFrom, r.Reasons, r.Edited, r.Samples, r.Steered, lacking, info(r.Head), info(r.Base), digests))
	}
	return out
}

// rows says what a plan does, with what nothing affects as a number.
func rows(p *plan.Plan) []string {
	var out []string
	rest := p.Rest
	for _, r := range p.Rows {
		if r.Unaffected() {
			rest.Cases++
			if r.Action == plan.Skip {
				rest.Skipped++
			}
			continue
		}
		out = append(out, fmt.Sprint(r.Key, " ", r.Action, " ", r.Target, " from ", r.MovedFrom, ": ", r.Reasons, r.HeadDigests.D, r.BaseDigests.D))
	}
	return append(out, fmt.Sprintf("%+v", rest))
}

// TestPlansOfRemovedMovedAndBroken takes the changes that leave no case to
// look at.
func TestPlansOfRemovedMovedAndBroken(t *testing.T) {
	const defs = "test_definitions/"
	base := oracleFiles("http://127.0.0.1:1")
	base[defs+"b/level_1/idle.json"] = `{"id": "idle", "name": "Idle", "prompt": "idle?", "expected": "x", "enabled": false}`
	base[defs+"loose.json"] = `{"test_type": "agent", "name": "agent", "user_input": "hi", "testing_prompt": "It greets."}`
	for _, tt := range []struct {
		name   string
		change map[string]string
	}{
		{"half a definition", map[string]string{defs + "loose.json": "{"}},
		{"removed", map[string]string{defs + "a/level_1/alpha.json": ""}},
		{"moved", map[string]string{defs + "a/level_1/alpha.json": "", defs + "a/level_3/alpha.json": base[defs+"a/level_1/alpha.json"]}},
		{"broken", map[string]string{defs + "a/level_1/alpha.json": "{"}},
		{"broken domain", map[string]string{defs + "a/domain.json": "{"}},
		{"domain removed", map[string]string{defs + "a/domain.json": ""}},
		{"disabled", map[string]string{defs + "a/level_1/alpha.json": strings.Replace(base[defs+"a/level_1/alpha.json"], "{", `{"enabled": false, `, 1)}},
		{"enabled", map[string]string{defs + "b/level_1/idle.json": strings.Replace(base[defs+"b/level_1/idle.json"], "false", "true", 1)}},
		{"new", map[string]string{defs + "b/level_1/new.yaml": "id: new\nname: N\nprompt: new?\nexpected: x\n"}},
		{"id that is taken", map[string]string{defs + "a/level_1/aa.json": strings.Replace(base[defs+"a/level_1/alpha.json"], "alpha?", "aa?", 1)}},
		{"id taken by later", map[string]string{defs + "b/level_1/zz.json": `{"id": "alpha", "name": "Z", "prompt": "zz?", "expected": "x"}`}},
		{"no definition", map[string]string{defs + "notes.yaml": "colour: red"}},
		{"ignored", map[string]string{".gavelignore": "b/\n"}},
		{"nothing", map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := maps.Clone(base)
			for file, text := range tt.change {
				head[file] = text
				if text == "" {
					delete(head, file)
				}
			}
			was, is := scan(t, base), stateOf(t, controller.Worktree, head)
			all, some := between(t, was.Checkout, is, nil), between(t, was.Checkout, is, was.snapshot)
			if diff := cmp.Diff(rows(all.Plan), rows(some.Plan)); diff != "" {
				t.Errorf("of all cases, of the affected ones (-all +affected):\n%s", diff)
			}
			if diff := cmp.Diff(all.Problems, some.Problems); diff != "" {
				t.Errorf("problems (-all +affected):\n%s", diff)
			}
			if changes := len(rows(all.Plan)) > 1; changes != (len(tt.change) > 0 && tt.name != "no definition" && tt.name != "id taken by later") {
				t.Errorf("the plan is %v", rows(all.Plan))
			}
		})
	}
}
