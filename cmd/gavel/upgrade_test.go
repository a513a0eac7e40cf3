package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/gitrepo/history"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/serverstate"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	reports "github.com/gavel-evals/gavel/controller/report/archive"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/race"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// raised are the versions that were raised on purpose since d816fdf. Each has
// the part of a case that a plan names as the reason, such as "driver version"
// or "evaluator", a glob of the keys that are judged again for it, and why.
var raised = []struct{ part, keys, why string }{
	{"evaluator", "invoices#spokes", "is_json knows all of JSON Schema, and checks the formats that it knows"},
	{"evaluator", "sql/**", "local time is UTC in SQL on every machine, since a confined child reads no local zone"},
	{"evaluator", "invoices#saddle", "field_accuracy leaves out a field that is missing and not required"},
	{"evaluator", "review#code-review-security", "a safety gate is measured before the others"},
	{"least score of a gate", "review#code-review-security", "a safety gate has to reach 0.6 and not the threshold of the case"},
	{"evaluator", "support#where-is-my-order", "tool_trajectory gives 0 for another order and for an extra call under exact"},
	{"aggregation", "support#where-is-my-order", "execution_metrics is 1 where all bounds hold, else 0"},
	{"evaluator", "conversation/**", "keyword does not judge what a model thinks"},
	{"evaluator", "support/level_1/test_refund_window", "keyword does not judge what a model thinks"},
	{"evaluator", "support/level_2/test_spare_part", "keyword does not judge what a model thinks"},
	{"evaluator", "math/**", "two_pass takes a reply for the answer only if it is nothing else"},
	{"evaluator", "support/level_1/test_order_number", "regex does not judge what a model thinks"},
	{"evaluator", "support/level_2/test_angry_customer", "a prompt asks again for a score out of range"},
	{"evaluator", "basics#*", "rubrics and llm_judge ask again for a score out of range, checks do not judge what a model thinks"},
	{"evaluator", "support#turn-*", "rubrics ask again for a score out of range"},
	{"evaluator", "invoices#reminder", "rubrics ask again for a score out of range"},
	{"evaluator", "invoices#thanks", "rubrics ask again for a score out of range"},
	{"evaluator", "invoices#total", "field_accuracy leaves out a field that is missing and not required"},
	{"evaluator", "plans/**", "criteria ask again for a score out of range, semantic does not judge what a model thinks"},
	{"evaluator", "mails/*", "criteria ask again for a score out of range, semantic does not judge what a model thinks"},
	{"evaluator", "invoices/totals", "semantic does not judge what a model thinks"},
	{"evaluator", "conversations#*", "a conversation asks again for a score out of range"},
	{"evaluator", "returns/*", "a conversation asks again for a score out of range"},
	{"evaluator", "returns#*", "a conversation asks again for a score out of range"},
	{"turn cap", "conversations#*", "a conversation without max_turns has no cap unless an operator sets one"},
	{"turn cap", "returns/wobbly_wheel", "a conversation without max_turns has no cap unless an operator sets one"},
}

// raisedFor returns the index in raised of what a case is judged again for, -1
// where nothing there says so. A case whose evaluator has another version is not
// known any more, so that the plan may compare it with another state of the case
// and name a difference from that.
func raisedFor(key string, reason plan.Reason) int {
	for _, part := range []string{reason.Part, "evaluator"} {
		i := slices.IndexFunc(raised, func(r struct{ part, keys, why string }) bool {
			return r.part == part && wildcard.Match(r.keys, key)
		})
		if i >= 0 {
			return i
		}
	}
	return -1
}

// stored is the folder with what the program of d816fdf wrote.
const stored = "testdata/d816fdf"

