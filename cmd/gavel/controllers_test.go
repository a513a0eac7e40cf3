package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// varying are the values that differ from one run to the next: ids, times and
// durations.
var varying = regexp.MustCompile(`run=\S+|[0-9a-f]{16,}|\d+(\.\d+)? ?(ms|s)\b|\d{4}-\d\d-\d\dT\S+`)

// repeated are the values that differ if another controller has judged a part before.
var repeated = regexp.MustCompile(`\d+ calls?, …(; reuse saved \d+ calls?)?|(none|\d) of 3 cases re(run|-judged|-decided) · |(3 new|no affected) cases · `)

// published is all that a forge has of a pull request, in the order in which it was
// written, the statuses of each context by themselves: a controller that ends leaves what
// became of validation. It is without what varies, and without what a controller that ends says of that.
func published(j *job) []string {
	var all []string
	for _, c := range j.forge.Comments(1) {
		all = append(all, "comment by "+c.Login+": "+c.Body)
	}
	statuses := j.forge.Statuses(j.head)
	slices.SortStableFunc(statuses, func(a, b forgetest.Status) int { return strings.Compare(a.Context, b.Context) })
	for _, s := range statuses {
		if s.Description == "gavel was stopped; judging resumes when it restarts" {
			continue
		}
		all = append(all, fmt.Sprintf("status %s %s: %s", s.Context, s.State, s.Description))
	}
	for _, c := range j.forge.CheckRuns(j.head) {
		all = append(all, fmt.Sprintf("check run %s %s %s: %s %s", c.Name, c.Status, c.Conclusion, c.Output.Title, c.Output.Summary))
	}
	for i := range all {
		own := strings.NewReplacer(j.forge.URL, "forge", j.head, "head", j.base, "base", j.head[:7], "head", j.base[:7], "base")
		all[i] = repeated.ReplaceAllString(varying.ReplaceAllString(own.Replace(all[i]), "…"), "")
	}
	return all
}

// writes are those that others see: a comment, a status, a check run, no token of an App.
func (j *job) writes() []forgetest.Request {
	return slices.DeleteFunc(j.forge.Writes(), func(r forgetest.Request) bool { return strings.HasSuffix(r.Path, "/access_tokens") })
}

// TestPublicationsOfTwoControllers: the leader is stopped at each of its writes to the
// forge, before the forge has done it and after. The one that takes over publishes what one
// controller would have, nothing twice and nothing missing.
func TestPublicationsOfTwoControllers(t *testing.T) {
	for _, as := range []struct {
		name  string
		files func(t *testing.T, j *job) [2]string
		kinds []string // of what is published
	}{
		{"a token", func(t *testing.T, j *job) [2]string {
			return [2]string{operatorsFile(t, j, ""), operatorsFile(t, j, "")}
		}, []string{"comment", "status"}},
		{"an App", func(t *testing.T, j *job) [2]string {
			key := j.forge.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77, Events: []string{"check_run", "pull_request", "push"}, Permissions: map[string]string{
				"metadata": "read", "contents": "read", "pull_requests": "write", "statuses": "write", "checks": "write",
			}})
			return [2]string{asApp(t, j, key), asApp(t, j, key)}
		}, []string{"comment", "status", "check run"}},
	} {
		t.Run(as.name, func(t *testing.T) { publishByTwo(t, as.files, as.kinds) })
	}
}

// tables is a ledger in a database, which is copied for each pair of controllers.
var tables = postgrestest.NewTemplate(ledgertest.Make)

func publishByTwo(t *testing.T, filesOf func(*testing.T, *job) [2]string, kinds []string) {
	const judged = `"repo":"octo/demo#1","duration"`
	begin := func(t *testing.T) (*job, [2]string) {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		j.env[databaseVariable] = tables.URL(t)
		// Base has no case, so that nothing depends on when it is judged.
		base := map[string]string{
			"gavel.yaml":                        "version: 1\ndefault_target: bot\ntargets:\n  bot: {provider: mock, replies: [{match: '.*', reply: hi}]}\n",
			"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		}
		head := map[string]string{}
		for _, word := range []string{"hi", "hello", "bye"} {
			head["test_definitions/talk/level_1/"+word+".json"] = fmt.Sprintf(`{"id": %q, "name": %[1]q, "prompt": "Say it", "expected": {"keywords": [%[1]q]}}`, word)
		}
		j.replace(t, base, head)
		return j, filesOf(t, j)
	}
	alone, files := begin(t)
	log, end := alone.starting(t, files[0], "--judge")
	log.await(t, judged)
	end()
	want, writes := published(alone), alone.writes()
	for _, kind := range kinds {
		if !slices.ContainsFunc(want, func(p string) bool { return strings.HasPrefix(p, kind+" ") }) {
			t.Fatalf("one controller publishes no %s, only %v", kind, want)
		}
	}
	for i, write := range writes {
		same := func(r forgetest.Request) bool {
			return r.Method == write.Method && strings.Contains(r.Path, write.Path)
		}
		before := 0
		for _, other := range writes[:i] {
			if same(other) {
				before++
			}
		}
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d applied %v", i+1, applied), func(t *testing.T) {
				t.Parallel() // most of the time nobody leads
				j, files := begin(t)
				path := strings.NewReplacer(alone.head, j.head, alone.base, j.base).Replace(write.Path)
				others := func(r forgetest.Request) bool { return r.Method != write.Method || r.Path != path }
				// From this write on nothing that the leader sends there is answered.
				j.forge.Inject(forgetest.Fault{Method: write.Method, Path: path, Skip: before, Apply: applied, Cut: true})
				var ended atomic.Bool
				passed := 0
				j.forge.Inject(forgetest.Fault{Method: write.Method, Path: path, Times: -1, Cut: true, While: func() bool {
					passed++
					return passed > before && !ended.Load()
				}})
				_, end := j.starting(t, files[0], "--judge")
				for len(slices.DeleteFunc(j.writes(), others)) <= before {
					time.Sleep(time.Millisecond)
				}
				second, endSecond := j.starting(t, files[1], "--judge")
				second.await(t, "another controller leads")
				end()
				ended.Store(true)
				second.await(t, judged)
				endSecond()
				if diff := cmp.Diff(want, published(j)); diff != "" {
					t.Errorf("two controllers publish something else (-one +two):\n%s", diff)
				}
			})
		}
	}
}
