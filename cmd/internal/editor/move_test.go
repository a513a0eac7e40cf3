package editor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMovingADomain moves its folder with all files, and with the id that it says.
func TestMovingADomain(t *testing.T) {
	d := math(t)
	d.add("test_definitions/math/README.md", "About sums.")
	d.want(404, "POST", "/api/settings/domains/mth/move", `{"id": "algebra"}`)
	d.want(400, "POST", "/api/settings/domains/math/move", `{"id": "math"}`)
	d.want(400, "POST", "/api/settings/domains/math/move", `{"id": "tools"}`)
	d.want(400, "POST", "/api/settings/domains/math/move", `{"id": "../out"}`)
	d.want(400, "POST", "/api/settings/domains/math/move", `{"id": "algebra", "name": "Algebra"}`)
	d.want(409, "POST", "/api/settings/domains/math/move", `{"id": "algebra", "version": "0000"}`)
	d.want(200, "POST", "/api/settings/domains/math/move", `{"id": "algebra"}`)
	if got := d.ids("/api/settings/domains", "domains"); !slices.Equal(got, []string{"algebra"}) {
		t.Errorf("the domains are %v", got)
	}
	if got := d.ids("/api/settings/tests?domain=algebra", "tests"); !slices.Equal(got, []string{"math_sum", "math_hard"}) {
		t.Errorf("the tests of the domain are %v", got)
	}
	if got := d.file("test_definitions/algebra/README.md"); got != "About sums." {
		t.Errorf("the file that is not a definition is %q", got)
	}
	if got := d.file("test_definitions/math/domain.json"); got != "" {
		t.Errorf("the old folder still has %s", got)
	}
	if got := d.file("test_definitions/algebra/domain.json"); !strings.Contains(got, `"id": "algebra"`) || !strings.Contains(got, `"evaluator_id": "two_pass"`) {
		t.Errorf("the domain is %s", got)
	}
}

// TestMovingWhatIsReferredTo changes an id where it is used.
func TestMovingWhatIsReferredTo(t *testing.T) {
	d := math(t)
	d.want(200, "POST", "/api/settings/evaluators", `{"id": "tone", "name": "Tone", "type": "custom", "eval_prompt": "Is {response} polite?"}`)
	d.want(200, "POST", "/api/settings/tools", `{"id": "get_order", "name": "Order", "function": {"name": "get_order"}, "mock_response": "{}", "mock_response_type": "json"}`)
	d.want(200, "PUT", "/api/settings/tests/math_sum", `{"evaluator_id": "tone", "tool_ids": ["get_order"]}`)
	for _, used := range []string{"evaluators/tone", "tools/get_order"} {
		if answer := d.want(400, "DELETE", "/api/settings/"+used, ""); !strings.Contains(answer["error"].(string), "is used by test_definitions/math/level_1/sum.json") {
			t.Errorf("removing %s is refused with %v, want the test that uses it", used, answer)
		}
	}
	before := d.file("test_definitions/math/level_2/hard.json")
	d.want(400, "POST", "/api/settings/evaluators/tone/move", `{"id": "a/b"}`)
	d.want(200, "POST", "/api/settings/evaluators/tone/move", `{"id": "manners"}`)
	d.want(200, "POST", "/api/settings/tools/get_order/move", `{"id": "read_order"}`)
	if got := d.file("test_definitions/math/level_1/sum.json"); !strings.Contains(got, `"evaluator_id": "manners"`) || !strings.Contains(got, `"read_order"`) || strings.Contains(got, "get_order") {
		t.Errorf("the test that refers to both is %s", got)
	}
	if got := d.file("test_definitions/tools/read_order.json"); !strings.Contains(got, `"id": "read_order"`) || !strings.Contains(got, `"name": "get_order"`) {
		t.Errorf("the tool is %s, want the function that the model calls as it was", got)
	}
	if got := d.file("test_definitions/evaluators/tone.json") + d.file("test_definitions/tools/get_order.json"); got != "" {
		t.Errorf("the old files still say %s", got)
	}
	if after := d.file("test_definitions/math/level_2/hard.json"); after != before {
		t.Errorf("a test that refers to neither is %s, was %s", after, before)
	}
	d.add("test_definitions/math/level_1/loose.yaml", "id: loose\nname: Loose # why\nprompt: a?\nexpected: {answer: '2'}\nevaluator_id: manners\n")
	d.want(400, "POST", "/api/settings/evaluators/manners/move", `{"id": "tone"}`)
	if d.file("test_definitions/evaluators/manners.json") == "" {
		t.Error("a refused move wrote something")
	}
}