func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join(stored, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// repositoryOf makes one of the repositories that were judged, with the last
// of its commits checked out.
func repositoryOf(t *testing.T, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(stored, "repositories.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	under := func(prefix string) map[string][]byte {
		files := map[string][]byte{}
		for _, f := range archive.Files {
			if rest, ok := strings.CutPrefix(f.Name, prefix+"/"); ok {
				files[rest] = f.Data
				if len(f.Data) == 0 {
					files[rest] = nil
				}
			}
		}
		return files
	}
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	changes := []history.Change{{Message: "tests", Write: under(name), At: at}}
	if name == "mixed" {
		changes = []history.Change{
			{Message: "shop assistant with its tests", Write: under("mixed/main"), At: at},
			{Branch: "friendlier-support", Message: "friendlier support", Write: under("mixed/pull"), At: at.Add(24 * time.Hour)},
		}
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := history.Create(t.Context(), dir, changes); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStoredByD816fdf has today's program use the ledger of an earlier one: all
// that was judged is reused without a call, with the verdict that it had.
func TestStoredByD816fdf(t *testing.T) {
	race.OneByOne(t)
	store := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(store, unzipped(t, "ledger.db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := reportsIn(t, store)
	mixed := repositoryOf(t, "mixed")
	places := []struct {
		dir  string
		args []string
	}{
		{repositoryOf(t, "domain"), nil},
		{repositoryOf(t, "evalcase"), nil},
		{repositoryOf(t, "promptval"), nil},
		{repositoryOf(t, "testcase"), nil},
		{mainOf(t, mixed), nil},
		{mixed, []string{"--base", "main"}},
	}
	if len(before) != len(places) {
		t.Fatalf("the ledger has %d reports, want %d", len(before), len(places))
	}
	rerun := map[int]bool{}
	for i, place := range places {
		stdout, stderr, code := gavel(t, place.dir, append([]string{"run", "--json", "--ledger", store}, place.args...)...)
		var now report.Report
		if err := json.Unmarshal([]byte(stdout), &now); err != nil {
			t.Fatalf("%s: %v: exit code %d\n%s", place.dir, err, code, stderr)
		}
		agrees(t, before[i], &now, rerun)
	}
	for i, r := range raised {
		if !rerun[i] {
			t.Errorf("nothing is judged again for %q in %s (%s)", r.part, r.keys, r.why)
		}
	}
	if v, stderr, code := gavel(t, mixed, "ledger", "verify", "--ledger", store); code != exitPass || !strings.Contains(v, "all holds") {
		t.Errorf("verify: exit code %d: %s%s", code, v, stderr)
	}
}

// reportsIn are the reports of a ledger, the oldest first.
func reportsIn(t *testing.T, file string) []*report.Report {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	var all []*report.Report
	err = store.EachReport(t.Context(), func(r ledger.Run) error {
		report, err := reports.Decode(r.Report)
		all = append(all, report)
		return err
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

// agrees demands that every verdict of an earlier report is reused, and notes
// for what in raised the others are judged again.
func agrees(t *testing.T, before, now *report.Report, rerun map[int]bool) {
	t.Helper()
	had := map[string]report.Row{}
	for _, row := range before.Cases {
		had[row.Key] = row
	}
	reused := 0
	for _, row := range now.Cases {
		was, there := had[row.Key]
		delete(had, row.Key)
		switch {
		case !there:
			t.Errorf("%s was not there", row.Key)
		case row.Action == "reuse":
			reused++
			if judged(row) != judged(was) {
				t.Errorf("%s is %s, and was %s", row.Key, judged(row), judged(was))
			}
			if row.Calls != 0 {
				t.Errorf("%s is reused with %d calls", row.Key, row.Calls)
			}
		case was.Action == "skip" || was.Action == "removed" || was.Verdict != nil && *was.Verdict == verdict.Error:
			if row.Action != was.Action {
				t.Errorf("%s is %s, and was %s", row.Key, row.Action, was.Action)
			}
		default:
			if len(row.Reasons) == 0 {
				t.Errorf("%s has the action %s, and no reason", row.Key, row.Action)
			}
			for _, reason := range row.Reasons {
				i := raisedFor(row.Key, reason)
				if rerun[i] = true; i < 0 {
					t.Errorf("%s has the action %s for %q (%s), which is not in the list of versions that were raised: it was %s for %v", row.Key, row.Action, reason.Part, reason.Message, was.Action, was.Reasons)
				}
			}
		}
	}
	for key := range had {
		t.Errorf("%s is not there any more", key)
	}
	if reused == 0 && len(rerun) == 0 {
		t.Errorf("nothing of run %s is reused", before.Run)
	}
	if now.Summary.Calls != 0 && len(rerun) == 0 {
		t.Errorf("%d calls", now.Summary.Calls)
	}
}

// judged is what a row says of the verdict. The digest is another since versions
// of all evaluators were raised.
func judged(r report.Row) string {
	if r.Verdict == nil || r.Score == nil {
		return "without a verdict"
	}
	return fmt.Sprintf("%s %.6f", *r.Verdict, *r.Score)
}

// unpack puts the folder of the server where it belongs.
func unpack(t *testing.T, dir string) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(unzipped(t, "serve.tar.gz")))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// storedForge is the address that the forge had for the server, since what is
// stored of a repository names it.
const storedForge = "http://127.0.0.1:1"

// toFake sends all requests to one host.
type toFake struct{ host string }

func (f toFake) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = f.host, f.host
	return http.DefaultTransport.RoundTrip(r)
}

// standing is what was on the forge.
type standing struct {
	Comments []forgetest.Comment `json:"comments"`
	Statuses []forgetest.Status  `json:"statuses"`
}

// TestServedByD816fdf starts today's server with the folder of an earlier one:
// it judges nothing again, and what is on the forge is not written again.
func TestServedByD816fdf(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	mixed := repositoryOf(t, "mixed")
	j.git(t, "fetch", "-q", mixed, "main:refs/heads/mixed-main", "friendlier-support:refs/heads/mixed-pull")
	j.base, j.head = gittest.Resolve(t, j.folder, "mixed-main"), gittest.Resolve(t, j.folder, "mixed-pull")
	j.git(t, "update-ref", "refs/heads/main", j.base)
	j.git(t, "branch", "-q", "-D", "mixed-main", "mixed-pull")
	j.move(t, j.head)
	before := putOnForge(t, j)

	file := operatorsFile(t, j, "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(j.forge.URL), []byte(storedForge), 1)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(filepath.Dir(file), "data")
	unpack(t, data)
	written := len(j.forge.Writes())
	counts := countsOf(t, filepath.Join(data, "ledger.db"))

	j.serveOnce(t, file)
	for _, w := range j.forge.Writes()[written:] {
		if strings.Contains(string(w.Body), "pending") {
			t.Errorf("%s says again that the verdict is to come: %s", w, w.Body)
		}
	}
	if after := j.forge.Comments(1); len(after) != len(before.Comments) || after[0].ID != before.Comments[0].ID {
		t.Errorf("the comments are %+v, want the one that was there", after)
	}
	onlyNews(t, j, before)
	adopted(t, data)
	now := countsOf(t, filepath.Join(data, "ledger.db"))
	if len(raised) == 0 && (now.Samples != counts.Samples || now.Judgements != counts.Judgements || now.Verdicts != counts.Verdicts || now.Calls != counts.Calls) {
		t.Errorf("the ledger had %+v and has %+v: something was judged again", counts, now)
	}
}

// adopted demands that the ledger has what the earlier server kept in files, and that
// these are gone.
func adopted(t *testing.T, data string) {
	t.Helper()
	const id, name = -8535617480848890256, "octo/demo" // as names.json had it
	stateIn(t, data, func(state *serverstate.State) error {
		got, err := state.Name(t.Context(), id, "of today")
		if got != name {
			t.Errorf("the ledger has repository %d as %q, want %q", id, got, name)
		}
		return err
	})
	for _, file := range []string{"names.json", "unfinished"} {
		if _, err := os.Stat(filepath.Join(data, file)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there still, want it gone once the ledger has it: %v", file, err)
		}
	}
}

// onlyNews demands that no status was written which was there already.
func onlyNews(t *testing.T, j *job, before standing) {
	t.Helper()
	type place struct{ sha, context string }
	last := map[place]forgetest.Status{}
	for _, s := range before.Statuses {
		last[place{s.SHA, s.Context}] = s
	}
	for _, sha := range []string{j.head, j.base} {
		for _, s := range j.forge.Statuses(sha)[len(slices.DeleteFunc(slices.Clone(before.Statuses), func(s forgetest.Status) bool { return s.SHA != sha })):] {
			was := last[place{sha, s.Context}]
			if was.State == s.State && was.Description == s.Description && was.TargetURL == s.TargetURL {
				t.Errorf("%s of %.7s is written twice: %s: %s", s.Context, sha, s.State, s.Description)
			}
			last[place{sha, s.Context}] = s
		}
	}
}

// putOnForge has the forge be as it was.
func putOnForge(t *testing.T, j *job) standing {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(stored, "forge.json"))
	if err != nil {
		t.Fatal(err)
	}
	var before standing
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	for _, c := range before.Comments {
		if id := j.forge.AddComment(1, c.Login, c.Body); id != c.ID {
			t.Fatalf("comment %d has the id %d", c.ID, id)
		}
	}
	for _, s := range before.Statuses {
		if s.SHA != j.head && s.SHA != j.base {
			t.Fatalf("there is no commit %s: the repository is not the one that was judged", s.SHA)
		}
		j.forge.AddStatus(s)
	}
	return before
}

// serveOnce serves until the pull request and main were looked at.
func (j *job) serveOnce(t *testing.T, file string) {
	t.Helper()
	log, clock := make(lines, 1000), &forgetest.Clock{}
	a := &cli.App{
		Stdout: io.Discard, Stderr: log, Dir: t.TempDir(), Now: clock.Now, Wait: clock.Wait,
		LookupEnv: func(name string) (string, bool) { v, ok := j.env[name]; return v, ok },
		Forges:    toFake{strings.TrimPrefix(j.forge.URL, "http://")},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, a, []string{"serve", "--config", file}) }()
	for looked := map[string]bool{}; len(looked) < 2; {
		switch line := log.await(t, `"looked at"`); {
		case strings.Contains(line, `"level":"error"`), strings.Contains(line, `"err"`):
			t.Errorf("the log has %s", line)
		default:
			looked[map[bool]string{true: "pull", false: "main"}[strings.Contains(line, `demo#1"`)]] = true
		}
	}
	cancel()
	if code := <-ended; code != exitPass {
		t.Fatalf("serve ended with %d, want %d", code, exitPass)
	}
}

func countsOf(t *testing.T, file string) ledger.Counts {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := store.Counts(t.Context())
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return counts
}
