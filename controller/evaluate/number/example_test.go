package number_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/evaluate/number"
)

func ExampleParse() {
	for _, text := range []string{"1,234.5", "1.234,5", "1.234"} {
		fmt.Println(text, number.Parse(text))
	}
	// Output:
	// 1,234.5 [1234.5]
	// 1.234,5 [1234.5]
	// 1.234 [1.234 1234]
}
