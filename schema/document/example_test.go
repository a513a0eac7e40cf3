package document_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/schema/document"
)

func ExampleParse() {
	_, problems := document.Parse("domain.json", []byte("{\n  \"id\": \"math\",\n  \"id\": \"maths\"\n}\n"))
	for _, p := range problems {
		fmt.Println(p.Position, p.Rule)
	}
	// Output:
	// domain.json:3:3 duplicate-key
}
