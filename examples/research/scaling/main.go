// Command scaling predicts how long many workers take for many cases, their cost, and
// the first bottleneck, by a discrete-event simulation with service times that were
// measured:
//
//	go -C examples/research run ./scaling
//
// With -measured it predicts what go run ./cmd/internal/crash -throughput measures on
// one machine with two cores.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	measured := flag.Bool("measured", false, "predict what crash -throughput measures")
	cases := flag.Int("cases", 1_000_000, "the largest number of cases")
	flag.Parse()
	if *measured {
		local(os.Stdout)
		return
	}
	grid(os.Stdout, *cases)
}

// local prints a prediction for 1, 2 and 4 workers on one machine.
func local(w io.Writer) {
	var one float64
	for _, workers := range []int{1, 2, 4} {
		f := setting{
			workers: workers, places: 8, cores: 2, together: true, database: 2, latency: 0.2, calls: 9, cases: 200, repositories: 1,
		}.predict()
		if workers == 1 {
			one = f.makespan
		}
		fmt.Fprintf(w, "%d workers: 200 conversations in %.1f s, %.2f times the rate of one, processors busy for %.0f %%\n", workers, f.makespan, one/f.makespan, 100*f.processors)
	}
}

// grid prints a table of settings up to so many cases.
func grid(w io.Writer, most int) {
	fmt.Fprintln(w, "| cases | repositories | workers | takes | models | workers | workers busy | database busy | statements a second | log of the database | plans made | held back by |")
	fmt.Fprintln(w, "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|:--|")
	for cases, repositories := 10_000, 10; cases <= most; cases, repositories = cases*10, repositories*10 {
		for _, workers := range []int{10, 100, 1000} {
			f := setting{
				workers: workers, places: 32, cores: 2, database: 16, latency: 2, calls: 3, cases: cases, repositories: repositories,
			}.predict()
			fmt.Fprintf(w, "| %s | %s | %s | %s | $%s | $%.2f | %.0f %% | %.0f %% | %s | %.1f GB | %s | %s |\n",
				grouped(cases), grouped(repositories), grouped(workers), lasts(f.makespan), grouped(int(f.dollars+0.5)), f.rent, 100*f.processors,
				100*f.database, grouped(int(f.statements+0.5)), f.log/1e9, grouped(int(f.plans+0.5)), f.breaks())
		}
	}
}

// grouped writes a number with a comma before each three digits.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// lasts writes seconds as people do.
func lasts(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}
