package queue_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/run/runtest"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// periodic are the statements that depend on how long a run takes, and not on how many
// cases it has: signs of life, looks for outcomes and tasks, and shares of limits.
var periodic = regexp.MustCompile(`queue_workers|queue_targets|queue_shares|WITH gone AS|river_leader|river_queue|river_client|pg_notify|attempted_by\[array|(?i)^(un)?listen|-- ping|underway|s\.slots|JobGetAvailable`)

// A load is cases whose statements are counted.
type load struct {
	name   string
	budget config.Budget
	// most is how many statements a case may take that do not depend on time. Each call
	// after the first takes one more, and three for the budget where there is one.
	most float64
}

var million = int64(1e6)

// loads are cases that ask a target once and are judged without a model.
var loads = []load{
	{"plain", config.Budget{}, 6},
	{"budget", config.Budget{Limits: config.Limits{Calls: &million}, Day: config.Limits{Calls: &million}}, 12},
}

// counted has two workers judge cases, and returns the statements that the server
// executed from the queueing of the first to the outcome of the last.
func (l load) counted(tb testing.TB, cases int) []string {
	server := postgrestest.StartLogged(tb)
	url := server.URL(tb)
	q, store := open(tb, url), ledgertest.Open(tb, ledger.Config{Path: url})
	known := &orders{}
	for range 2 {
		limiters := limit.Shared()
		start(tb, queue.WorkerConfig{Queue: q, Judge: known.judge(tb, limiters), Limiters: limiters, Failed: func(err error) { tb.Log(err) }})
	}
	judge := func(name string, n int) {
		o := runtest.Passing(store, name, n)
		o.Budget = l.budget
		o.Config.Keep = func(_ run.Job, r verdict.Result) bool { return r.Verdict != verdict.Pass } // as in a report
		outs, err := judgeOrder(tb.Context(), q, queue.Background, known.add(o), o)
		if err != nil {
			tb.Fatal(err)
		}
		for _, out := range outs {
			if out.Result.Verdict != "pass" {
				tb.Fatalf("%s is %s: %s", out.Key, out.Result.Verdict, out.Result.Reason)
			}
		}
	}
	judge("first", 20) // connections are made and sessions begin
	before := len(server.Statements(tb))
	judge("then", cases)
	return server.Statements(tb)[before:]
}

// perCase splits the statements of this many cases into those for the cases and those
// for the elapsed time.
func perCase(statements []string, cases int) (ofCases, ofTime float64, table string) {
	counts := map[string]int{}
	timed := 0
	for _, text := range statements {
		if strings.HasPrefix(text, "INSERT INTO queue_targets") {
			timed += 2 // the begin and the commit of a settlement of shares
		}
		if periodic.MatchString(text) {
			timed++
			continue
		}
		counts[text[:min(len(text), 100)]]++
	}
	var rows []string
	for _, text := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) }) {
		rows = append(rows, fmt.Sprintf("%8.2f %s", float64(counts[text])/float64(cases), text))
	}
	n := float64(cases)
	return float64(len(statements)-timed) / n, float64(timed) / n, strings.Join(rows, "\n")
}

// TestStatementsPerCase holds how many statements the database executes for a case.
func TestStatementsPerCase(t *testing.T) {
	t.Parallel()
	const cases = 100
	for _, l := range loads {
		t.Run(l.name, func(t *testing.T) {
			got, timed, table := perCase(l.counted(t, cases), cases)
			t.Logf("%.1f statements a case, and %.1f by time:\n%s", got, timed, table)
			if got > l.most {
				t.Errorf("a case takes %.1f statements, want at most %v", got, l.most)
			}
		})
	}
}

// BenchmarkStatements reports the statements that the database executes for a case,
// those by time included, and begin and commit.
func BenchmarkStatements(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			const cases = 500
			for b.Loop() {
				ofCases, ofTime, _ := perCase(l.counted(b, cases), cases)
				b.ReportMetric(ofCases+ofTime, "statements/case")
			}
		})
	}
}
