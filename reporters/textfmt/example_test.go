package textfmt_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

func ExampleCount() {
	for n := range 3 {
		fmt.Println(textfmt.Count(n, "case"), textfmt.Verb(n, "is", "are"), "affected")
	}
	// Output:
	// 0 cases are affected
	// 1 case is affected
	// 2 cases are affected
}
