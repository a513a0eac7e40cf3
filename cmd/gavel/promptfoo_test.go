package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPromptfooResultsOfTheExample holds that a run writes the output of promptfoo with
// every row, also where its verdicts are reused, and that gavel diff reads it.
func TestPromptfooResultsOfTheExample(t *testing.T) {
	dir := example(t, "matrix")
	var files []string
	var first string
	for range 2 {
		file := filepath.Join(t.TempDir(), "output.json")
		files = append(files, file)
		_, stderr, code := gavel(t, dir, "run", "--results", file, "--results-format", "promptfoo")
		data, err := os.ReadFile(file)
		if code != 1 || err != nil {
			t.Fatalf("gavel ended with %d (%v), want 1 and a file; stderr: %s", code, err, stderr)
		}
		var doc struct {
			EvalID  string
			Results struct {
				Version int
				Stats   map[string]any
				Prompts []struct {
					Label   string
					Metrics map[string]any
				}
				Results []map[string]any
			}
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		r := doc.Results
		if r.Version != 3 || !strings.HasPrefix(doc.EvalID, "eval-") || len(r.Results) != 6 || r.Stats["successes"] != 3.0 || r.Stats["failures"] != 3.0 || r.Stats["errors"] != 0.0 {
			t.Errorf("version %d, id %s, %d results, stats %v; want 3, eval-…, 6 and 3 of each", r.Version, doc.EvalID, len(r.Results), r.Stats)
		}
		if len(r.Prompts) != 2 || r.Prompts[0].Label == r.Prompts[1].Label || r.Prompts[0].Metrics["testPassCount"].(float64)+r.Prompts[1].Metrics["testPassCount"].(float64) != 3 {
			t.Errorf("the prompts are %v, want plain and json with 3 that pass", r.Prompts)
		}
		i := slices.IndexFunc(r.Results, func(r map[string]any) bool {
			return r["metadata"].(map[string]any)["gavelKey"] == "promptfooconfig#australia/plain"
		})
		if i < 0 {
			t.Fatalf("no result of australia/plain in %s", data)
		}
		got, err := json.Marshal([]any{
			r.Results[i]["vars"], r.Results[i]["success"], r.Results[i]["score"], r.Results[i]["failureReason"],
			r.Results[i]["response"].(map[string]any)["output"], r.Results[i]["gradingResult"].(map[string]any)["componentResults"], r.Results[i]["testIdx"],
		})
		const want = `[{"capital":"Canberra","country":"Australia"},false,0.5,1,"The capital of Australia is Sydney.",[` +
			`{"assertion":{"type":"not-icontains","value":"as an ai"},"pass":true,"reason":"the answer is as it should be","score":1},` +
			`{"assertion":{"type":"contains","value":"{{capital}}"},"pass":false,"reason":"the answer does not contain \"Canberra\"","score":0}],`
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("the result is\n%s, want\n%s", got, want)
		}
		rows, err := json.Marshal(r.Results)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(rows)
		} else if first != string(rows) {
			t.Errorf("reused verdicts have the results\n%s\nand had\n%s", rows, first)
		}
	}
	data, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	worse := strings.Replace(string(data), `"success": true`, `"success": false`, 1)
	if err := os.WriteFile(files[1], []byte(worse), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, _ := gavel(t, dir, "diff", files[0], files[1])
	if !strings.Contains(stdout, "6 cases") || !strings.Contains(stdout, "1 unclear") {
		t.Errorf("gavel diff of two outputs says\n%s%s\nwant 6 cases, of which 1 is unclear", stdout, stderr)
	}
}
