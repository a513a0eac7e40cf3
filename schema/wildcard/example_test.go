package wildcard_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/schema/wildcard"
)

func ExampleMatch() {
	fmt.Println(wildcard.Match("support/**", "support/level_1/refund"))
	fmt.Println(wildcard.Match("support/*", "support/level_1/refund"))
	// Output:
	// true
	// false
}
