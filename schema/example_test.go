package schema_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/schema"
)

func ExampleParse() {
	_, problems := schema.Parse("domain.json", []byte("{\n  \"id\": \"math\",\n  \"id\": \"maths\"\n}\n"))
	for _, p := range problems {
		fmt.Println(p.Position, p.Rule)
	}
	// Output:
	// domain.json:3:3 duplicate-key
}