// TestLevels lists, moves and deletes levels.
func TestLevels(t *testing.T) {
	d := math(t)
	d.want(200, "PUT", "/api/settings/levels/math/2", `{"system_prompt": "Be exact."}`)
	list, _ := d.want(200, "GET", "/api/settings/levels?domain=math", "")["levels"].([]any)
	var got [][]any
	for _, item := range list {
		level, _ := item.(map[string]any)
		got = append(got, []any{level["domain_id"], level["level"], level["test_count"], level["has_system_prompt"]})
	}
	if diff := cmp.Diff([][]any{{"math", 1.0, 1.0, false}, {"math", 2.0, 1.0, true}}, got); diff != "" {
		t.Errorf("the levels (-want +got):\n%s", diff)
	}
	d.want(400, "DELETE", "/api/settings/levels/math/2", "")
	d.want(404, "DELETE", "/api/settings/levels/math/4", "")
	d.want(404, "POST", "/api/settings/levels/math/4/move", `{"level": 5}`)
	d.want(400, "POST", "/api/settings/levels/math/2/move", `{"domain_id": "mth"}`)
	d.want(400, "POST", "/api/settings/levels/math/2/move", `{"level": -1}`)
	d.want(409, "POST", "/api/settings/levels/math/2/move", `{"level": 3, "version": "0000"}`)
	d.want(200, "POST", "/api/settings/levels/math/2/move", `{"level": 3}`)
	if text := d.file("test_definitions/math/level_3/level.json"); !strings.Contains(text, "Be exact.") || d.file("test_definitions/math/level_2/level.json") != "" {
		t.Errorf("the settings of the level did not move: %s", text)
	}
	if got := d.ids("/api/settings/tests?domain=math&level=3", "tests"); !slices.Equal(got, []string{"math_hard"}) {
		t.Errorf("the moved level has the tests %v", got)
	}
	d.want(200, "PUT", "/api/settings/levels/math/1", `{"system_prompt": "Be kind."}`)
	d.want(400, "POST", "/api/settings/levels/math/3/move", `{"level": 1}`)
	d.want(200, "DELETE", "/api/settings/tests/math_hard", "")
	d.want(409, "DELETE", "/api/settings/levels/math/3?version=0000", "")
	d.want(200, "DELETE", "/api/settings/levels/math/3", "")
	if d.file("test_definitions/math/level_3/level.json") != "" {
		t.Error("the settings of the level are still there")
	}
}

// TestWritingTestCases makes, changes and deletes a case of the testcase format.
func TestWritingTestCases(t *testing.T) {
	const persona = `"persona": {"type": "c", "description": "d", "instructions": "i"}`
	d := newFixture(t, writeFiles(t, map[string]string{
		"test_definitions/chats/list.json": `[{"name": "One", ` + persona + `, "initial_message": "hi"}, {"name": "Two", ` + persona + `, "initial_message": "hi"}]`,
	}))
	of := func(answer map[string]any) map[string]any {
		made, _ := answer["test_case"].(map[string]any)
		return made
	}
	made := of(d.want(200, "POST", "/api/test-cases", `{"name": "Late parcel", `+persona+`, "initial_message": "Where is it?", "tags": ["mail"], "created_at": "2020-01-01T00:00:00Z"}`))
	id, _ := made["id"].(string)
	if len(id) != 36 || made["path"] != "test_definitions/chats/late_parcel.json" || made["status"] != "active" && made["status"] != "draft" {
		t.Errorf("the new case is %v", made)
	}
	if text := d.file("test_definitions/chats/late_parcel.json"); strings.Contains(text, `"id"`) || strings.Contains(text, "2020") {
		t.Errorf("the file has what is generated: %s", text)
	}
	changed := of(d.want(200, "PUT", "/api/test-cases/"+id, `{"difficulty": "hard"}`))
	if changed["id"] != id || changed["difficulty"] != "hard" || changed["initial_message"] != "Where is it?" {
		t.Errorf("the changed case is %v", changed)
	}
	if one := d.want(200, "GET", "/api/test-cases/"+id, ""); one["difficulty"] != "hard" {
		t.Errorf("the case is read as %v", one)
	}
	second := of(d.want(200, "POST", "/api/test-cases", `{"name": "Late parcel", `+persona+`, "initial_message": "Again"}`))
	if second["path"] != "test_definitions/chats/late_parcel_2.json" {
		t.Errorf("a second case of the same name is in %v", second["path"])
	}
	for _, tt := range []struct{ body, want string }{
		{`{"difficulty": "easy"}`, "difficulty"}, {`{"id": "another"}`, "stays"}, {`{"nmae": "x"}`, "nmae"}, {`[]`, "JSON object"},
	} {
		if answer := d.want(400, "PUT", "/api/test-cases/"+id, tt.body); !strings.Contains(answer["error"].(string), tt.want) {
			t.Errorf("PUT %s is refused with %v, want %s in it", tt.body, answer["error"], tt.want)
		}
	}
	d.want(404, "PUT", "/api/test-cases/none", `{"difficulty": "hard"}`)
	d.want(404, "DELETE", "/api/test-cases/none", "")
	list, _ := d.want(200, "GET", "/api/test-cases", "")["test_cases"].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if fields["name"] != "One" {
			continue
		}
		if answer := d.want(400, "DELETE", "/api/test-cases/"+fields["id"].(string), ""); !strings.Contains(answer["error"].(string), "has several") {
			t.Errorf("a case of a list is refused with %v", answer)
		}
	}
	d.want(200, "DELETE", "/api/test-cases/"+id, "")
	d.want(404, "GET", "/api/test-cases/"+id, "")
}

