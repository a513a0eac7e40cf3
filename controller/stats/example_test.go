package stats_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/stats"
)

func ExampleFisher() {
	p := stats.Fisher(stats.Count{Passed: 10, Of: 10}, stats.Count{Passed: 4, Of: 10})
	fmt.Printf("%.4f\n", p)
	// Output: 0.0054
}

func ExampleSignTest() {
	fmt.Printf("%.4f\n", stats.SignTest(9, 1))
	// Output: 0.0215
}
