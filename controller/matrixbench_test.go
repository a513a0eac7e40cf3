package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema/load"
)

// tableRows is how many rows each table has, so that it is within the bound of a file.
const tableRows = 1000

// matrixRepository makes a repository of a promptfooconfig.yaml whose tables have n rows
// together, with a second commit that changes a variable of one of them.
func matrixRepository(b testing.TB, n int) string {
	b.Helper()
	dir := b.TempDir()
	git(b, dir, nil, "init", "-q", "-b", "main")
	table := func(from, changed int) string {
		var t strings.Builder
		t.WriteString("q,__expected,__description\n")
		for i := from; i < from+tableRows; i++ {
			question := fmt.Sprintf("What is %d plus %d?", i, i)
			if i == changed {
				question += " Be brief."
			}
			fmt.Fprintf(&t, "%s,contains: %d,sum %d\n", question, 2*i, i)
		}
		return t.String()
	}
	const config = "prompts: ['{% if q %}Answer: {{ q | trim }}{% endif %}']\nproviders: [bot]\n" +
		"defaultTest: {assert: [{type: not-contains, value: error}]}\ntests: tables/*.csv\n"
	in, out := io.Pipe()
	go func() {
		file := func(name, text string) error {
			_, err := fmt.Fprintf(out, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
			return err
		}
		commit := func() error {
			_, err := fmt.Fprint(out, "commit refs/heads/main\ncommitter Gavel <gavel@localhost> 1700000000 +0000\ndata 1\nc\n")
			return err
		}
		err := errors.Join(commit(), file("gavel.yaml", benchConfig), file("promptfooconfig.yaml", config))
		for from := 0; from < n; from += tableRows {
			err = errors.Join(err, file(fmt.Sprintf("tables/t%d.csv", from), table(from, -1)))
		}
		out.CloseWithError(errors.Join(err, commit(), file("tables/t0.csv", table(0, tableRows/2))))
	}()
	git(b, dir, in, "fast-import", "--quiet")
	git(b, dir, nil, "reset", "-q", "--hard", "main")
	return dir
}

// planMatrix plans head against base. One row is to run.
func (r benchRepo) planMatrix(b *testing.B, known *load.Snapshot) {
	b.Helper()
	base := r.at(b, r.base)
	prepared, err := controller.Prepare(b.Context(), controller.Request{
		Head: r.at(b, r.head), Base: &base, ConfigFile: "gavel.yaml", Snapshot: known, LookupEnv: nowhere,
		Changed: func(ctx context.Context, _ []string) ([]string, error) { return r.repo.Changed(ctx, r.base, r.head) },
	})
	if err != nil {
		b.Fatal(err)
	}
	run := 0
	for _, row := range prepared.Plan.Rows {
		if row.Action == plan.Run {
			run++
		}
	}
	if run != 1 {
		b.Fatalf("%d rows are to run, want 1", run)
	}
}

// BenchmarkMatrix is one changed variable among the rows of a promptfooconfig.yaml,
// with a remembered base, and validating all of them without memory. The aims are 50 ms
// for 1,000 rows and 2 s for 10,000.
func BenchmarkMatrix(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		r := openBench(b, matrixRepository(b, n))
		known, err := r.snapshots(b.TempDir()+"/definitions").Commit(b.Context(), r.defined(b, r.base), snapshot.Notes{})
		if err != nil || known.Totals().Cases != n {
			b.Fatalf("%d cases are remembered (%v), want %d", known.Totals().Cases, err, n)
		}
		b.Run(fmt.Sprintf("plan-%d", n), func(b *testing.B) {
			for b.Loop() {
				r.planMatrix(b, known)
			}
		})
		b.Run(fmt.Sprintf("validate-%d", n), func(b *testing.B) {
			for b.Loop() {
				state := r.defined(b, r.head)
				found, err := load.Scan(b.Context(), state.FS, load.Options{Settings: state.Settings})
				if err != nil || found.Totals().Cases != n {
					b.Fatalf("%d cases (%v), want %d", found.Totals().Cases, err, n)
				}
			}
		})
	}
}