// TestRefusedTestCasesAreNotWritten holds that a change which leaves no test case, or a
// blank message, is refused before anything is written.
func TestRefusedTestCasesAreNotWritten(t *testing.T) {
	const file, id = "test_definitions/chats/parcel.json", "3f2b1c52-6f0e-4b57-9a3c-0a1b2c3d4e5f"
	was := `{"id": "` + id + `", "name": "Parcel", "initial_message": "Where is it?"}`
	d := newFixture(t, writeFiles(t, map[string]string{file: was}))
	for _, tt := range []struct{ body, want string }{
		{`{"initial_message": ""}`, "initial_message is blank"},
		{`{"initial_message": " \n"}`, "initial_message is blank"},
		{`{"initial_message": ["hello"]}`, "initial_message"},
	} {
		answer := d.want(400, "PUT", "/api/test-cases/"+id, tt.body)
		if text, _ := answer["error"].(string); !strings.Contains(text, tt.want) {
			t.Errorf("PUT %s is refused with %q, want %s in it", tt.body, text, tt.want)
		}
		if got := d.file(file); got != was {
			t.Fatalf("PUT %s is refused, but written: %s", tt.body, got)
		}
	}
	d.want(400, "POST", "/api/test-cases", `{"name": "Silent", "initial_message": ""}`)
	if got := d.file("test_definitions/chats/silent.json"); got != "" {
		t.Errorf("a new case is refused, but written: %s", got)
	}
	// Without a message, the simulator writes it.
	d.want(200, "PUT", "/api/test-cases/"+id, `{"initial_message": null}`)
}

// TestChecksOfAMovedTest holds that the checks of a test move with it, to another level, by its
// level or by another id, are removed with it, and do not count as a test.
func TestChecksOfAMovedTest(t *testing.T) {
	const checks = ".: [{contains: '2'}]\n"
	d := math(t)
	d.add("test_definitions/math/level_1/sum.checks.yaml", checks)
	if got := d.ids("/api/settings/tests?domain=math", "tests"); !slices.Equal(got, []string{"math_sum", "math_hard"}) {
		t.Errorf("the tests of the domain are %v", got)
	}
	at := func(want string) {
		t.Helper()
		for _, file := range []string{"level_1/sum", "level_3/math_sum", "level_4/math_sum", "level_4/other"} {
			if got := d.file("test_definitions/math/" + file + ".checks.yaml"); (got == checks) != (file == want) {
				t.Errorf("want the checks at %q alone, and %s.checks.yaml is %q", want, file, got)
			}
		}
	}
	at("level_1/sum")
	d.want(200, "PUT", "/api/settings/tests/math_sum", `{"level": 3}`)
	at("level_3/math_sum")
	d.want(200, "POST", "/api/settings/levels/math/3/move", `{"level": 4}`)
	at("level_4/math_sum")
	d.add("test_definitions/math/level_4/other.checks.yaml", "taken")
	d.want(400, "PUT", "/api/settings/tests/math_sum", `{"id": "other"}`)
}

// TestChecksOfARemovedTest removes the checks with their test.
func TestChecksOfARemovedTest(t *testing.T) {
	const file = "test_definitions/math/level_1/sum.checks.yaml"
	d := math(t)
	d.add(file, ".: [{contains: '2'}]\n")
	d.want(200, "DELETE", "/api/settings/tests/math_sum", "")
	if got := d.file(file); got != "" {
		t.Errorf("without its test the file has %s", got)
	}
}
