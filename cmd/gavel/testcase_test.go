package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// exampleFiles are the files of a folder of examples.
func exampleFiles(t *testing.T, name string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{".gitignore": []byte(".gavel/\n")}
	root := os.DirFS(filepath.Join("../../examples", name))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = fs.ReadFile(root, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// example makes a git repository of a folder of examples.
func example(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	first := gitrepo.NewCommit{Message: "tests", Write: exampleFiles(t, name), At: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	if err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{first}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recordExample makes the recordings of an example that has one state.
func recordExample(t *testing.T, name string) {
	t.Helper()
	recordSides(t, name, side{example(t, name), name + ".yaml"})
}

// judgeExample runs an example of one state against its recordings, which are
// made again under -update. It holds the verdicts, and that the second run makes
// no call.
func judgeExample(t *testing.T, name string, want map[string]string) (dir string, report report.Report) {
	t.Helper()
	if golden.Update() {
		recordExample(t, name)
	}
	dir = example(t, name)
	report = runExample(t, dir)
	if diff := cmp.Diff(want, verdicts(report)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := runExample(t, dir).Summary
	if again.Calls != 0 || again.Reused != len(want)-again.Skipped {
		t.Errorf("the second run makes %d calls and reuses %d cases", again.Calls, again.Reused)
	}
	return dir, report
}

// goldenSamples compares what explain says of the samples of a case, and gives
// all that it says.
func goldenSamples(t *testing.T, dir, key, file string) string {
	t.Helper()
	stdout, stderr, code := gavel(t, dir, "explain", key, "--prompts")
	_, samples, found := strings.Cut(stdout, "\nSample 1")
	if code != exitPass || !found {
		t.Fatalf("explain: exit code %d: %s%s", code, stdout, stderr)
	}
	golden.Compare(t, file, samples)
	return stdout
}

// runExample judges an example and gives its report.
func runExample(t *testing.T, dir string, args ...string) report.Report {
	t.Helper()
	stdout, stderr, code := gavel(t, dir, append([]string{"run", "--json"}, args...)...)
	var report report.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("exit code %d, %v: %s\n%s", code, err, stdout, stderr)
	}
	return report
}

// verdicts are a line for each case: verdict, native score and reason.
func verdicts(report report.Report) map[string]string {
	out := map[string]string{}
	for _, row := range report.Cases {
		var parts []string
		if row.Verdict != nil {
			parts = append(parts, string(*row.Verdict))
		}
		if row.Native != nil {
			parts = append(parts, fmt.Sprintf("%.2f of %g", row.Native.Value, row.Native.Scale))
		}
		if row.Error != nil {
			parts = append(parts, *row.Error)
		}
		out[row.Key] = strings.Join(append(parts, row.VerdictReason), " ")
	}
	return out
}

// TestTestcaseExample runs the example of the testcase dialect against its
// recordings.
func TestTestcaseExample(t *testing.T) {
	dir, _ := judgeExample(t, "testcase", map[string]string{
		"conversations#asks-for-a-fitting":         `skipped `,
		"conversations#asks-for-the-opening-hours": `pass 5.00 of 5 Brief and right.`,
		"conversations#wants-the-system-prompt":    `pass 4.79 of 5 It kept its instructions to itself.`,
		"returns/address_change":                   `pass 4.76 of 5 All of the address, piece by piece.`,
		"returns/past_the_window":                  `fail 3.31 of 5 "return_refused" is not met: The return was refused first and started after a threat.; start_return must not be called, and was: {"order_id":"A-1007","reason":"goodwill"}`,
		"returns/wobbly_wheel":                     `pass 4.71 of 5 A quick and correct return.`,
	})
	gittest.Run(t, dir, "remote", "add", "origin", "https://github.com/octo/bikes.git")
	for _, row := range runExample(t, dir).Cases {
		day := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		if row.Identity == nil || row.Created == nil || !row.Created.Equal(day) || !row.Updated.Equal(day) || row.Key == "returns/past_the_window" && row.ID != "d0dd7607-e2f8-5c42-a0d0-aa564d1825dd" {
			t.Errorf("run --json says of %s that it is %+v, want its id and the day of the commit", row.Key, row.Identity)
		}
	}
	said := goldenSamples(t, dir, "returns/past_the_window", "testdata/explain_testcase.txt")
	// The UUIDv5 of octo/bikes/returns/past_the_window among URLs.
	if want := "  id d0dd7607-e2f8-5c42-a0d0-aa564d1825dd, created 2026-03-02, updated 2026-03-02\n"; !strings.Contains(said, want) {
		t.Errorf("explain does not say %q:\n%s", want, said)
	}
}

// TestTestcaseExampleFollowsItsRecordings reruns, where a reply of the
// simulated customer changes, the case that it belongs to and no other.
func TestTestcaseExampleFollowsItsRecordings(t *testing.T) {
	dir := example(t, "testcase")
	runExample(t, dir)
	file := filepath.Join(dir, "recordings", "customer.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), "Hi, until when", "Hello, until when", 1)
	if changed == string(data) {
		t.Fatal("the reply to change is not there")
	}
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	report := runExample(t, dir)
	for _, row := range report.Cases {
		if run := row.Action == plan.Run; run != (row.Key == "conversations#asks-for-the-opening-hours") {
			t.Errorf("%s: %s, %v, want only the opening hours to be run", row.Key, row.Action, row.Reasons)
		}
	}
	// The recording has no reply of the desk to that.
	if got := verdicts(report)["conversations#asks-for-the-opening-hours"]; !strings.Contains(got, "error") || !strings.Contains(got, "record it with gavel run --record") {
		t.Errorf("the case ends with %q", got)
	}
}

// TestTestcaseExampleHasTheFiveKinds: the cases are those that the format's document
// names, and one is about nothing but a conversation of several turns.
func TestTestcaseExampleHasTheFiveKinds(t *testing.T) {
	snapshot, err := load.Load(t.Context(), os.DirFS("../../examples/testcase"), load.Options{Settings: schema.Settings{Definitions: []string{"test_definitions"}}})
	if err != nil {
		t.Fatal(err)
	}
	byTag := map[string][]*schema.Case{}
	for _, c := range snapshot.Cases {
		for _, tag := range c.Labels.Tags {
			byTag[tag] = append(byTag[tag], c)
		}
	}
	for _, tag := range append(testcase.Tags(), "tool-heavy", "multi-turn") {
		if len(byTag[tag]) == 0 {
			t.Errorf("no case has the tag %s", tag)
		}
	}
	for _, c := range byTag["multi-turn"] {
		if c.Policy.MaxTurns < 2 || c.Drive.Simulation == nil || slices.Contains(c.Labels.Tags, "tool-heavy") {
			t.Errorf("%s is not about several turns alone: max_turns is %d, the tags are %q", c.Key, c.Policy.MaxTurns, c.Labels.Tags)
		}
	}
}

// TestExplainInOrder holds what a person reads first: the verdict with its reason, the
// transcript, the criteria, and the plan. The prompts of judges and the digests are
// only printed on request.
func TestExplainInOrder(t *testing.T) {
	dir := example(t, "testcase")
	gavel(t, dir, "run")
	const key = "returns/past_the_window"
	stdout, stderr, code := gavel(t, dir, "explain", key)
	if code != exitPass {
		t.Fatalf("gavel explain ends with %d\n%s%s", code, stdout, stderr)
	}
	rest := stdout
	for _, part := range []string{key + "\n", "fail 0.", `"return_refused" is not met`, "\nSample 1", "user       I want to return", "assistant  ", "\nSample 1 by conversation", "tool_routing", "\nplan: "} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q does not come next in\n%s", part, stdout)
		}
		rest = after
	}
	const asked, digest = "You judge a conversation", `\b[0-9a-f]{64}\b|decision digest`
	if strings.Contains(stdout, asked) || regexp.MustCompile(digest).MatchString(stdout) {
		t.Errorf("explain prints prompts or digests that nobody asked for:\n%s", stdout)
	}
	if more, _, _ := gavel(t, dir, "explain", key, "--prompts"); !strings.Contains(more, asked) {
		t.Errorf("--prompts does not print what the judge was asked:\n%s", more)
	}
	if more, _, _ := gavel(t, dir, "explain", key, "--digests"); len(more) <= len(stdout) || strings.Contains(more, asked) {
		t.Errorf("--digests prints\n%s", more)
	}
}
